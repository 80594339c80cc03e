package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// Judgement is what a number of ours beside a printed one comes to: a verdict, or why there is none. What tables,
// comparisons, exports and reports say of two numbers is taken from here, so that no two of them disagree.
type Judgement struct {
	// ours − paper's; missing where one of them is, or where it is not judged
	Difference files.Optional `csv:"difference"`
	Margin     files.Optional `csv:"margin"`     // see [stats.Compare]
	Verdict    stats.Verdict  `csv:"verdict"`    // empty where NotJudged says why
	NotJudged  string         `csv:"not_judged"` // how ours is not the paper's experiment; empty where it is
}

// judge sets a number of ours beside the paper's. More seeds than the paper's are as good as the paper's.
func judge(ours *results.SummaryRow, paper *results.Printed) (j Judgement) {
	if j.NotJudged = strings.Join(unlike(ours, paper), ", "); j.NotJudged != "" {
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

// unlike says how a row is not of the paper's experiment.
func unlike(ours *results.SummaryRow, paper *results.Printed) (why []string) {
	if ours.N > 0 { // else there is no number, and its status says it all
		if ours.Rounds == 0 {
			why = append(why, "rounds unknown")
		} else {
			why = append(why, other(ours.Rounds, paper.Rounds, "rounds")...)
		}
		why = append(why, other(ours.Clients, paper.Clients, "clients")...)
		if ours.N < paper.N {
			why = append(why, other(ours.N, paper.N, "seeds")...)
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

// diverged takes the error of a diverged row apart: how many seeds did, and which and where.
func diverged(r *results.SummaryRow) (how, where string) {
	how, where, _ = strings.Cut(r.Error, ": ")
	if !strings.HasSuffix(how, " "+string(results.CellDiverged)) {
		return "some diverged", r.Error
	}
	return how, where
}

// other says that a number of ours is not the paper's.
func other(ours, papers int, what string) []string {
	switch {
	case ours < papers:
		return []string{fmt.Sprintf("%d of %d %s", ours, papers, what)}
	case ours > papers:
		return []string{fmt.Sprintf("%d %s in place of %d", ours, what, papers)}
	}
	return nil
}

// Place is where a number of ours that is judged lies.
type Place string

// The places. The first two have the verdict [stats.Within], the last one [stats.Outside].
const (
	NoPlace Place = ""       // not judged, or the verdict is unknown
	Inside  Place = "inside" // inside the printed mean ± std
	Near    Place = "near"   // not inside, but within the margin
	Away    Place = "away"   // farther than the margin
)

// Place says where our mean lies beside the printed one, and on which side of it: 1 above, −1 below, 0 inside.
func (r *ComparisonRow) Place() (place Place, side int) {
	d := r.Difference.Value
	switch {
	case r.Verdict == stats.Outside:
		return Away, cmp.Compare(d, 0)
	case r.Verdict != stats.Within:
		return NoPlace, 0
	case math.Abs(d) > r.PaperStd.Value+stats.Roundoff:
		return Near, cmp.Compare(d, 0)
	}
	return Inside, 0
}

// Counts says what the numbers of ours that stand beside printed ones come to.
type Counts struct {
	Inside, Near, Away, Unknown int
	NotJudged                   int
	Why                         []string // the numbers that are not judged are not, each reason once
}

// Compared says how many numbers are judged.
func (c Counts) Compared() string {
	n := c.Inside + c.Near + c.Away + c.Unknown
	return counted([]int{n}, "number")
}

// NotCompared says how many numbers are not judged, and why; empty where all are.
func (c Counts) NotCompared() string {
	if c.NotJudged == 0 {
		return ""
	}
	const most = 3 // reasons that can be read
	why := strings.Join(c.Why[:min(most, len(c.Why))], "; ")
	if len(c.Why) > most {
		why += fmt.Sprintf("; and %d other reasons", len(c.Why)-most)
	}
	return fmt.Sprintf("%d not compared: %s", c.NotJudged, why)
}

// Counts counts what the rows come to.
func (c Comparing) Counts() (n Counts) {
	for i := range c.Rows {
		n.add(&c.Rows[i])
	}
	return n
}

func (c *Counts) add(r *ComparisonRow) {
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

// alike returns why none of the numbers of ours beside printed ones is judged, where that is the same of all; empty
// where it is not, or where some are judged. Cells without a number say themselves how they ended.
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

// notes are texts below a table, each once, to which its cells refer by number.
type notes []string

// mark returns what stands behind a cell that a text is about.
func (n *notes) mark(text string) string {
	i := slices.Index(*n, text)
	if i < 0 {
		i = len(*n)
		*n = append(*n, text)
	}
	return fmt.Sprintf(" [%d]", i+1)
}
