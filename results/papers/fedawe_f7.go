package papers

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

const (
	// fedaweF7Beta is the β with which FedAWE's Figure 7 smooths FedAWE's own curves.
	fedaweF7Beta = 0.99

	// fedaweF7Every is how many rounds apart the values are that the figure smooths: those of the released code.
	fedaweF7Every = 2

	// fedaweF7Coded is how many times too small the losses of the figure are: the released code divides a sum of means
	// over batches by the number of samples, about 256 to a batch.
	fedaweF7Coded = 256
)

var fedaweF7 = Figure{
	ID: "fedawe-f7", Title: "FedAWE, Figure 7: training curves, sine",
	Measure: Curves{}, Runs: fedaweF7Runs(), Seeds: fedaweSeeds, Rounds: fedaweRounds,
	Options: []Option{
		{
			Name: "ema", Default: fedaweF7Beta, Help: "exponential moving average of FedAWE's curves; 0 shows them raw",
			Check: func(value any) error {
				if beta := value.(float64); !(beta >= 0 && beta <= 1) {
					return errors.New("want 0 … 1")
				}
				return nil
			},
		},
		{Name: "loss-as-coded", Default: false, Help: fmt.Sprintf("losses divided by %d, as the released code's are",
			fedaweF7Coded)},
	},
	Draw: func(m Measured) (Drawing, error) {
		var curves [][]results.CurveRow
		for _, line := range m.Lines {
			curves = append(curves, line.Curves...)
		}
		o := fedaweF7Options{
			Beta: m.option("ema").(float64), Smoothed: []string{"fedawe"},
			LossAsCoded: m.option("loss-as-coded").(bool),
		}
		rows, err := fedaweF7Rows(curves, o)
		return drawing(rows, fedaweF7Figure(rows)), err
	},
}

// fedaweF7Runs are three methods on FedAWE's three data sets.
func fedaweF7Runs() (runs []Run) {
	for _, column := range sineColumns() {
		for _, method := range []string{"fedavg-active", "fedawe", "mifa"} {
			runs = append(runs, Run{Method: method, Column: column})
		}
	}
	return runs
}

// fedaweF7Options say how the curves are shown. The zero value shows them raw, losses true.
type fedaweF7Options struct {
	// Beta smooths by an exponential moving average, 0 (not at all) to 1. It is the factor from one value to another
	// [fedaweF7Every] rounds later: curves evaluated less often are smoothed over as many rounds, not over as many values.
	Beta float64
	// Smoothed are the methods that Beta is for; the paper's is fedawe alone.
	Smoothed []string
	// LossAsCoded divides the losses by [fedaweF7Coded].
	LossAsCoded bool
}

// fedaweF7Row is one evaluated round of a method, over its seeds.
type fedaweF7Row struct {
	Data         string         `csv:"data"`
	Availability string         `csv:"availability"`
	Method       string         `csv:"method"`
	Round        int            `csv:"round"`
	N            int            `csv:"n"`          // seeds
	TrainLoss    float64        `csv:"train_loss"` // mean over the seeds
	TrainLossStd files.Optional `csv:"train_loss_std"`
	TestAcc      float64        `csv:"test_acc"` // fraction
	TestAccStd   files.Optional `csv:"test_acc_std"`
	Beta         float64        `csv:"beta"` // of the moving average; 0: raw
	LossAsCoded  bool           `csv:"loss_as_coded"`
}

