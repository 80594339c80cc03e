package compare

import (
	"cmp"
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
// no paper prints comes after, in the order in which it is first there.
func SortSummary(table string, rows []results.SummaryRow) {
	known, _ := papers.TableByID(table) // one of ours alone has no printed numbers
	keys := results.PrintedNames(known.Printed)
	type named struct{ column, value string }
	first := map[named]int{}
	came := func(column string, value any) int {
		of := named{column, fmt.Sprint(value)}
		if _, there := first[of]; !there {
			first[of] = len(first)
		}
		return first[of]
	}
	printed := func(like func(p results.Printed) bool) int {
		if i := slices.IndexFunc(known.Printed, like); i >= 0 {
			return i
		}
		return len(known.Printed)
	}
	type placed struct {
		row   results.SummaryRow
		place []int
	}
	list := make([]placed, len(rows))
	for i, r := range rows {
		list[i] = placed{r, []int{
			printed(func(p results.Printed) bool { return p.InColumn(r, keys) }),
			came("availability", r.Availability), came("data", r.Data), came("alpha", r.Alpha),
			came("column", r.Params.Only(keys...)),
			printed(func(p results.Printed) bool { return p.Method == r.Method }), came("method", r.Method),
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
