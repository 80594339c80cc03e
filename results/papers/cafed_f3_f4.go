package papers

import (
	"fmt"
	"math"
	"strconv"

	"rollcall/results/protocol"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// ToN's figures 3 and 4 are sweeps: they show numbers against the setting that they vary.
var (
	cafedF3 = Figure{
		ID: "cafed-f3", Title: "CA-Fed, ToN, Figure 3: heterogeneity γ = δ of the clients, Synthetic", Axis: "γ = δ",
		Measure: Curves{}, Runs: overHeterogeneity(), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds,
		Draw: stating("at γ = δ = 0 More available and κ̄² = 0.01 are best, at 1 κ̄² = 100 and Unbiased", []claim{
			{
				Data: "leaf", X: files.Some(0.25), Ahead: []string{kappa("1"), kappa("10")},
				Behind: "unbiased", Points: 1.6,
			},
			{
				Data: "leaf", X: files.Some(0.5), Ahead: []string{kappa("1"), kappa("10")},
				Behind: "unbiased", Points: 1.2,
			},
			{
				Data: "leaf", X: files.Some(0.75), Ahead: []string{kappa("1"), kappa("10")},
				Behind: "unbiased", Points: 1,
			},
		}, drawFinalAccuracy),
	}
	cafedF4a = Figure{
		ID: "cafed-f4a", Title: "CA-Fed, ToN, Figure 4a: error of the estimators against the observed history",
		Axis: historyAxis, Measure: EstimatorErrors{}, Runs: overPrior("ca-fed"),
		Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: stating("both errors fall with t'; that of λ is larger", nil, drawn(estimatorRows,
			sweepFigure(map[string]string{"pi_error": "mean |π̂ − π|", "lambda_error": "mean |λ̂ − λ|"}))),
	}
	cafedF4b = Figure{
		ID: "cafed-f4b", Title: "CA-Fed, ToN, Figure 4b: test accuracy with estimated availability, MNIST",
		Axis: historyAxis, Measure: Curves{}, Runs: overPrior(cafedMethods...),
		Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: stating("CA-Fed is ahead of all baselines for t' ≥ 100", nil, drawFinalAccuracy),
	}
)

// overHeterogeneity returns the runs of figure 3, which are the runs of [overKappa] for every γ = δ.
func overHeterogeneity() (list []Run) {
	for _, x := range []float64{0, 0.25, 0.5, 0.75, 1} {
		set := fmt.Sprintf("leaf-gamma=%g;leaf-delta=%g", x, x)
		list = append(list, at(x, overKappa(ton("leaf", results.Params(set))))...)
	}
	return list
}

// overPrior returns the runs of figure 4, whose estimators have observed t' = 10, 10^1.5, … 10^4 rounds before the
// first one (rounded).
func overPrior(methods ...string) (list []Run) {
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
