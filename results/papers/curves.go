package papers

import (
	"math"

	"rollcall/results/protocol"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/plot"
)

// drawn returns a function that draws a figure: rowsOf computes its rows from the measurements, and figureOf draws them
// under the figure's title.
func drawn[T any](
	rowsOf func(m Measured) ([]T, error), figureOf func(title string, rows []T) plot.Figure,
) func(m Measured) (Drawing, error) {
	return func(m Measured) (Drawing, error) {
		rows, err := rowsOf(m)
		if err != nil {
			return Drawing{}, err
		}
		return drawing(rows, figureOf(m.Figure.Title, rows)), nil
	}
}

// lossAndAccuracy is one evaluated round of a method, averaged over its seeds.
type lossAndAccuracy struct {
	Round        int            `csv:"round"`
	N            int            `csv:"n"`          // seeds
	TrainLoss    float64        `csv:"train_loss"` // per sample
	TrainLossStd files.Optional `csv:"train_loss_std"`
	TestAcc      float64        `csv:"test_acc"` // fraction
	TestAccStd   files.Optional `csv:"test_acc_std"`
}

// lossesAndAccuracies returns the rounds in which every curve has both a train loss and a test accuracy.
func lossesAndAccuracies(curves [][]results.CurveRow) []lossAndAccuracy {
	loss, acc := protocol.BothMeans(curves, metrics.TrainLoss, metrics.TestAcc)
	rows := make([]lossAndAccuracy, len(loss))
	for i, l := range loss {
		rows[i] = lossAndAccuracy{l.Round, l.N, l.Mean, l.Std, acc[i].Mean, acc[i].Std}
	}
	return rows
}

// lines returns a line for each name in the rows; add appends the point of a row to its line.
func lines[T any](rows []T, name func(r T) string, add func(s *plot.Series, r T)) (all []plot.Series) {
	names, groups := results.Grouped(rows, name)
	for _, n := range names {
		s := plot.Series{Name: n}
		for _, r := range groups[n] {
			add(&s, r)
		}
		all = append(all, s)
	}
	return all
}

// charts returns one row of charts, with a chart for each key in the rows.
func charts[T any](rows []T, key func(r T) string, draw func(key string, rows []T) plot.Chart) [][]plot.Chart {
	keys, groups := results.Grouped(rows, key)
	row := make([]plot.Chart, len(keys))
	for i, k := range keys {
		row[i] = draw(k, groups[k])
	}
	return [][]plot.Chart{row}
}

// side describes the left or the right chart of [sideBySide], which adds the title, the lines and the label of the x
// axis.
type side[T any] struct {
	chart plot.LineChart
	add   func(s *plot.Series, r T) // appends the point of a row to its line
}

// sideBySide returns two charts for each place in the rows, with a line over the rounds for each name. Only the lowest
// charts get the label "round", besides those whose side has a label already.
func sideBySide[T any](rows []T, place, name func(r T) string, sides [2]side[T]) (panels [][]plot.Chart) {
	places, groups := results.Grouped(rows, place)
	for i, p := range places {
		var charts []plot.Chart
		for _, s := range sides {
			s.chart.Title, s.chart.Series = p, lines(groups[p], name, s.add)
			if i == len(places)-1 {
				s.chart.XLabel = "round"
			}
			charts = append(charts, s.chart)
		}
		panels = append(panels, charts)
	}
	return panels
}

// sweepRow is a number of a line at one value of the setting that a figure varies, averaged over the seeds (CA-Fed's
// ToN, figures 3 and 4; FedAR, figures 4 and 5).
type sweepRow struct {
	What   string         `csv:"what"` // test_acc, a fraction; pi_error, lambda_error, means over the clients
	Series string         `csv:"series"`
	Method string         `csv:"method"`
	Axis   string         `csv:"axis"`  // the setting that varies
	X      float64        `csv:"x"`     // its value
	Round  int            `csv:"round"` // after which
	N      int            `csv:"n"`     // seeds
	Mean   float64        `csv:"mean"`
	Std    files.Optional `csv:"std"`
}

// historyAxis is the only axis of a sweep that is logarithmic.
const historyAxis = "t'"

// sweepFigure returns a function that draws a panel for each number and a line for each series; labels has the label of
// the y axis for each number.
func sweepFigure(labels map[string]string) func(title string, rows []sweepRow) plot.Figure {
	return func(title string, rows []sweepRow) plot.Figure {
		axis, label, place := rows[0].Axis, rows[0].Axis, func(x float64) float64 { return x }
		if axis == historyAxis {
			label, place = "log₁₀ "+axis, math.Log10
		}
		chart := func(what string, rows []sweepRow) plot.Chart {
			scale := 1.0
			if what == string(metrics.TestAcc) {
				scale = 100
			}
			return plot.LineChart{
				XLabel: label, YLabel: labels[what],
				Series: lines(rows, func(r sweepRow) string { return r.Series },
					func(s *plot.Series, r sweepRow) { s.PointAt(place(r.X), r.Mean, r.Std, scale) }),
			}
		}
		return plot.Figure{Title: title, Panels: charts(rows, func(r sweepRow) string { return r.What }, chart)}
	}
}
