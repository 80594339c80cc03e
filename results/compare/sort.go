package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/papers"
)

// SummaryTables returns the tables of the rows, each once: first the papers' tables in their order, then the others by
// name.
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

// SortSummary sorts the rows of one table in the paper's order: by column, then by method, then by metric. Columns and
// methods that the paper does not print come last, in the order of their first rows, and methods that the table does
// not have after all others.
func SortSummary(table string, rows []results.SummaryRow) {
	known, _ := papers.TableByID(table) // the zero Table, without printed numbers, for a table of ours
	keys := results.PrintedNames(known.Printed)
	type named struct{ column, value string }
	first := map[named]int{}
	came := func(column string, value any) int { // the order of the first occurrences
		key := named{column, fmt.Sprint(value)}
		if _, there := first[key]; !there {
			first[key] = len(first)
		}
		return first[key]
	}
	printed := func(like func(p results.Printed) bool) int {
		if i := slices.IndexFunc(known.Printed, like); i >= 0 {
			return i
		}
		return len(known.Printed)
	}
	// The place of a row is a list of numbers, compared from left to right. All places are found before sorting,
	// because the values are numbered in the order in which the rows come.
	type placed struct {
		row   results.SummaryRow
		place []int
	}
	list := make([]placed, len(rows))
	for i, r := range rows {
		further := 0
		if !known.Has(r.Method) {
			further = 1
		}
		list[i] = placed{r, []int{
			printed(func(p results.Printed) bool { return p.InColumn(r, keys) }),
			came("availability", r.Availability), came("data", r.Data), came("alpha", r.Alpha),
			came("column", r.Params.Only(keys...)),
			further, printed(func(p results.Printed) bool { return p.Method == r.Method }), came("method", r.Method),
			came("preset", r.Preset), came("clients", r.Clients), came("params", r.Params),
			r.Metric.Info().Row,
		}}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(slices.Compare(a.place, b.place),
			cmp.Compare(a.row.Metric.Info().Target, b.row.Metric.Info().Target),
			strings.Compare(string(a.row.Metric), string(b.row.Metric)))
	})
	for i := range list {
		rows[i] = list[i].row
	}
}
