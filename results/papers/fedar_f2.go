package papers

import (
	"fmt"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

var fedarF2 = Figure{
	ID: "fedar-f2", Title: "FedAR, Figure 2: training loss and test accuracy",
	Measure: Curves{}, Runs: overColumns(fedarColumns("0.1", "0.5")), Preset: "paper", Seeds: fedarSeeds,
	Rounds: fedarRounds,
	Draw: func(m Measured) (Drawing, error) {
		rows, err := fedarCurveRows(m.Lines)
		return drawing(rows, fedarCurveFigure(m.Figure.Title, rows)), err
	},
}

// overColumns are all methods in every column.
func overColumns(columns []Column) (list []Run) {
	for _, c := range columns {
		list = append(list, runs(c, fedarMethods...)...)
	}
	return list
}

// fedarCurveRow is one evaluated round of a method, over its seeds (FedAR, figure 2).
type fedarCurveRow struct {
	Data         string         `csv:"data"`
	Set          string         `csv:"set"` // what sets the panel apart: p-min=0.5
	Method       string         `csv:"method"`
	Round        int            `csv:"round"`
	N            int            `csv:"n"` // seeds
	TrainLoss    files.Optional `csv:"train_loss"`
	TrainLossStd files.Optional `csv:"train_loss_std"`
	TestAcc      files.Optional `csv:"test_acc"` // fraction
	TestAccStd   files.Optional `csv:"test_acc_std"`
}

// fedarCurveRows returns the rounds in which every seed was evaluated, run by line.
func fedarCurveRows(lines []Line) ([]fedarCurveRow, error) {
	var rows []fedarCurveRow
	for _, line := range lines {
		at := map[int]*fedarCurveRow{}
		var rounds []int
		for _, m := range []results.Metric{results.TrainLoss, results.TestAcc} {
			means, err := results.MeanCurve(line.Curves, m)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", line.Method, line.Data, err)
			}
			for _, x := range means {
				if at[x.Round] == nil {
					at[x.Round] = &fedarCurveRow{
						Data: line.Data, Set: line.Set.Words(" "), Method: line.Method,
						Round: x.Round, N: x.N,
					}
					rounds = append(rounds, x.Round)
				}
				if m == results.TrainLoss {
					at[x.Round].TrainLoss, at[x.Round].TrainLossStd = files.Some(x.Mean), x.Std
				} else {
					at[x.Round].TestAcc, at[x.Round].TestAccStd = files.Some(x.Mean), x.Std
				}
			}
		}
		slices.Sort(rounds)
		for _, round := range rounds {
			rows = append(rows, *at[round])
		}
	}
	return rows, nil
}

// fedarCurveFigure draws a row for each data set and setting: the training loss on the left, the test accuracy on the
// right.
func fedarCurveFigure(title string, rows []fedarCurveRow) plot.Figure {
	figure := plot.Figure{Title: title, PanelHeight: 230}
	panel := func(r fedarCurveRow) [2]string { return [2]string{r.Data, r.Set} }
	for _, p := range inOrder(rows, panel) {
		name := p[0]
		if p[1] != "" {
			name += ", " + p[1]
		}
		loss := plot.LineChart{Title: name, XLabel: "round", YLabel: "training loss"}
		accuracy := plot.LineChart{Title: name, XLabel: "round", YLabel: "test accuracy (%)"}
		for _, method := range inOrder(rows, func(r fedarCurveRow) string { return r.Method }) {
			l, a := plot.Series{Name: method}, plot.Series{Name: method}
			for _, r := range rows {
				if panel(r) == p && r.Method == method {
					l.AddPoint(r.Round, r.TrainLoss, r.TrainLossStd, 1)
					a.AddPoint(r.Round, r.TestAcc, r.TestAccStd, 100)
				}
			}
			loss.Series, accuracy.Series = append(loss.Series, l), append(accuracy.Series, a)
		}
		figure.Panels = append(figure.Panels, []plot.Chart{loss, accuracy})
	}
	return figure
}
