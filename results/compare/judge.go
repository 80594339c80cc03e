package compare

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/stats"
)

// Judgement is the outcome of comparing a number of ours with a printed one: a verdict, or the reason for none. Tables,
// comparisons, exports and reports all use it, so that they never contradict each other.
type Judgement struct {
	judge.Outcome
	NotJudged string `csv:"not_judged"` // how our experiment differs from the paper's; empty if it does not
}

// PValues is why p-values are not judged.
const PValues = "p-values are shown"

// judged compares a number of ours with the paper's. own is our settings that the table does not prescribe. It does not
// judge numbers of different experiments; but we may have more seeds than the paper.
func judged(ours *results.SummaryRow, own results.Params, paper *results.Printed) (j Judgement) {
	if j.NotJudged = strings.Join(unlike(ours, own, paper), ", "); j.NotJudged != "" {
		return j
	}
	estimate := stats.Estimate{Mean: ours.Mean.Value, Std: ours.Std, N: ours.N}
	o, has := judge.Printed(ours.Metric, estimate, paper.Estimate(), ours.Mean.Valid, paper.Mean.Valid)
	if !has {
		return Judgement{NotJudged: PValues}
	}
	return Judgement{Outcome: o}
}

// unlike lists how the experiment of a row differs from the paper's: rounds, clients, fewer seeds, learning rates,
// other samples, a bad status.
func unlike(ours *results.SummaryRow, own results.Params, paper *results.Printed) (why []string) {
	if ours.N > 0 { // without a number the status is enough
		if ours.Rounds == 0 {
			why = append(why, "rounds unknown")
		} else {
			why = append(why, other(ours.Rounds, paper.Rounds, "rounds")...)
		}
		why = append(why, other(ours.Clients, paper.Clients, "clients")...)
		if ours.N < paper.N {
			why = append(why, other(ours.N, paper.N, "seeds")...)
		}
		if rates := own.Only(results.Rates...); rates != "" { // of --rates
			why = append(why, rates.Words(" ")+", not the paper's")
		}
		if data := own.Only("train-size", "test-size", "hold-out", "split", "split-file"); data != "" {
			why = append(why, data.Unnamed().Words(" ")+", not the paper's data")
		}
	}
	switch ours.Status {
	case results.CellOK:
	case results.CellDiverged:
		how, _ := diverged(ours)
		why = append(why, how)
	default:
		why = append(why, string(ours.Status))
	}
	return why
}

// diverged splits the error of a diverged row: how many seeds diverged, and which seed in which round.
func diverged(r *results.SummaryRow) (how, where string) {
	how, where, _ = strings.Cut(r.Error, ": ")
	if !strings.HasSuffix(how, " "+string(results.CellDiverged)) {
		return "some diverged", r.Error
	}
	return how, where
}

// other says that a count of ours differs from the paper's: "2 of 3 seeds"; nil if they are equal.
func other(ours, papers int, what string) []string {
	switch {
	case ours < papers:
		return []string{fmt.Sprintf("%d of %d %s", ours, papers, what)}
	case ours > papers:
		return []string{fmt.Sprintf("%d %s in place of %d", ours, what, papers)}
	}
	return nil
}

// Counts counts the judgements on our numbers that have a printed one beside them.
type Counts struct {
	Agree, Differ, Untold int
	NotJudged             int
	Why                   []string // the reasons for NotJudged, each once
}

// Words returns the verdicts on our numbers: "12 numbers compared: 1 agrees, 2 differ, 9 cannot be told".
func (c Counts) Words() string {
	return fmt.Sprintf("%s compared: %d agree, %d differ, %d cannot be told",
		files.Count(c.Agree+c.Differ+c.Untold, "number"), c.Agree, c.Differ, c.Untold)
}

// NotCompared returns how many numbers are not judged, and why; empty if all are.
func (c Counts) NotCompared() string {
	if c.NotJudged == 0 {
		return ""
	}
	const most = 3 // more reasons would be hard to read
	why := strings.Join(c.Why[:min(most, len(c.Why))], "; ")
	if len(c.Why) > most {
		why += fmt.Sprintf("; and %d other reasons", len(c.Why)-most)
	}
	return fmt.Sprintf("%d not compared: %s", c.NotJudged, why)
}

// Counts counts the judgements of all rows.
func (c Comparing) Counts() (n Counts) {
	for i := range c.Rows {
		n.add(&c.Rows[i])
	}
	return n
}

// add counts one row, if it has a number on both sides.
func (c *Counts) add(r *ComparisonRow) {
	// A row without a printed number, or a printed number without a row, is not a comparison.
	if r.ours == nil || r.PaperN == 0 {
		return
	}
	switch {
	case r.NotJudged != "":
		c.NotJudged++
		if !slices.Contains(c.Why, r.NotJudged) {
			c.Why = append(c.Why, r.NotJudged)
		}
	case r.Verdict == judge.Agrees:
		c.Agree++
	case r.Verdict == judge.Differs:
		c.Differ++
	default:
		c.Untold++
	}
}

// alike returns the reason why no number of ours is judged, if all share one reason. It is empty if the reasons differ
// or if a number is judged. Rows without a number of ours do not count, as they show their status instead.
func alike(rows []*ComparisonRow) (why string) {
	for _, r := range rows {
		switch {
		case r == nil || r.ours == nil || r.PaperN == 0 || r.N == 0:
		case r.NotJudged == "" || why != "" && r.NotJudged != why:
			return ""
		default:
			why = r.NotJudged
		}
	}
	return why
}

// notes are the footnotes of a table, each once; cells refer to them by number.
type notes []string

// mark returns the reference to a footnote, " [1]", and adds the footnote if it is new.
func (n *notes) mark(text string) string {
	i := slices.Index(*n, text)
	if i < 0 {
		i = len(*n)
		*n = append(*n, text)
	}
	return fmt.Sprintf(" [%d]", i+1)
}
