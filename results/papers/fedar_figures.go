package papers

import (
	"fmt"
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// FedARCurveRow is one evaluated round of a method, over its seeds (FedAR, figure 2).
type FedARCurveRow struct {
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

// FedARRun is one method in one panel of a figure of FedAR.
type FedARRun struct {
	Data, Set, Method string
	X                 float64
	Curves            [][]results.CurveRow  // of each seed
	Clients           [][]results.ClientRow // likewise
}

// FedARCurveRows returns the rounds in which every seed was evaluated, run by run.
func FedARCurveRows(runs []FedARRun) ([]FedARCurveRow, error) {
	var rows []FedARCurveRow
	for _, run := range runs {
		at := map[int]*FedARCurveRow{}
		var rounds []int
		for _, m := range []results.Metric{results.TrainLoss, results.TestAcc} {
			means, err := results.MeanCurve(run.Curves, m)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", run.Method, run.Data, err)
			}
			for _, x := range means {
				if at[x.Round] == nil {
					at[x.Round] = &FedARCurveRow{Data: run.Data, Set: run.Set, Method: run.Method, Round: x.Round, N: x.N}
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

// FedARCurveFigure draws a row for each data set and setting: the training loss on the left, the test accuracy on the right.
func FedARCurveFigure(title string, rows []FedARCurveRow) plot.Figure {
	figure := plot.Figure{Title: title, PanelHeight: 230}
	panel := func(r FedARCurveRow) [2]string { return [2]string{r.Data, r.Set} }
	for _, p := range inOrder(rows, panel) {
		name := p[0]
		if p[1] != "" {
			name += ", " + p[1]
		}
		loss := plot.LineChart{Title: name, XLabel: "round", YLabel: "training loss"}
		accuracy := plot.LineChart{Title: name, XLabel: "round", YLabel: "test accuracy (%)"}
		for _, method := range inOrder(rows, func(r FedARCurveRow) string { return r.Method }) {
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

// FedARFinalRows returns training loss and test accuracy of each run, the means over its last n rounds, over the seeds (figures 4
// and 5).
func FedARFinalRows(runs []FedARRun, axis string, n int) ([]CAFedSweepRow, error) {
	var rows []CAFedSweepRow
	for _, m := range []results.Metric{results.TrainLoss, results.TestAcc} {
		for _, run := range runs {
			e, err := results.OverSeeds(run.Curves, n, m)
			if err != nil {
				return nil, fmt.Errorf("%s at %s %g: %w", run.Method, axis, run.X, err)
			}
			last := run.Curves[0][len(run.Curves[0])-1].Round
			rows = append(rows, CAFedSweepRow{string(m), run.Method, run.Method, axis, run.X, last, e.N, e.Mean, e.Std})
		}
	}
	return rows, nil
}

// fedarBins are the bars of the accuracies of clients.
const fedarBins = 25

// FedARDistributionRow is one bin of a method's accuracies over the clients (figure 3).
type FedARDistributionRow struct {
	Method  string  `csv:"method"`
	Low     float64 `csv:"low"`     // of the accuracy, inclusive
	High    float64 `csv:"high"`    // exclusive, but for the last
	Clients float64 `csv:"clients"` // in the bin, mean over the seeds
	Density float64 `csv:"density"` // of all seeds' clients at its middle, see [FedARDistributionRows]
	N       int     `csv:"n"`       // seeds
}

// FedARDistributionRows counts the clients of each run, and estimates the probability density of their accuracy with normal
// kernels. The paper does not say how it did: the width is Silverman's, 1.06 σ n^(−1/5), with n the clients of one seed [inferred].
func FedARDistributionRows(runs []FedARRun) ([]FedARDistributionRow, error) {
	var rows []FedARDistributionRow
	for _, run := range runs {
		var x []float64
		for _, clients := range run.Clients {
			for _, c := range clients {
				x = append(x, c.Accuracy)
			}
		}
		if len(x) == 0 {
			return nil, fmt.Errorf("results: %s on %s: no clients, want one at least", run.Method, run.Data)
		}
		bins, err := plot.Bins(x, 0, 1, fedarBins)
		if err != nil {
			return nil, err
		}
		width := 1.06 * stats.SampleStd(x).Value * math.Pow(float64(len(run.Clients[0])), -0.2)
		for _, b := range bins {
			rows = append(rows, FedARDistributionRow{run.Method, b.Low, b.High, float64(b.Count) / float64(len(run.Clients)), density(x, (b.Low+b.High)/2, width), len(run.Clients)})
		}
	}
	return rows, nil
}

// density is the kernel estimate at a point; 0 where all values are one.
func density(x []float64, at, width float64) float64 {
	if width == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		z := (v - at) / width
		sum += math.Exp(-z * z / 2)
	}
	return sum / (float64(len(x)) * width * math.Sqrt(2*math.Pi))
}

// FedARDistributionFigure draws the counts as steps and the densities as lines.
func FedARDistributionFigure(title string, rows []FedARDistributionRow) plot.Figure {
	counts := plot.LineChart{XLabel: "accuracy of a client (%)", YLabel: "clients", YMin: files.Some(0)}
	densities := plot.LineChart{XLabel: "accuracy of a client (%)", YLabel: "probability density", YMin: files.Some(0)}
	for _, method := range inOrder(rows, func(r FedARDistributionRow) string { return r.Method }) {
		c, d := plot.Series{Name: method, Step: true}, plot.Series{Name: method}
		for _, r := range rows {
			if r.Method == method {
				c.X, c.Y = append(c.X, 100*r.Low), append(c.Y, r.Clients)
				d.X, d.Y = append(d.X, 50*(r.Low+r.High)), append(d.Y, r.Density)
			}
		}
		counts.Series, densities.Series = append(counts.Series, c), append(densities.Series, d)
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{counts, densities}}}
}
