package results

import (
	"context"
	"fmt"
	"slices"

	"rollcall/internal/files"
	"rollcall/results/metrics"
)

// summaryKey names one number of a table: two rows of the same key are the same number.
type summaryKey struct {
	Setup
	Params Params
	Metric metrics.Metric

	Numerics, Revisions, Checksum string // of the runs behind it; see [Conditions]
}

// key returns the key of the row's number.
func (r *SummaryRow) key() summaryKey {
	return summaryKey{r.Setup, r.Params, r.Metric, r.Numerics, r.Revisions, r.Checksum}
}

// CellKey returns the row's cell, whatever the table.
func (r *SummaryRow) CellKey() CellKey { return r.Key(r.Params) }

// FindSummaries reads every summary below the folders, in the order of their paths. It skips the cells that made has:
// their runs were found, and the rows in made were computed from these runs. Without runs nothing vouches for a row, so
// the rows are marked unverified. bad lists every fault with its file and line; a number that has two different values
// is a fault too.
func FindSummaries(
	ctx context.Context, made []SummaryRow, folders ...string,
) (rows []SummaryRow, bad []error, err error) {
	type place struct {
		Setup
		params Params
	}
	known := map[place]bool{}
	for _, r := range made {
		known[place{r.Setup, r.Params}] = true
	}
	paths, err := filesNamed(ctx, folders, SummaryFile)
	if err != nil {
		return nil, nil, err
	}
	first := map[summaryKey]int{}
	for _, file := range paths {
		found, lines, wrong := files.ReadCSVFileLenient[SummaryRow](file)
		bad = append(bad, wrong...)
		for i, r := range Unverified(found) {
			if known[place{r.Setup, r.Params}] {
				continue
			}
			if err := r.Named(); err != nil {
				bad = append(bad, fmt.Errorf("results: %s: line %d: %w", file, lines[i], err))
				continue
			}
			// Two summaries may have the same number, after a merge for example. That is fine as long as they agree.
			at, twice := first[r.key()]
			if !twice {
				first[r.key()] = len(rows)
				rows = append(rows, r)
				continue
			}
			exact := func(r SummaryRow) string { return fmt.Sprint(r.Mean, r.Std, r.N, r.Status) }
			if exact(rows[at]) != exact(r) {
				bad = append(bad, fmt.Errorf("results: %s line %d: %s of %s, %s, %s is %s, but in another summary %s",
					file, lines[i], r.Metric, r.Method, r.Data, r.Availability, r.Metric.Words(r.Mean, r.Std, r.N),
					rows[at].Metric.Words(rows[at].Mean, rows[at].Std, rows[at].N)))
			}
		}
	}
	return rows, bad, nil
}

// Unverified returns a copy of rows in which every ok became unverified, as the runs of the rows are missing.
func Unverified(rows []SummaryRow) []SummaryRow {
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Status == CellOK {
			rows[i].Status, rows[i].Error = CellUnverified, "a summary without its runs"
		}
	}
	return rows
}
