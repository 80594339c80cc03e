package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"rollcall/bench/run"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// printTable prints ours beside the paper's, and what ours is.
func (a *app) printTable(t *papers.Table, rows []results.SummaryRow, path string) error {
	if len(rows) == 0 {
		return nil
	}
	width := 120
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = w
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nours: %s, %s; %s\n", t.Title, run.Count(len(t.Seeds), "seed"), run.Count(t.Rounds, "round"),
		t.About(t.Rounds))
	if t.Source != "" {
		fmt.Fprintf(&b, "paper: %s\n", t.Source)
	}
	lines := slices.Clone(rows) // whose labels say what the table's own settings do not
	for i := range lines {
		lines[i].Params = lines[i].Params.Without(commonNames(t, &lines[i])...)
	}
	for _, e := range t.Entries {
		if !slices.ContainsFunc(lines, func(r results.SummaryRow) bool { return r.Metric == e.Metric }) {
			continue // a sweep without evaluations of the training set
		}
		b.WriteString("\n")
		if err := compare.WriteTable(&b, lines, e.Metric, width); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n%s\n", b.String(), path)
	return err
}

// commonNames returns the settings that a table has for all methods alike in the column of a row, or for its method.
func commonNames(t *papers.Table, r *results.SummaryRow) (names []string) {
	for _, c := range t.Columns {
		if c.Data == r.Data && c.Availability == r.Availability {
			names = append(names, c.Common(r.Method, r.Preset).Names()...)
		}
	}
	return names
}
