package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// ToN's figures 3 and 4 are sweeps: they show numbers against the setting that they vary.
var (
	cafedF3 = Figure{
		ID: "cafed-f3", Title: "CA-Fed, ToN, Figure 3: heterogeneity γ = δ of the clients, Synthetic", Axis: "γ = δ",
		Measure: Curves{}, Runs: overHeterogeneity(), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds,
		Draw:    drawFinalAccuracy,
		printed: []printedLead{aheadOfUnbiased(0.25, 1.6), aheadOfUnbiased(0.5, 1.2), aheadOfUnbiased(0.75, 1)},
		Says: []Sentence[Measured]{
			{
				"at γ = δ = 0 More available is ahead of Unbiased and κ̄² = 100", tonHeterogeneity,
				aheadAt(0, "more-available", "unbiased", kappa("100")),
			},
			{
				"at γ = δ = 0 κ̄² = 0.01 is ahead of Unbiased and κ̄² = 100", tonHeterogeneity,
				aheadAt(0, kappa("0.01"), "unbiased", kappa("100")),
			},
			{
				"at γ = δ = 1 Unbiased is ahead of More available and κ̄² = 0.01", tonHeterogeneity,
				aheadAt(1, "unbiased", "more-available", kappa("0.01")),
			},
		},
	}
	cafedF4a = Figure{
		ID: "cafed-f4a", Title: "CA-Fed, ToN, Figure 4a: error of the estimators against the observed history",
		Axis: historyAxis, Measure: EstimatorErrors{}, Runs: overPrior("ca-fed"),
		Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: drawn(estimatorRows,
			sweepFigure(map[string]string{"pi_error": "mean |π̂ − π|", "lambda_error": "mean |λ̂ − λ|"})),
		Says: []Sentence[Measured]{
			{"both errors fall with t'", tonEstimation, errorsFall},
			{"the error of λ is larger than that of π", tonEstimation, lambdaErrorLarger},
		},
	}
	cafedF4b = Figure{
		ID: "cafed-f4b", Title: "CA-Fed, ToN, Figure 4b: test accuracy with estimated availability, MNIST",
		Axis: historyAxis, Measure: Curves{}, Runs: overPrior(cafedMethods...),
		Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: drawFinalAccuracy,
		Says: []Sentence[Measured]{{
			"CA-Fed is ahead of all baselines for t' ≥ 100", tonEstimation,
			leads{"ca-fed", nil, lastAccuracy, func(l *Line) bool { return l.X >= 100 }}.ask,
		}},
	}
)

// Where ToN speaks of figures 3 and 4.
const (
	tonHeterogeneity = "V-B c"
	tonEstimation    = "V-B d"
)

// aheadOfUnbiased returns the points by which the better of κ̄² = 1 and 10 is ahead at γ = δ = x.
func aheadOfUnbiased(x, points float64) printedLead {
	return printedLead{
		Data: "leaf", X: files.Some(x), Ahead: []string{kappa("1"), kappa("10")}, Behind: "unbiased", Points: points,
	}
}

// aheadAt returns the question of [isAhead] at one value of the setting that the figure varies.
func aheadAt(x float64, series string, over ...string) func(m Measured) Answer {
	return leads{series, over, lastAccuracy, func(l *Line) bool { return l.X == x }}.ask
}

// overHeterogeneity returns the runs of figure 3, which are the runs of [overKappa] for every γ = δ.
func overHeterogeneity() (list []Training) {
	for _, x := range []float64{0, 0.25, 0.5, 0.75, 1} {
		set := fmt.Sprintf("leaf-gamma=%g;leaf-delta=%g", x, x)
		list = append(list, at(x, overKappa(ton("leaf", results.Params(set))))...)
	}
	return list
}

// overPrior returns the runs of figure 4, whose estimators have observed t' = 10, 10^1.5, … 10^4 rounds before the
// first one (rounded).
func overPrior(methods ...string) (list []Training) {
	for half := 2; half <= 8; half++ {
		rounds := int(math.Round(math.Pow(10, float64(half)/2)))
		column := ton("mnist", results.Params("prior="+strconv.Itoa(rounds)))
		list = append(list, at(float64(rounds), runs(column, methods...))...)
	}
	return list
}

// drawFinalAccuracy draws the test accuracy of each line after its last round.
var drawFinalAccuracy = drawn(finalRows, sweepFigure(map[string]string{
	string(metrics.TestAcc): "test accuracy after the last round (%)",
}))

