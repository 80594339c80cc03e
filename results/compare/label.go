package compare

import (
	"strings"

	"rollcall/results"
	"rollcall/results/files"
)

// labels returns what tells each row of a table from others of its cell, in brackets, and whether it is mixed or
// unverified; as a rule nothing. Only rows that would otherwise read alike say how they differ.
func labels(rows []results.SummaryRow) []string {
	type number struct { // not [results.SummaryRow.Key], which may well tell such rows apart
		results.Cell
		params results.Params
		metric string
	}
	place := func(r *results.SummaryRow) number { return number{r.Cell, r.Params, string(r.Metric)} }
	whole := func(r *results.SummaryRow) bool {
		return r.N > 0 && r.Status != results.CellMixed && r.Status != results.CellUnverified
	}
	beside := map[number][]results.Conditions{}
	for i := range rows {
		if whole(&rows[i]) { // else it says so already, or has no number
			of := place(&rows[i])
			beside[of] = append(beside[of], rows[i].Conditions())
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
			words = r.Conditions().Apart(beside[place(r)])
		}
		if words != "" {
			out[i] = "[" + words + "]"
		}
	}
	return out
}
