package tune

import (
	"cmp"
	"math"
	"slices"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/stats"
)

type pair struct{ lr, serverLR float64 } // η_0 and η_g, above 0

// score is what a pair of rates reached in a rung: means over the seeds.
type score struct {
	acc      stats.Estimate // accuracy on the held-out samples, a fraction
	loss     float64        // mean per sample
	diverged bool           // a seed diverged before the end of the rung
}

// rungs returns the rounds after which pairs are compared: a quarter and a half of all, rounded up to a round that is
// evaluated, and all. Short runs have fewer rungs.
func rungs(rounds, evalEvery int) (at []int) {
	for _, parts := range []int{4, 2, 1} {
		round := (rounds + parts - 1) / parts
		round = (round + evalEvery - 1) / evalEvery * evalEvery
		at = append(at, min(round, rounds))
	}
	return slices.Compact(at)
}

// evaluations is over how many of the last evaluations a score is a mean: under changing availability the accuracy
// changes from round to round.
const evaluations = 3

// scoreOf returns the score of the runs of a pair with settings s, one curve for each seed, after a round that is
// evaluated. Later rows make no difference, nor does what happens to a run later: it may have gone on in an earlier
// process.
func scoreOf(s *settings.Settings, curves [][]results.CurveRow, round int) score {
	var accs, losses []float64
	for _, curve := range curves {
		end := slices.IndexFunc(curve, func(r results.CurveRow) bool { return r.Round == round })
		if end < 0 || s.Diverged(curve[end].TestLoss.Value, curve[0].TestLoss.Value) {
			return score{diverged: true}
		}
		last := curve[min(1, end) : end+1] // without the initial model, which all pairs share
		last = last[max(0, len(last)-evaluations):]
		accs = append(accs, meanOf(last, func(r results.CurveRow) files.Optional { return r.TestAcc }))
		losses = append(losses, meanOf(last, func(r results.CurveRow) files.Optional { return r.TestLoss }))
	}
	return score{acc: stats.EstimateOf(accs), loss: stats.Mean(losses).Value}
}

// meanOf returns the mean of a column over rows, at least one.
func meanOf(rows []results.CurveRow, column func(results.CurveRow) files.Optional) float64 {
	sum := 0.0
	for _, r := range rows {
		sum += column(r).Value
	}
	return sum / float64(len(rows))
}

// trial is a pair and its score in the last rung that it was in.
type trial struct {
	pair
	score
}

// better orders trials: those that did not diverge first, then by accuracy, then by loss, then smaller rates first. Two
// trials of a grid are never equal, so that the order does not depend on the order of the grid.
func better(a, b trial) int {
	switch {
	case a.diverged != b.diverged:
		if a.diverged {
			return 1
		}
		return -1
	case a.diverged:
		return cmp.Or(cmp.Compare(a.lr, b.lr), cmp.Compare(a.serverLR, b.serverLR))
	}
	return cmp.Or(cmp.Compare(b.acc.Mean, a.acc.Mean), cmp.Compare(a.loss, b.loss), cmp.Compare(a.lr, b.lr),
		cmp.Compare(a.serverLR, b.serverLR))
}

// tied reports whether nothing tells two or more trials apart, as where nobody has trained yet.
func tied(trials []trial) bool {
	return len(trials) > 1 && !trials[0].diverged &&
		!slices.ContainsFunc(trials, func(t trial) bool { return t.score != trials[0].score })
}

// best returns the indices of the better trials in their order in the list: at most so many, and none that diverged. It
// returns all trials of a tie.
func best(trials []trial, most int) (left []int) {
	if tied(trials) {
		most = len(trials)
	}
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return better(trials[i], trials[j]) })
	for _, i := range order[:min(most, len(order))] {
		if !trials[i].diverged {
			left = append(left, i)
		}
	}
	slices.Sort(left)
	return left
}

// half returns how many of n pairs go on to the next rung.
func half(n int) int { return (n + 1) / 2 }

// edge says that a rate is at an end of its grid, beyond which a better one may lie: "lr largest"; "" if it is not, or
// if nothing else was tried.
func edge(name string, grid []float64, rate float64) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, x := range grid {
		least, most = min(least, x), max(most, x)
	}
	switch {
	case least == most:
		return ""
	case rate == most:
		return name + " largest"
	case rate == least:
		return name + " smallest"
	}
	return ""
}