// finalRows returns the test accuracy of each line after the last round that all its seeds have.
func finalRows(m Measured) (rows []sweepRow, err error) {
	axis := m.Figure.Axis
	for _, line := range m.Lines {
		means := protocol.MeanCurve(line.Curves, metrics.TestAcc)
		if len(means) == 0 {
			return nil, fmt.Errorf("results: %s at %s %g: no round that every seed was evaluated in, want one",
				line.Series, axis, line.X)
		}
		last := means[len(means)-1]
		rows = append(rows, sweepRow{
			string(metrics.TestAcc), line.Series, line.Method, axis, line.X, last.Round, last.N, last.Mean, last.Std,
		})
	}
	return rows, nil
}

// estimatorRows returns the errors of π̂ and then of λ̂ at every X, averaged over the seeds.
func estimatorRows(m Measured) (rows []sweepRow, err error) {
	xs, groups := results.Grouped(m.Errors, func(e EstimatorError) float64 { return e.X })
	for _, x := range xs {
		for _, what := range []string{"pi_error", "lambda_error"} {
			for _, e := range groups[x] {
				bySeed := e.Pi
				if what == "lambda_error" {
					bySeed = e.Lambda
				}
				rows = append(rows, sweepRow{
					What: what, Series: fmt.Sprintf("after %d rounds", e.Round), Axis: m.Figure.Axis, X: x,
					Round: e.Round, N: len(bySeed), Mean: stats.Mean(bySeed).Value, Std: stats.SampleStd(bySeed),
				})
			}
		}
	}
	return rows, nil
}

// historyErrors returns the errors of π̂ and λ̂ before the first round [X][seeds], from the shortest history on.
func historyErrors(m Measured) (pi, lambda [][]float64) {
	byX := func(a, b EstimatorError) int { return cmp.Compare(a.X, b.X) }
	sorted := slices.SortedStableFunc(slices.Values(m.Errors), byX)
	for _, e := range sorted {
		if e.Round == 0 {
			pi, lambda = append(pi, e.Pi), append(lambda, e.Lambda)
		}
	}
	return pi, lambda
}

// errorsFall asks whether both errors are smaller with every longer history.
func errorsFall(m Measured) Answer {
	pi, lambda := historyErrors(m)
	return ahead(append(fall(pi), fall(lambda)...), errorWords(pi, lambda))
}

// lambdaErrorLarger asks whether the error of λ is larger with every history.
func lambdaErrorLarger(m Measured) Answer {
	pi, lambda := historyErrors(m)
	var all []stats.Estimate
	for i := range pi {
		all = append(all, differences(lambda[i], pi[i]))
	}
	return ahead(all, errorWords(pi, lambda))
}

// errorWords returns the mean errors with the shortest and the longest history.
func errorWords(pi, lambda [][]float64) string {
	if len(pi) == 0 {
		return ""
	}
	ends := func(errors [][]float64) string {
		return fmt.Sprintf("%.2g … %.2g", stats.Mean(errors[0]).Value, stats.Mean(errors[len(errors)-1]).Value)
	}
	return fmt.Sprintf("π %s, λ %s from the shortest to the longest history", ends(pi), ends(lambda))
}

// ToN's figure 5 has clusters of clients that are active together. Parts a to c differ in how MNIST is split.
var (
	cafedF5a = inClustersActivity("cafed-f5a", "Figure 5a: clusters, alike inside and among each other, MNIST", "even",
		"all clients of clusters 9, 8, 7, 6 are left out", leavesOut(6, 7, 8, 9))
	cafedF5b = inClustersActivity("cafed-f5b", "Figure 5b: clusters, alike inside, different among each other, MNIST",
		"clusters", "all clients of clusters 9, 7, 6 are left out, those of 8 are kept", leavesOut(6, 7, 9))
	cafedF5c = inClustersActivity("cafed-f5c", "Figure 5c: clusters, all clients different, MNIST", "classes",
		"clients of the more correlated clusters are left out in part", leavesOutPart)
	cafedF5d = aheadOfAdaFed("cafed-f5d", "Figure 5d: test accuracy with spatial correlation, MNIST",
		inClusters("classes"), 100, 0.6, tonClusters)
)

// tonClusters is where ToN speaks of figure 5.
const tonClusters = "V-B e"

