package compare

import (
	"slices"

	"rollcall/results"
)

// rates are the learning rates. A file of rates has others for each column, and a method stays one line all the same.
var rates = []string{"lr", "server-lr"}

// ratesVaryWords are in the heading of a line whose columns have other learning rates.
const ratesVaryWords = "(rates by column)"

// placed is a row and its place in a table.
type placed struct {
	row    *ComparisonRow
	group  int    // of lines, in a [Grid]
	line   string // names the line, apart from learning rates
	own    results.Params
	column int
}

// furtherLast orders the lines of a table: those of its own methods come first.
func furtherLast(a, b placed) int { return a.row.further - b.row.further }

// ratesVary returns the lines whose columns have other learning rates. A method that has several rates in one column is
// not among them: it needs a line for each.
func ratesVary(places []placed) map[string]bool {
	vary := map[string]bool{}
	lines, of := results.Grouped(places, func(p placed) string { return p.line })
	for _, line := range lines {
		ours := slices.DeleteFunc(of[line], func(p placed) bool { return p.row.Status == "" }) // the paper's alone
		columns, _ := results.Grouped(ours, func(p placed) int { return p.column })
		different, _ := results.Grouped(ours, func(p placed) results.Params { return p.own.Only(rates...) })
		vary[line] = len(columns) == len(ours) && len(different) > 1
	}
	return vary
}
