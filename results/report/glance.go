package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// glance is what a reader wants to know of a table first: what was run, how large it is beside the paper's, and who is
// best where.
type glance struct {
	ID, Title   string // of the table
	Size, Paper string // of our runs and of the paper's; Paper may be empty
	Of          string // the number by which methods are best
	Printed     bool   // the paper prints that number
	Rows        []glanceRow
}

// glanceRow says how the methods stand in one column of one group of a table.
type glanceRow struct {
	Where, Anchor          string
	Availability, Data     string   // for the filter
	Best                   string   // with its number
	Near, Behind, Untested []string // see [compare.Standing]
	Sure, Printed          string
	Note                   string // why nothing is best
}

// glanceOf returns the overview of a table, whose rows are ours. runs are those of the table.
func glanceOf(t *tableData, rows []results.SummaryRow, known *papers.Table, runs []results.Run) glance {
	g := glance{ID: t.ID, Title: t.Title, Size: sizeOf(t, rows, runs), Paper: paperSize(known)}
	column := 0 // the first of the metric that decides: test accuracy if there is one
	for i, c := range t.Columns {
		if c.Metric == metrics.TestAcc {
			column = i
			break
		}
	}
	if len(t.Columns) == 0 || !t.Columns[column].Metric.IsJudged() {
		return g
	}
	of := t.Columns[column]
	of.Set = "" // which belongs to its rows
	g.Of = of.Head()
	for k, group := range t.Groups {
		for i, c := range t.Columns {
			isThere := func(l compare.GridLine) bool { return l.Cells[i] != nil }
			if c.Metric != of.Metric || !slices.ContainsFunc(group.Lines, isThere) {
				continue
			}
			where := []string{group.Name(), papers.DataTitle(c.Data)}
			if c.Set != "" {
				where = append(where, c.Set)
			}
			row := t.standing(group, i)
			row.Where, row.Anchor = strings.Join(where, ", "), t.GroupID(k)
			row.Availability, row.Data = group.Availability, c.Data
			g.Printed = g.Printed || row.Printed != ""
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

// standing says who is best in a column of a group, who is not told from the best, and who is behind.
func (t *tableData) standing(group compare.GridGroup, column int) (row glanceRow) {
	var best []string
	ours := 0
	var paper *compare.ComparisonRow
	var printed []string
	for _, l := range group.Lines {
		r := l.Cells[column]
		if r == nil {
			continue
		}
		if r.Status != "" && r.Mean.Valid {
			ours++
		}
		switch t.standings[r] {
		case compare.Best:
			best = append(best, l.Label())
			row.Best = r.Ours()
		case compare.NotTold:
			row.Near = append(row.Near, l.Label())
		case compare.Told:
			row.Behind = append(row.Behind, l.Label())
		case compare.Untested:
			row.Untested = append(row.Untested, l.Label())
		}
		if r.PaperN > 0 && r.PaperMean.Valid {
			more := r.Metric.Info().More
			switch {
			case paper == nil || (r.PaperMean.Value > paper.PaperMean.Value) == more &&
				r.PaperMean.Value != paper.PaperMean.Value:
				paper, printed = r, []string{papers.MethodTitle(r.Method)}
			case r.PaperMean.Value == paper.PaperMean.Value:
				printed = append(printed, papers.MethodTitle(r.Method))
			}
		}
	}
	if paper != nil {
		row.Printed = strings.Join(files.Unique(printed), ", ") + " " +
			paper.Metric.Words(paper.PaperMean, paper.PaperStd, paper.PaperN)
	}
	if len(best) == 0 {
		row.Note = "no two methods to compare"
		if ours > 1 {
			row.Note = "no mean has all its seeds"
		}
		return row
	}
	number := strings.ReplaceAll(row.Best, " ± ", "\u00a0±\u00a0") // it stays on one line
	row.Best = strings.Join(best, ", ") + " " + number
	switch others := len(row.Near) + len(row.Behind) + len(row.Untested); {
	case others == 0:
		row.Sure = "equal to the digits shown"
	case len(row.Untested) == others:
		row.Sure = "cannot be tested: other rounds, or no two seeds in common"
	case len(row.Behind) == others:
		row.Sure = fmt.Sprintf("told from %s", all(others))
	case len(row.Near) == others:
		row.Sure = fmt.Sprintf("not told from %s", anyOf(others))
	default:
		row.Sure = fmt.Sprintf("told from %d of %d others", len(row.Behind), others)
		if n := len(row.Untested); n > 0 {
			row.Sure += fmt.Sprintf(", %d not tested", n)
		}
	}
	return row
}

// all and anyOf name all others, of which there are n.
func all(n int) string {
	if n == 1 {
		return "the other"
	}
	return fmt.Sprintf("all %d others", n)
}

func anyOf(n int) string {
	if n == 1 {
		return "the other"
	}
	return fmt.Sprintf("any of %d others", n)
}

// sizeOf says what was run for a table: "5 methods, sine and markov, LEAF synthetic; 100 rounds, 3 seeds, N = 100; 28
// of 30 runs complete, 2 failed".
func sizeOf(t *tableData, rows []results.SummaryRow, runs []results.Run) string {
	var methods, availabilities, data []string
	var rounds, seeds, clients []int
	for _, r := range rows {
		methods, availabilities = append(methods, r.Method), append(availabilities, r.Availability)
		data = append(data, papers.DataTitle(r.Data))
		if r.N > 0 {
			seeds, clients = append(seeds, r.N), append(clients, r.Clients)
			if r.Rounds > 0 {
				rounds = append(rounds, r.Rounds)
			}
		}
	}
	several := func(names []string, what string) string {
		if names = files.Unique(names); len(names) > 3 {
			return fmt.Sprintf("%d %s", len(names), what)
		}
		return files.Listed(names, "and")
	}
	parts := []string{strings.Join([]string{
		files.Count(len(files.Unique(methods)), "method"), several(availabilities, "availability models"),
		several(data, "data sets"),
	}, ", ")}
	if len(seeds) > 0 {
		made := []string{}
		if len(rounds) > 0 {
			made = append(made, compare.Counted(rounds, "round"))
		}
		made = append(made, compare.Counted(seeds, "seed"), compare.Counted(clients, "client"))
		parts = append(parts, strings.Join(made, ", "))
	}
	if len(runs) > 0 {
		status := map[results.RunStatus]int{}
		for i := range runs {
			status[runs[i].Status()]++
		}
		text := fmt.Sprintf("all %d runs complete", len(runs))
		switch len(runs) {
		case 1:
			text = "its run is complete"
		case 2:
			text = "both runs complete"
		}
		if n := status[results.RunComplete]; n < len(runs) {
			text = fmt.Sprintf("%d of %s complete", n, files.Count(len(runs), "run"))
			for _, s := range results.RunStatuses() {
				if status[s] > 0 && s != results.RunComplete {
					text += fmt.Sprintf(", %d %s", status[s], s)
				}
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// paperSize returns the size of the paper's experiment, "2000 rounds, 3 seeds, 100 clients"; empty without a paper.
func paperSize(known *papers.Table) string {
	var rounds, seeds, clients []int
	for _, p := range known.Printed {
		for _, x := range []struct {
			list  *[]int
			value int
		}{{&rounds, p.Rounds}, {&seeds, p.N}, {&clients, p.Clients}} {
			if x.value > 0 {
				*x.list = append(*x.list, x.value)
			}
		}
	}
	var parts []string
	for _, x := range []struct {
		list []int
		what string
	}{{rounds, "round"}, {seeds, "seed"}, {clients, "client"}} {
		if slices.Max(append(x.list, 0)) > 0 {
			parts = append(parts, compare.Counted(x.list, x.what))
		}
	}
	return strings.Join(parts, ", ")
}
