package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/stats"
)

// Judgement is the outcome of comparing a number of ours with a printed one: a verdict, or the reason for none. Tables,
// comparisons, exports and reports all use it, so that they never contradict each other.
type Judgement struct {
	// our mean minus the paper's; missing if one mean is missing, or if the numbers are not judged
	Difference files.Optional `csv:"difference"`
	Margin     files.Optional `csv:"margin"`     // see [stats.Compare]
	Verdict    stats.Verdict  `csv:"verdict"`    // empty if NotJudged is not
	NotJudged  string         `csv:"not_judged"` // how our experiment differs from the paper's; empty if it does not
}

// judge compares a number of ours with the paper's. own is our settings that the table does not prescribe. It does not
// judge numbers of different experiments; but we may have more seeds than the paper, for which the standard errors of
// [stats.Compare] account.
func judge(ours *results.SummaryRow, own results.Params, paper *results.Printed) (j Judgement) {
	if j.NotJudged = strings.Join(unlike(ours, own, paper), ", "); j.NotJudged != "" {
		return j
	}
	j.Verdict = stats.Unknown
	if ours.Mean.Valid && paper.Mean.Valid {
		j.Difference.Valid = true
		j.Difference.Value, j.Margin, j.Verdict = stats.Compare(
			stats.Estimate{Mean: ours.Mean.Value, Std: ours.Std, N: ours.N}, paper.Estimate())
	}
	return j
}

// unlike lists how the experiment of a row differs from the paper's: rounds, clients, fewer seeds, learning rates, a
// bad status.
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

// Place says where our number lies in relation to the printed one.
type Place string

// The places. Inside and Near have the verdict [stats.Within]; Away has the verdict [stats.Outside].
const (
	NoPlace Place = ""       // not judged, or the verdict is unknown
	Inside  Place = "inside" // inside the printed mean ± std
	Near    Place = "near"   // not inside, but within the margin
	Away    Place = "away"   // farther than the margin
)

// Place returns the place of our mean in relation to the printed one, and its side: 1 above, −1 below, 0 inside.
func (r *ComparisonRow) Place() (place Place, side int) {
	d := r.Difference.Value
	switch {
	case r.Verdict == stats.Outside:
		return Away, cmp.Compare(d, 0)
	case r.Verdict != stats.Within:
		return NoPlace, 0
	case math.Abs(d) > r.PaperStd.Value+stats.Roundoff: // a difference equal to the printed std is inside
		return Near, cmp.Compare(d, 0)
	}
	return Inside, 0
}

// Counts counts the judgements on our numbers that have a printed one beside them.
type Counts struct {
	Inside, Near, Away, Unknown int
	NotJudged                   int
	Why                         []string // the reasons for NotJudged, each once
}

// Compared returns how many numbers are judged: "12 numbers".
func (c Counts) Compared() string {
	n := c.Inside + c.Near + c.Away + c.Unknown
	return counted([]int{n}, "number")
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
	place, _ := r.Place()
	switch {
	case r.NotJudged != "":
		c.NotJudged++
		if !slices.Contains(c.Why, r.NotJudged) {
			c.Why = append(c.Why, r.NotJudged)
		}
	case place == Inside:
		c.Inside++
	case place == Near:
		c.Near++
	case place == Away:
		c.Away++
	default:
		c.Unknown++
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