// fedaweF7Rows returns mean and standard deviation over seeds of the curves of each method, each curve smoothed first
// if it is to be. A curve is one run, its rows ascending in rounds; those of the same data, availability and method are
// seeds of the same cell, and only rounds all of them have come out. Cells come in the order of the curves.
func fedaweF7Rows(curves [][]results.CurveRow, o fedaweF7Options) ([]fedaweF7Row, error) {
	if !(o.Beta >= 0 && o.Beta <= 1) {
		return nil, fmt.Errorf("results: fedawe-f7: beta %g, want 0 … 1", o.Beta)
	}
	type cell struct{ data, availability, method string }
	runs := map[cell][][]results.CurveRow{}
	var cells []cell
	for i, rows := range curves {
		if len(rows) == 0 {
			return nil, fmt.Errorf("results: fedawe-f7: curve %d of %d: no rows, want one at least", i+1, len(curves))
		}
		c := cell{rows[0].Data, rows[0].Availability, rows[0].Method}
		if _, known := runs[c]; !known {
			cells = append(cells, c)
		}
		runs[c] = append(runs[c], rows)
	}
	var out []fedaweF7Row
	for _, c := range cells {
		row := fedaweF7Row{Data: c.data, Availability: c.availability, Method: c.method, LossAsCoded: o.LossAsCoded}
		seeds := runs[c]
		if slices.Contains(o.Smoothed, c.method) && o.Beta > 0 {
			row.Beta = o.Beta
			seeds = make([][]results.CurveRow, len(runs[c]))
			for i, rows := range runs[c] {
				seeds[i] = smooth(rows, o.Beta)
			}
		}
		loss, acc, err := results.BothMeans(seeds, results.TrainLoss, results.TestAcc)
		if err != nil {
			return nil, err
		}
		scale := 1.0
		if o.LossAsCoded {
			scale = 1.0 / fedaweF7Coded
		}
		for i := range loss {
			row.Round, row.N = loss[i].Round, loss[i].N
			row.TrainLoss, row.TrainLossStd = scale*loss[i].Mean, loss[i].Std
			row.TrainLossStd.Value *= scale
			row.TestAcc, row.TestAccStd = acc[i].Mean, acc[i].Std
			out = append(out, row)
		}
	}
	return out, nil
}

// smooth returns a curve with the moving averages in place of its train loss and test accuracy. Rows without a value
// keep none and pass the average on.
func smooth(rows []results.CurveRow, beta float64) []results.CurveRow {
	out := slices.Clone(rows)
	for _, column := range []func(r *results.CurveRow) *files.Optional{
		func(r *results.CurveRow) *files.Optional { return &r.TrainLoss },
		func(r *results.CurveRow) *files.Optional { return &r.TestAcc },
	} {
		last := -1 // row of the latest average
		for i := range out {
			v := column(&out[i])
			if !v.Valid {
				continue
			}
			if last >= 0 {
				rounds := float64(out[i].Round - out[last].Round)
				keep := math.Pow(beta, rounds/fedaweF7Every)
				v.Value = keep*column(&out[last]).Value + (1-keep)*v.Value
			}
			last = i
		}
	}
	return out
}

// fedaweF7Figure draws train loss on a logarithmic axis and test accuracy, a row of panels for each data set and
// availability, with a band of one standard deviation over the seeds where there are several.
func fedaweF7Figure(rows []fedaweF7Row) plot.Figure {
	f := plot.Figure{Title: "Training curves", PanelHeight: 270}
	lossLabel := "train loss (per sample)"
	type place struct{ data, availability string }
	var places []place
	var methods []string
	smoothed := map[string]float64{}
	for _, r := range rows {
		if p := (place{r.Data, r.Availability}); !slices.Contains(places, p) {
			places = append(places, p)
		}
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
		if r.Beta > 0 {
			smoothed[r.Method] = r.Beta
		}
		if r.LossAsCoded {
			lossLabel = fmt.Sprintf("train loss (per sample) / %d", fedaweF7Coded)
		}
	}
	for i, at := range places {
		title := at.data + ", " + at.availability
		loss := plot.LineChart{Title: title, YLabel: lossLabel, LogY: true}
		acc := plot.LineChart{Title: title, YLabel: "test accuracy (%)"}
		if i == len(places)-1 {
			loss.XLabel, acc.XLabel = "round", "round"
		}
		for _, method := range methods {
			name := method
			if beta := smoothed[method]; beta > 0 {
				name += fmt.Sprintf(" (moving average, β = %g)", beta)
			}
			a, b := plot.Series{Name: name}, plot.Series{Name: name}
			for _, r := range rows {
				if r.Method == method && r.Data == at.data && r.Availability == at.availability {
					a.Point(r.Round, r.TrainLoss, r.TrainLossStd, 1)
					b.Point(r.Round, r.TestAcc, r.TestAccStd, 100)
				}
			}
			loss.Series, acc.Series = append(loss.Series, a), append(acc.Series, b)
		}
		f.Panels = append(f.Panels, []plot.Chart{loss, acc})
	}
	return f
}