// inClustersActivity returns figure 5a, b or c: which clients are excluded if split cuts MNIST. says is what ToN says
// about it, and ask whether it holds.
func inClustersActivity(id, title, split, says string, ask func(m Measured) Answer) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{Decisions: true}, Runs: runs(inClusters(split), "ca-fed"), Preset: "paper", Seeds: tonSeeds,
		Rounds: 100,
		Draw:   drawActivity,
		Says:   []Sentence[Measured]{{says, tonClusters, ask}},
	}
}

// inClusters returns the column of figure 5: MNIST cut by split, and ten clusters of ten clients each that share one
// Markov chain.
func inClusters(split string) Column {
	c := ton("mnist", "clusters=10", results.Params("split="+split))
	c.Availability = "clusters"
	return c
}

// leavesOut returns a question to every seed: is there a round in which the clusters all of whose clients are left out
// are exactly these? The paper shows one run.
func leavesOut(clusters ...int) func(m Measured) Answer {
	return func(m Measured) Answer {
		return askClusters(m, func(out []float64) bool {
			for c, share := range out {
				if (share == 1) != slices.Contains(clusters, c) {
					return false
				}
			}
			return true
		})
	}
}

// leavesOutPart asks every seed whether there is a round in which one of the more correlated clusters, taken as 6 to 9
// as in figure 5a, is neither left out nor kept as a whole.
func leavesOutPart(m Measured) Answer {
	return askClusters(m, func(out []float64) bool {
		return slices.ContainsFunc(out[min(6, len(out)):], func(share float64) bool { return 0 < share && share < 1 })
	})
}

// askClusters asks every seed whether there is a round that is so, from the share of each cluster's clients that is
// left out in it.
func askClusters(m Measured, is func(out []float64) bool) Answer {
	if len(m.Lines) == 0 {
		return Answer{Verdict: judge.Untold}
	}
	clusters := int(numberOf(m.Lines[0], "clusters"))
	var seeds []bool
	rounds, total := 0, make([]float64, clusters)
	for _, decisions := range m.Lines[0].Decisions {
		found := false
		all := leftOut(decisions, clusters)
		for _, out := range all {
			if is(out) {
				found = true
				rounds++
			}
			for c, share := range out {
				total[c] += share / float64(len(all)*len(m.Lines[0].Decisions))
			}
		}
		seeds = append(seeds, found)
	}
	words := make([]string, clusters)
	for c, share := range total {
		words[c] = fmt.Sprintf("%d: %.0f %%", c, 100*share)
	}
	return share(seeds, fmt.Sprintf("in %.1f rounds of a run on average; left out over all rounds, by cluster: %s",
		float64(rounds)/float64(max(1, len(seeds))), strings.Join(words, ", ")))
}

// leftOut returns for each round, and for each cluster in it, the share of its clients that are excluded, whether they
// are available or not (ToN, figures 5a–c). Clusters consist of consecutive clients and have the same size.
func leftOut(decisions []results.DecisionRow, clusters int) (rounds [][]float64) {
	n := results.ClientsOf(decisions)
	for k, d := range decisions {
		if k%n == 0 {
			rounds = append(rounds, make([]float64, clusters))
		}
		rounds[k/n][d.Client*clusters/n] += float64(1 - d.Included)
	}
	for _, out := range rounds { // after the sum, so that a cluster that is left out as a whole has exactly 1
		for c := range out {
			out[c] /= float64(n / clusters)
		}
	}
	return rounds
}

// leavesOutTheWorse asks every seed whether clients outside the group of the more available are excluded in a larger
// share of the rounds (INFOCOM, figure 1, which shows one run).
func leavesOutTheWorse(m Measured) Answer {
	if len(m.Lines) == 0 {
		return Answer{Verdict: judge.Untold}
	}
	var seeds []bool
	var others, better []float64
	for _, decisions := range m.Lines[0].Decisions {
		var out, all [2]float64
		for _, d := range decisions {
			worse := 0
			if clientGroup(d.Pi, d.Lambda) != moreAvailable {
				worse = 1
			}
			out[worse], all[worse] = out[worse]+float64(1-d.Included), all[worse]+1
		}
		if all[0] == 0 || all[1] == 0 {
			return Answer{Verdict: judge.Untold, Ours: "one group alone"}
		}
		others, better = append(others, out[1]/all[1]), append(better, out[0]/all[0])
		seeds = append(seeds, out[1]/all[1] > out[0]/all[0])
	}
	return share(seeds, fmt.Sprintf("left out in %.0f %% of the rounds, the more available in %.0f %%",
		100*stats.Mean(others).Value, 100*stats.Mean(better).Value))
}
