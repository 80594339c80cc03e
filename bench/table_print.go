package main

import (
	"fmt"
	"os"
	"slices"

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
	ours := fmt.Sprintf("ours: %s, %s; %s\n", run.Count(len(t.Seeds), "seed"), run.Count(t.Rounds, "round"),
		t.About(t.Rounds))
	paper := ""
	if t.Source != "" {
		paper = "paper: " + t.Source + "\n"
	}
	if _, err := fmt.Fprintf(a.stdout, "%s\n%s%s", t.Title, ours, paper); err != nil {
		return err
	}
	lines := slices.Clone(rows) // whose labels say what the table's own settings do not
	for i := range lines {
		lines[i].Params = lines[i].Params.Without(commonNames(t, &lines[i])...)
	}
	for _, e := range t.Entries {
		if !slices.ContainsFunc(lines, func(r results.SummaryRow) bool { return r.Metric == e.Metric }) {
			continue // a sweep without evaluations of the training set
		}
		if _, err := fmt.Fprintln(a.stdout); err != nil {
			return err
		}
		if err := compare.WriteTable(a.stdout, lines, e.Metric, width); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s\n", path)
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
