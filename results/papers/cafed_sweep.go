package papers

import (
	"fmt"
	"math"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

// CAFedSweepRow is a number of a run at one value of what the figure varies, over the seeds (ToN, figures 3, 4a and 4b).
type CAFedSweepRow struct {
	What   string         `csv:"what"` // test_acc, a fraction; pi_error or lambda_error, mean over the clients of |π̂ − π| or |λ̂ − λ|
	Series string         `csv:"series"`
	Method string         `csv:"method"`
	Axis   string         `csv:"axis"`  // what is varied
	X      float64        `csv:"x"`     // its value
	Round  int            `csv:"round"` // after which
	N      int            `csv:"n"`     // seeds
	Mean   float64        `csv:"mean"`
	Std    files.Optional `csv:"std"`
}

// CAFedFinalRows returns the test accuracy of each run after its last round.
func CAFedFinalRows(runs []CAFedRun, axis string) ([]CAFedSweepRow, error) {
	var rows []CAFedSweepRow
	for _, run := range runs {
		means, err := results.MeanCurve(run.Curves, results.TestAcc)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", run.Series, run.Data, err)
		}
		if len(means) == 0 {
			return nil, fmt.Errorf("results: %s at %s %g: no round that every seed was evaluated in, want one", run.Series, axis, run.X)
		}
		last := means[len(means)-1]
		rows = append(rows, CAFedSweepRow{string(results.TestAcc), run.Series, run.Method, axis, run.X, last.Round, last.N, last.Mean, last.Std})
	}
	return rows, nil
}

// CAFedSweepFigure draws a line for each series, one panel for each number. labels says what the numbers are.
func CAFedSweepFigure(title string, rows []CAFedSweepRow, labels map[string]string) plot.Figure {
	var panels []plot.Chart
	for _, what := range inOrder(rows, func(r CAFedSweepRow) string { return r.What }) {
		chart := plot.LineChart{YLabel: labels[what]}
		scale := 1.0
		if what == string(results.TestAcc) {
			scale = 100
		}
		for _, name := range inOrder(rows, func(r CAFedSweepRow) string { return r.Series }) {
			s := plot.Series{Name: name}
			for _, r := range rows {
				if r.What != what || r.Series != name {
					continue
				}
				chart.XLabel = r.Axis
				s.PointAt(r.X, r.Mean, r.Std, scale)
				if r.Axis == historyAxis {
					s.X[len(s.X)-1], chart.XLabel = math.Log10(r.X), "log₁₀ "+r.Axis
				}
			}
			chart.Series = append(chart.Series, s)
		}
		panels = append(panels, chart)
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{panels}}
}

// historyAxis is the axis that is read in powers of ten.
const historyAxis = "t'"

// CAFedBestRow is the best κ̄² after one round (ToN, figure 2b).
type CAFedBestRow struct {
	Round      int     `csv:"round"` // T, the length of training
	N          int     `csv:"n"`     // seeds
	Best       string  `csv:"best"`  // series of CA-Fed with the largest mean test accuracy; of equal ones the first
	Kappa      float64 `csv:"kappa"`
	TestAcc    float64 `csv:"test_acc"`
	RunnerUp   string  `csv:"runner_up"`
	Difference float64 `csv:"difference"` // by which the best is ahead of it
}

// CAFedBestRows returns the best of the runs of ca-fed after every round that all of them have; their X is κ̄².
func CAFedBestRows(runs []CAFedRun) ([]CAFedBestRow, error) {
	type at struct {
		run  CAFedRun
		mean results.RoundMean
	}
	rounds := map[int][]at{}
	compared, last := 0, 0
	for _, run := range runs {
		if run.Method != "ca-fed" {
			continue
		}
		compared++
		means, err := results.MeanCurve(run.Curves, results.TestAcc)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", run.Series, run.Data, err)
		}
		for _, m := range means {
			rounds[m.Round], last = append(rounds[m.Round], at{run, m}), max(last, m.Round)
		}
	}
	if compared < 2 {
		return nil, fmt.Errorf("results: best kappa: %d runs of ca-fed, want two at least", compared)
	}
	var rows []CAFedBestRow
	for round := 1; round <= last; round++ {
		found := rounds[round]
		if len(found) < compared {
			continue
		}
		best, second := found[0], found[1]
		if second.mean.Mean > best.mean.Mean {
			best, second = second, best
		}
		for _, x := range found[2:] {
			switch {
			case x.mean.Mean > best.mean.Mean:
				best, second = x, best
			case x.mean.Mean > second.mean.Mean:
				second = x
			}
		}
		rows = append(rows, CAFedBestRow{round, best.mean.N, best.run.Series, best.run.X, best.mean.Mean, second.run.Series, best.mean.Mean - second.mean.Mean})
	}
	return rows, nil
}

// CAFedBestFigure draws κ̄² on a logarithmic axis against the length of training.
func CAFedBestFigure(title string, rows []CAFedBestRow) plot.Figure {
	s := plot.Series{Step: true}
	for _, r := range rows {
		s.X, s.Y = append(s.X, float64(r.Round)), append(s.Y, r.Kappa)
	}
	chart := plot.LineChart{XLabel: "T (rounds)", YLabel: "best κ̄²", LogY: true, YMin: files.Some(0.005), YMax: files.Some(200), Series: []plot.Series{s.LastStepDrawn()}}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{chart}}}
}
