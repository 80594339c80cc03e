package compare

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results/judge"
)

// Standing says how a number of ours stands among those of its group and column.
type Standing int

// The standings. Numbers that are alone in their column, and those of which none is better, have none.
const (
	NoStanding Standing = iota
	Best                // the best mean of those that lack no seed; all that read alike are the best
	NotTold             // the test over pairs of seeds does not tell it from the best
	Told                // the test tells it from the best
	Untested            // it has other rounds than the best, or fewer than two seeds in common with it
)

// notToldMark stands behind a number that is [NotTold].
const notToldMark = "†"

// Standings returns the standing of each line's number in a column, by [judge.Family] of the best mean against all
// others. A mean that lacks seeds may be large for that alone, and is never the best.
func (group GridGroup) Standings(column int) []Standing {
	standings := make([]Standing, len(group.Lines))
	top, ours := -1, 0
	for i, l := range group.Lines {
		if r := l.Cells[column]; isOurs(r) {
			ours++
			if r.isWhole() && r.Metric.IsJudged() && (top < 0 || r.isBetter(group.Lines[top].Cells[column])) {
				top = i
			}
		}
	}
	if top < 0 || ours < 2 {
		return standings
	}
	best := group.Lines[top].Cells[column]
	var others []int
	var differences [][]float64
	for i, l := range group.Lines {
		r := l.Cells[column]
		switch {
		case !isOurs(r) || !r.Mean.Valid:
		case r.isWhole() && r.text() == best.text(): // equally good to the reader
			standings[i] = Best
		case r.Rounds != best.Rounds: // a shorter run is another experiment
			others, differences = append(others, i), append(differences, nil)
		default:
			others, differences = append(others, i), append(differences, best.ours.BySeed.Pairs(r.ours.BySeed))
		}
	}
	for i, tested := range judge.Family(differences, judge.Significance) {
		switch tested.Verdict {
		case judge.Differs:
			standings[others[i]] = Told
		case judge.Untold:
			standings[others[i]] = NotTold
		default:
			standings[others[i]] = Untested
		}
	}
	return standings
}

// isWhole reports whether our mean is over all seeds that were asked for.
func (r *ComparisonRow) isWhole() bool {
	how, _ := r.missing()
	return r.Mean.Valid && how == ""
}

func (r *ComparisonRow) isBetter(other *ComparisonRow) bool {
	if r.Metric.Info().More {
		return r.Mean.Value > other.Mean.Value
	}
	return r.Mean.Value < other.Mean.Value
}

// text returns our mean as it is printed, without its spread.
func (r *ComparisonRow) text() string { return r.Metric.Words(r.Mean, files.Optional{}, r.N) }

// AboutStandings says what bold and [NotTold] numbers of the grid are, and which are not tested; empty if there is no
// best number.
func (g Grid) AboutStandings() string {
	counts, seeds := map[Standing]int{}, 0
	for _, group := range g.Groups {
		for column := range g.Columns {
			for i, s := range group.Standings(column) {
				if counts[s]++; s != NoStanding {
					seeds = max(seeds, group.Lines[i].Cells[column].N)
				}
			}
		}
	}
	const test = "by paired t-tests over the seeds (Holm, p "
	tested, text := counts[NotTold]+counts[Told], "Bold: best mean"
	switch {
	case counts[Best] == 0:
		return ""
	case counts[NotTold] > 0:
		text += fmt.Sprintf("; %s: not told from it %s≥ %g)", notToldMark, test, judge.Significance)
	case counts[Told] > 0:
		text += fmt.Sprintf(", told from the others %s< %g)", test, judge.Significance)
	}
	switch untested := counts[Untested]; {
	case untested == 0:
	case tested == 0 && seeds < 2:
		text += "; one seed: differences cannot be tested"
	case tested == 0:
		text += "; differences are not tested: other rounds, or no two seeds in common"
	default:
		text += "; not tested, with other rounds or no two seeds in common with it: " + files.Count(untested, "number")
	}
	return text + "."
}
