package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"rollcall/bench/run"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// printTable prints a table with our numbers beside the paper's. Above it stand what our numbers are (seeds, rounds,
// settings) and why they are not compared, if they are not. path is the summary.csv with the same numbers.
func (a *app) printTable(t *papers.Table, rows []results.SummaryRow, path string) error {
	if len(rows) == 0 {
		return nil
	}
	width := 120 // of a file or a pipe
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
	if why := compare.NotCompared(t, rows); why != "" {
		fmt.Fprintf(&b, "not compared with the paper: %s\n", why)
	}
	b.WriteString("\n")
	if err := compare.WriteTable(&b, t, rows, width); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n%s\n", b.String(), path)
	return err
}
