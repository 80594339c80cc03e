package scoreboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
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

// tableSize says how much of a table was run: "100 of 2000 rounds, 1 of 3 seeds, 16 of 192 numbers", or "whole, 3
// seeds". full reports whether what was run has the paper's rounds, seeds and clients, though columns may lack.
func tableSize(t *papers.Table, rows []results.SummaryRow, c *compare.Comparing) (words string, full bool) {
	var short, rounds []string
	seeds, shortRounds := 0, false
	for _, r := range rows {
		if r.N == 0 {
			continue
		}
		seeds, shortRounds = max(seeds, r.N), shortRounds || r.Rounds != t.Rounds
		if n := fmt.Sprint(r.Rounds); !slices.Contains(rounds, n) {
			rounds = append(rounds, n)
		}
	}
	if shortRounds {
		short = append(short, fmt.Sprintf("%s of %d rounds", strings.Join(rounds, " and "), t.Rounds))
	}
	if seeds < len(t.Seeds) {
		short = append(short, fmt.Sprintf("%d of %d seeds", seeds, len(t.Seeds)))
	}
	// The other reasons are the same words for all numbers, or are of single numbers.
	for _, why := range c.Counts().Why {
		for part := range strings.SplitSeq(why, ", ") {
			said := strings.HasSuffix(part, " rounds") || strings.HasSuffix(part, " seeds")
			if !said && !slices.Contains(short, part) {
				short = append(short, part)
			}
		}
	}
	full = short == nil
	lacking := c.Left
	for i := range c.Rows {
		if c.Rows[i].PaperN > 0 && c.Rows[i].Status == "" {
			lacking++
		}
	}
	if lacking > 0 {
		short = append(short, fmt.Sprintf("%d of %d numbers", len(t.Printed)-lacking, len(t.Printed)))
	}
	if short == nil {
		return "whole, " + files.Count(seeds, "seed"), full
	}
	return strings.Join(short, ", "), full
}

// shortOf lists how a figure differs in size from the paper's; nil if it does not.
func shortOf(i *results.FigureInfo) (short []string) {
	if i.Rounds != i.PaperRounds {
		short = append(short, fmt.Sprintf("%d of %d rounds", i.Rounds, i.PaperRounds))
	}
	if len(i.Seeds) < i.PaperSeeds {
		short = append(short, fmt.Sprintf("%d of %d seeds", len(i.Seeds), i.PaperSeeds))
	}
	if !slices.Equal(i.Clients, i.PaperClients) {
		short = append(short, fmt.Sprintf("%s clients in place of %s", numbers(i.Clients), numbers(i.PaperClients)))
	}
	if n := shared(i.Methods, i.PaperMethods); n < len(i.PaperMethods) {
		short = append(short, fmt.Sprintf("%d of %d methods", n, len(i.PaperMethods)))
	}
	if n := shared(slices.Collect(maps.Keys(i.Data)), i.PaperData); n < len(i.PaperData) {
		short = append(short, fmt.Sprintf("%d of %s", n, files.Count(len(i.PaperData), "data set")))
	}
	if only := i.Settings["column"]; only != "" {
		short = append(short, only+" alone")
	}
	if i.Diverged > 0 {
		short = append(short, files.Count(i.Diverged, "run")+" diverged")
	}
	return short
}

// figureSize says how much of a figure was run; short is what [shortOf] returns.
func figureSize(i *results.FigureInfo, short []string) string {
	words := strings.Join(short, ", ")
	if short == nil {
		words = "whole"
		if len(i.Seeds) > 0 {
			words += ", " + files.Count(len(i.Seeds), "seed")
		}
	}
	if !i.Trained {
		words += "; nothing is trained"
	}
	return words
}

// numbers returns numbers with commas between them.
func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// shared returns how many of the wanted names there are.
func shared(names, wanted []string) (n int) {
	for _, w := range wanted {
		if slices.Contains(names, w) {
			n++
		}
	}
	return n
}
