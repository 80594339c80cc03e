package papers

import (
	"fmt"
	"math"
	"strconv"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// Figures 3 and 4 show numbers against what is varied.
var (
	cafedF3 = Figure{
		ID: "cafed-f3", Title: "CA-Fed, ToN, Figure 3: heterogeneity γ = δ of the clients, Synthetic", Axis: "γ = δ",
		Measure: Curves{}, Runs: overHeterogeneity(), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds,
		Draw: stating("at γ = δ = 0 More available and κ̄² = 0.01 are best, at 1 κ̄² = 100 and Unbiased", []claim{
			{Data: "leaf", X: files.Some(0.25), Ahead: []string{kappa("1"), kappa("10")}, Behind: "unbiased", Points: 1.6},
			{Data: "leaf", X: files.Some(0.5), Ahead: []string{kappa("1"), kappa("10")}, Behind: "unbiased", Points: 1.2},
			{Data: "leaf", X: files.Some(0.75), Ahead: []string{kappa("1"), kappa("10")}, Behind: "unbiased", Points: 1},
		}, drawFinalAccuracy),
	}
	cafedF4a = Figure{
		ID: "cafed-f4a", Title: "CA-Fed, ToN, Figure 4a: error of the estimators against the observed history",
		Axis:    historyAxis,
		Measure: EstimatorErrors{}, Runs: overPrior("ca-fed"), Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: stating("both errors fall with t'; that of λ is larger", nil, func(m Measured) (Drawing, error) {
			rows := estimatorRows(m.Errors, m.Figure.Axis)
			labels := map[string]string{"pi_error": "mean |π̂ − π|", "lambda_error": "mean |λ̂ − λ|"}
			return drawing(rows, sweepFigure(m.Figure.Title, rows, labels)), nil
		}),
	}
	cafedF4b = Figure{
		ID: "cafed-f4b", Title: "CA-Fed, ToN, Figure 4b: test accuracy with estimated availability, MNIST", Axis: historyAxis,
		Measure: Curves{}, Runs: overPrior(cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: 50,
		Draw: stating("CA-Fed is ahead of all baselines for t' ≥ 100", nil, drawFinalAccuracy),
	}
)

// overHeterogeneity are figure 3's runs.
func overHeterogeneity() (list []Run) {
	for _, v := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		x, _ := strconv.ParseFloat(v, 64) // one of the above
		for _, r := range overKappa(ton("leaf", results.NewParams("leaf-gamma="+v, "leaf-delta="+v))) {
			r.X = x
			list = append(list, r)
		}
	}
	return list
}

// overPrior are figure 4's runs: t' = 10, 10^1.5, … 10^4, in whole rounds.
func overPrior(methods ...string) (list []Run) {
	for half := 2; half <= 8; half++ {
		rounds := int(math.Round(math.Pow(10, float64(half)/2)))
		for _, r := range runs(ton("mnist", results.Params("prior="+strconv.Itoa(rounds))), methods...) {
			r.X = float64(rounds)
			list = append(list, r)
		}
	}
	return list
}

// drawFinalAccuracy draws the test accuracy after the last round.
func drawFinalAccuracy(m Measured) (Drawing, error) {
	rows, err := finalRows(m.Lines, m.Figure.Axis)
	labels := map[string]string{string(results.TestAcc): "test accuracy after the last round (%)"}
	return drawing(rows, sweepFigure(m.Figure.Title, rows, labels)), err
}

// finalRows returns the test accuracy of each line after its last round.
func finalRows(lines []Line, axis string) ([]sweepRow, error) {
	var rows []sweepRow
	for _, line := range lines {
		means, err := results.MeanCurve(line.Curves, results.TestAcc)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", line.Series, line.Data, err)
		}
		if len(means) == 0 {
			return nil, fmt.Errorf("results: %s at %s %g: no round that every seed was evaluated in, want one", line.Series,
				axis, line.X)
		}
		last := means[len(means)-1]
		rows = append(rows, sweepRow{
			string(results.TestAcc), line.Series, line.Method, axis, line.X, last.Round, last.N,
			last.Mean, last.Std,
		})
	}
	return rows, nil
}

// estimatorRows returns the errors of π̂ and then of λ̂ at every X, over the seeds.
func estimatorRows(errors []EstimatorError, axis string) (rows []sweepRow) {
	for _, x := range inOrder(errors, func(e EstimatorError) float64 { return e.X }) {
		for _, what := range []string{"pi_error", "lambda_error"} {
			for _, e := range errors {
				if e.X != x {
					continue
				}
				bySeed := e.Pi
				if what == "lambda_error" {
					bySeed = e.Lambda
				}
				rows = append(rows, sweepRow{
					What: what, Series: fmt.Sprintf("after %d rounds", e.Round), Axis: axis, X: x, Round: e.Round,
					N: len(bySeed), Mean: stats.Mean(bySeed).Value, Std: stats.SampleStd(bySeed),
				})
			}
		}
	}
	return rows
}
