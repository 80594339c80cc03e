package scoreboard

import (
	"rollcall/results/compare"
	"rollcall/results/papers"
	"rollcall/results/stats"
)

// Verdict is what the results say about a table or figure of a paper.
type Verdict string

// The verdicts. Numbers and sentences are judged only if they are of as many rounds and clients and at least as many
// seeds as the paper's.
const (
	// everything the paper states was judged, at least four in five of its numbers agree (of equal means eight to nine
	// in ten do, see [stats.Compare]), and all its sentences hold
	Reproduced    Verdict = "reproduced"
	Partly        Verdict = "partly"              // at least half of what was judged agrees
	NotReproduced Verdict = "not reproduced"      // less than half of what was judged agrees
	CannotTell    Verdict = "cannot be told"      // run at size, but the spread is too large, or is missing
	NotAtSize     Verdict = "smaller, not judged" // run, but nothing of it at the paper's size
	Computed      Verdict = "computed, nothing printed to compare"
	NotTried      Verdict = "not tried"
	NothingToRun  Verdict = "text only" // text, settings or a drawing that explains
)

// Tally counts what a paper states about an item, by how ours compares.
type Tally struct {
	Agree    int `csv:"agree"`     // numbers within two standard errors of the difference
	Differ   int `csv:"differ"`    // numbers farther away
	NoSpread int `csv:"no_spread"` // numbers of which neither we nor the paper have a spread, or which ours lacks
	Hold     int `csv:"hold"`      // sentences
	Fail     int `csv:"fail"`
	Untold   int `csv:"untold"` // sentences whose answer is within two standard errors, or lacks a run
	// numbers and sentences that were not run, or not at the paper's size
	NotJudged int `csv:"not_judged"`
}

// verdict judges results that exist.
func (t *Tally) verdict() Verdict {
	good, bad := t.Agree+t.Hold, t.Differ+t.Fail
	switch {
	case *t == Tally{}:
		return Computed
	case good+bad == 0 && t.NotJudged > 0:
		return NotAtSize
	case good+bad == 0:
		return CannotTell
	case t.NotJudged == 0 && t.Fail == 0 && t.Untold == 0 && 5*t.Differ <= t.Agree+t.Differ:
		return Reproduced
	case good >= bad:
		return Partly
	}
	return NotReproduced
}

// count counts a sentence or a number by its answer; an empty one was not judged.
func (t *Tally) count(answer papers.Answer, sentence bool) {
	switch {
	case answer == "":
		t.NotJudged++
	case answer == papers.Holds && sentence:
		t.Hold++
	case answer == papers.Holds:
		t.Agree++
	case answer == papers.Fails && sentence:
		t.Fail++
	case answer == papers.Fails:
		t.Differ++
	case sentence:
		t.Untold++
	default:
		t.NoSpread++
	}
}

// numbers counts the printed numbers of a table, with the judgements of [compare.Table].
func (t *Tally) numbers(c *compare.Comparing) {
	t.NotJudged += c.Left
	for i := range c.Rows {
		switch r := &c.Rows[i]; {
		case r.PaperN == 0: // no number of the paper's
		case r.Status == "" || r.NotJudged != "": // the paper's alone, or of another size
			t.NotJudged++
		default:
			t.count(agrees(r), false)
		}
	}
}

// agrees judges a number of ours of the paper's size.
func agrees(r *compare.ComparisonRow) papers.Answer {
	if r.Metric.IsRound() && r.Mean.Valid != r.PaperMean.Valid { // one of the two never reached the target
		return papers.Fails
	}
	if r.Metric.IsRound() && !r.Mean.Valid {
		return papers.Holds
	}
	if !r.Mean.Valid || !r.PaperMean.Valid {
		return papers.Untold
	}
	return within(stats.Estimate{Mean: r.Mean.Value, Std: r.Std, N: r.N},
		stats.Estimate{Mean: r.PaperMean.Value, Std: r.PaperStd, N: r.PaperN})
}

// agreesAt judges a difference between two lines of a figure; n is the number of the paper's seeds.
func agreesAt(r *papers.Statement, n int) papers.Answer {
	if !r.Points.Valid {
		return papers.Untold
	}
	return within(r.Lead(), stats.Estimate{Mean: r.Paper.Value, N: n})
}

// within judges two means. A paper that prints no spread over its seeds is taken to have ours [inferred].
func within(ours, paper stats.Estimate) papers.Answer {
	if !paper.Std.Valid {
		paper.Std = ours.Std
	}
	switch _, _, verdict := stats.Compare(ours, paper); verdict {
	case stats.Within:
		return papers.Holds
	case stats.Outside:
		return papers.Fails
	}
	return papers.Untold
}
