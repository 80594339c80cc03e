package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"rollcall/internal/files"
	"rollcall/results"
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

// aheadAt returns the question of [ahead] at one value of the setting that the figure varies.
func aheadAt(x float64, series string, over ...string) func(m Measured) (Answer, string) {
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
func errorsFall(m Measured) (Answer, string) {
	pi, lambda := historyErrors(m)
	return allOf([]Answer{fall(pi), fall(lambda)}), errorWords(pi, lambda)
}

// lambdaErrorLarger asks whether the error of λ is larger with every history.
func lambdaErrorLarger(m Measured) (Answer, string) {
	pi, lambda := historyErrors(m)
	var parts []Answer
	for i := range pi {
		parts = append(parts, isAhead(differences(lambda[i], pi[i])))
	}
	return allOf(parts), errorWords(pi, lambda)
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
