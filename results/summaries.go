package results

import (
	"context"
	"fmt"

	"rollcall/results/files"
	"rollcall/results/metrics"
)

// SummaryKey names a number of a table.
type SummaryKey struct {
	Cell
	Params Params
	Metric metrics.Metric
}

// Key returns which number a row is.
func (r *SummaryRow) Key() SummaryKey { return SummaryKey{r.Cell, r.Params, r.Metric} }

// CellKey returns the cell of a row.
func (r *SummaryRow) CellKey() CellKey { return r.Cell.Key(r.Params) }

// PlacedSummary is a row of a summary and where it stands.
type PlacedSummary struct {
	SummaryRow
	File string
	Line int
}

// FindSummaries reads every summary below the folders, in order of names. What is wrong with one is in bad, by file and
// line. A number found twice counts once; one found twice with different values is bad, both places named, and the
// first counts. A number of a cell that failed gives way to one of a cell that did not.
func FindSummaries(ctx context.Context, folders ...string) (rows []PlacedSummary, bad []error, err error) {
	paths, err := filesNamed(ctx, SummaryFile, folders)
	if err != nil {
		return nil, nil, err
	}
	first := map[SummaryKey]int{}
	for _, file := range paths {
		found, lines, wrong := files.ReadCSVFileLenient[SummaryRow](file)
		bad = append(bad, wrong...)
		for i, r := range found {
			at, twice := first[r.Key()]
			if !twice {
				first[r.Key()] = len(rows)
				rows = append(rows, PlacedSummary{r, file, lines[i]})
				continue
			}
			if rows[at].Status != CellOK && r.Status == CellOK {
				rows[at] = PlacedSummary{r, file, lines[i]}
			}
			if rows[at].Status == CellOK && r.Status != CellOK {
				continue
			}
			exact := func(r SummaryRow) string { return fmt.Sprint(r.Mean, r.Std, r.N, r.Status) }
			if exact(rows[at].SummaryRow) != exact(r) {
				bad = append(bad, &SummaryClash{rows[at], PlacedSummary{r, file, lines[i]}})
			}
		}
	}
	return rows, bad, nil
}

// SummaryClash is one number with two values.
type SummaryClash struct{ A, B PlacedSummary }

func (c *SummaryClash) Error() string {
	value := func(r PlacedSummary) string {
		return fmt.Sprintf("%s of %d seeds, %s", r.Metric.Words(r.Mean, r.Std, r.N), r.N, r.Status)
	}
	return fmt.Sprintf("results: %s line %d and %s line %d: the same number of %s (%s, %s, %s), but %s and %s",
		c.A.File, c.A.Line, c.B.File, c.B.Line,
		c.A.Table, c.A.Method, c.A.Data, c.A.Availability, value(c.A), value(c.B))
}
