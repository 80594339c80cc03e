package papers

import (
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

// sweepRow is a number of a run at one value of what a figure varies, over the seeds (CA-Fed's ToN, figures 3 and 4;
// FedAR, figures 4 and 5).
type sweepRow struct {
	What   string         `csv:"what"` // test_acc, a fraction; pi_error, lambda_error, means over the clients
	Series string         `csv:"series"`
	Method string         `csv:"method"`
	Axis   string         `csv:"axis"`  // what is varied
	X      float64        `csv:"x"`     // its value
	Round  int            `csv:"round"` // after which
	N      int            `csv:"n"`     // seeds
	Mean   float64        `csv:"mean"`
	Std    files.Optional `csv:"std"`
}

// sweepFigure draws a line for each series, one panel for each number. labels says what the numbers are.
func sweepFigure(title string, rows []sweepRow, labels map[string]string) plot.Figure {
	var panels []plot.Chart
	for _, what := range inOrder(rows, func(r sweepRow) string { return r.What }) {
		chart := plot.LineChart{YLabel: labels[what]}
		scale := 1.0
		if what == string(results.TestAcc) {
			scale = 100
		}
		for _, name := range inOrder(rows, func(r sweepRow) string { return r.Series }) {
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

// inOrder returns the different keys of rows, in order of appearance.
func inOrder[T any, K comparable](rows []T, key func(T) K) (keys []K) {
	for _, r := range rows {
		if k := key(r); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}
