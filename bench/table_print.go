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
func (a *app) printTable(t papers.Table, rows []results.SummaryRow, path string) error {
	if len(rows) == 0 {
		return nil
	}
	width := 120
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = w
		}
	}
	paper := "" // of a sweep
	if source, err := papers.PaperSource(t.ID); err == nil {
		paper = "paper: " + source + "\n"
	}
	of := fmt.Sprintf("mean ± sample standard deviation over the seeds of the mean over the last %d rounds", min(results.ProtocolRounds, t.Rounds))
	switch t.Entry {
	case papers.AccuracyOverTime:
		of = "largest test accuracy of a run, mean over its rounds, and standard deviation over their second half; each mean ± sample standard deviation over the seeds"
	case papers.PairedT:
		of += fmt.Sprintf("; p_rounds: two-sided paired t-test against %s's of the test accuracies after every evaluated round, of all seeds, as the paper has it, though they are not independent; p_seeds: the same of the means of the seeds", t.Reference)
	case papers.ClientAccuracies:
		of = "of the accuracies of the clients after the last round, each on the test samples of its own two classes; mean ± sample standard deviation over the seeds"
	case papers.RoundsToGet:
		of = fmt.Sprintf("first round, of every %d, at which the mean over the seeds reaches a quarter, half, three quarters and all of the target", papers.FedAWE8Every)
	}
	if _, err := fmt.Fprintf(a.stdout, "%s\nours: %s, %s; %s\n%s", t.Title, run.Count(len(t.Seeds), "seed"), run.Count(t.Rounds, "round"), of, paper); err != nil {
		return err
	}
	lines := slices.Clone(rows) // whose labels say what the table's own settings do not
	for i := range lines {
		lines[i].Params = lines[i].Params.Without(commonKeys(&t, &lines[i])...)
	}
	for _, e := range papers.Entries(&t) {
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

// commonKeys returns the flags that a table sets for all methods alike in the column of a row, or for its method.
func commonKeys(t *papers.Table, r *results.SummaryRow) (keys []string) {
	for _, c := range t.Columns {
		if c.Data == r.Data && c.Availability == r.Availability {
			keys = append(keys, c.Common(r.Method, r.Preset).Names()...)
		}
	}
	return keys
}
