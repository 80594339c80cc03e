package compare

import (
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
)

// labels returns a label in brackets for each row of a table; usually it is empty. It says if a row is mixed or
// unverified. If several rows would look the same, it says how each differs from the others: its numerics, its
// revisions or its data.
func labels(rows []results.SummaryRow) []string {
	type number struct { // in contrast to [results.SummaryRow.Key], which has the conditions too
		results.Setup
		params results.Params
		metric string
	}
	place := func(r *results.SummaryRow) number { return number{r.Setup, r.Params, string(r.Metric)} }
	// Only rows with a trusted number are compared with each other.
	whole := func(r *results.SummaryRow) bool {
		return r.N > 0 && r.Status != results.CellMixed && r.Status != results.CellUnverified
	}
	conditions := map[number][]results.Conditions{}
	for i := range rows {
		if whole(&rows[i]) { // other rows have a label already, or no number
			at := place(&rows[i])
			conditions[at] = append(conditions[at], rows[i].Conditions())
		}
	}
	out := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		words := ""
		switch {
		case r.Status == results.CellUnverified:
			words = string(r.Status)
		case r.Status == results.CellMixed:
			what := strings.TrimPrefix(files.OneLine(r.Error), "mixed: ")
			words = strings.TrimSuffix("mixed: "+what, ": ")
		case whole(r):
			words = r.Conditions().Apart(conditions[place(r)])
		}
		if words != "" {
			out[i] = "[" + words + "]"
		}
	}
	return out
}
