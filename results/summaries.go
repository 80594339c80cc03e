package results

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// SummaryKey names a number of a table.
type SummaryKey struct {
	Cell
	Params string
	Metric Metric
}

// Key returns which number a row is.
func (r *SummaryRow) Key() SummaryKey { return SummaryKey{r.Cell, r.Params, r.Metric} }

// cellKey returns the cell of a row.
func (r *SummaryRow) cellKey() CellKey {
	return CellKey{r.Method, r.Preset, r.Data, r.Net, r.Availability, r.Clients, r.Alpha, r.Params}
}

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
	var files []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && !d.IsDir() && d.Name() == SummaryFile {
				files = append(files, path)
			}
			return err
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("results: %w", err)
		}
	}
	first := map[SummaryKey]int{}
	for _, file := range uniquePaths(files) {
		found, lines, wrong := SalvageCSVFile[SummaryRow](file)
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
			if err := sameSummary(rows[at], PlacedSummary{r, file, lines[i]}); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return rows, bad, nil
}

// SummaryClash is one number with two values.
type SummaryClash struct{ A, B PlacedSummary }

func (c *SummaryClash) Error() string {
	value := func(r PlacedSummary) string {
		return fmt.Sprintf("%s of %d seeds, %s", Words(r.Mean, r.Std, r.N, r.Metric), r.N, r.Status)
	}
	return fmt.Sprintf("results: %s line %d and %s line %d: the same number of %s (%s, %s, %s), but %s and %s", c.A.File, c.A.Line, c.B.File, c.B.Line,
		c.A.Table, c.A.Method, c.A.Data, c.A.Availability, value(c.A), value(c.B))
}

// sameSummary returns a [SummaryClash] for two rows of one number that differ in its value.
func sameSummary(a, b PlacedSummary) error {
	exact := func(r PlacedSummary) string { return fmt.Sprint(r.Mean, r.Std, r.N, r.Status) }
	if exact(a) == exact(b) {
		return nil
	}
	return &SummaryClash{a, b}
}

// SummaryTables returns the tables that rows belong to, each once: those of which there are printed numbers first, in
// their order, and then the others by name.
func SummaryTables(rows []SummaryRow) (tables []string) {
	var others []string
	for _, r := range rows {
		if !slices.Contains(others, r.Table) {
			others = append(others, r.Table)
		}
	}
	slices.Sort(others)
	for _, known := range PaperTables() {
		if i := slices.Index(others, known); i >= 0 {
			tables, others = append(tables, known), slices.Delete(others, i, i+1)
		}
	}
	return append(tables, others...)
}

// SortSummary sorts the rows of one table as the paper has them: by column, in it by method, and then by metric. What no
// paper prints comes after, by name.
func SortSummary(table string, rows []SummaryRow) {
	printed, err := PaperTable(table)
	if err != nil {
		printed = nil // a table without printed numbers
	}
	keys := columnKeys(printed)
	type placed struct {
		row   SummaryRow
		place string
	}
	list := make([]placed, len(rows))
	for i, r := range rows {
		column := slices.IndexFunc(printed, func(p Printed) bool { return p.inColumn(r, keys) })
		if column < 0 {
			column = len(printed)
		}
		method := slices.IndexFunc(printed, func(p Printed) bool { return p.Method == r.Method })
		if method < 0 {
			method = len(printed)
		}
		metric := 2
		switch r.Metric { // as tables are written
		case TestAcc:
			metric = 0
		case TrainAcc:
			metric = 1
		}
		place := fmt.Sprintf("%08d|%s|%s|%020.9f|%s|%08d|%s|%s|%08d|%s|%d|%08.3f|%s", column, r.Availability, r.Data, r.Alpha.Value, onlyKeys(r.Params, keys), method, r.Method,
			r.Preset, r.Clients, r.Params, metric, r.Metric.TargetShare().Value, r.Metric)
		list[i] = placed{r, place}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return strings.Compare(a.place, b.place) })
	for i := range list {
		rows[i] = list[i].row
	}
}
