package compare

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/papers"
)

// SummaryTables returns the tables that rows belong to, each once: those of which there are printed numbers first, in
// their order, and then the others by name.
func SummaryTables(rows []results.SummaryRow) (tables []string) {
	rest, _ := results.Grouped(rows, func(r results.SummaryRow) string { return r.Table })
	slices.Sort(rest)
	for _, known := range papers.TableNames() {
		if i := slices.Index(rest, known); i >= 0 {
			tables, rest = append(tables, known), slices.Delete(rest, i, i+1)
		}
	}
	return append(tables, rest...)
}

// SortSummary sorts the rows of one table as the paper has them: by column, in it by method, and then by metric. What
// no paper prints comes after, by name.
func SortSummary(table string, rows []results.SummaryRow) {
	known, _ := papers.TableByID(table) // one of ours alone has no printed numbers
	printed := known.Printed
	keys := results.PrintedNames(printed)
	type placed struct {
		row   results.SummaryRow
		place string
	}
	list := make([]placed, len(rows))
	for i, r := range rows {
		column := slices.IndexFunc(printed, func(p results.Printed) bool { return p.InColumn(r, keys) })
		if column < 0 {
			column = len(printed)
		}
		method := slices.IndexFunc(printed, func(p results.Printed) bool { return p.Method == r.Method })
		if method < 0 {
			method = len(printed)
		}
		place := fmt.Sprintf("%08d|%s|%s|%020.9f|%s|%08d|%s|%s|%08d|%s|%d|%08.3f|%s",
			column, r.Availability, r.Data, r.Alpha.Value, r.Params.Only(keys...), method, r.Method,
			r.Preset, r.Clients, r.Params, r.Metric.Info().Row, r.Metric.Info().Target, r.Metric)
		list[i] = placed{r, place}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return strings.Compare(a.place, b.place) })
	for i := range list {
		rows[i] = list[i].row
	}
}
