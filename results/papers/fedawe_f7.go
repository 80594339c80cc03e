package papers

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/plot"
)

const (
	// fedaweF7Every is the number of rounds between the values that the released code smooths, where β is the factor
	// from one value to the next. Curves that are evaluated less often are smoothed over as many rounds, not as many
	// values.
	fedaweF7Every = 2

	// fedaweF7Coded is the factor by which the losses in the paper's figure are too small. The released code sums the
	// means of batches of about 256 samples, and divides the sum by the number of samples.
	fedaweF7Coded = 256
)

// fedaweF7 shows the learning curves of three methods under sine availability. Its options choose whether the curves
// are smoothed, and the losses scaled, as in the released code.
var fedaweF7 = Figure{
	ID: "fedawe-f7", Title: "FedAWE, Figure 7: training curves, sine",
	Measure: Curves{}, Runs: runsIn(columnsUnder("sine"), "fedavg-active", "fedawe", "mifa"), Seeds: fedaweSeeds,
	Rounds: fedaweRounds,
	Options: []Option{
		{
			Name: "ema", Default: 0.99, Help: "exponential moving average of FedAWE's curves; 0 shows them raw",
			Check: func(value any) error {
				if beta := value.(float64); !(beta >= 0 && beta <= 1) {
					return errors.New("want 0 … 1")
				}
				return nil
			},
		},
		{
			Name: "loss-as-coded", Default: false,
			Help: fmt.Sprintf("losses divided by %d, as the released code's are", fedaweF7Coded),
		},
	},
	Draw: drawn(fedaweF7Rows, fedaweF7Figure),
	Says: []Sentence[Measured]{{
		"FedAWE is ahead of FedAvg over active clients, as in table 2 (mean of the last 50 rounds)", "J",
		ahead("fedawe", lateAccuracy, "fedavg-active"),
	}},
}

// fedaweF7Row is one evaluated round of a method in one panel, averaged over its seeds.
type fedaweF7Row struct {
	Data         string `csv:"data"`
	Availability string `csv:"availability"`
	Method       string `csv:"method"`
	lossAndAccuracy
	Beta        float64 `csv:"beta"` // of the moving average; 0: raw
	LossAsCoded bool    `csv:"loss_as_coded"`
}

// fedaweF7Rows returns the means of the curves of each method over its seeds. It smooths FedAWE's curves first, as the
// released code does, unless the option ema is 0.
func fedaweF7Rows(m Measured) (rows []fedaweF7Row, err error) {
	beta, asCoded := m.option("ema").(float64), m.option("loss-as-coded").(bool)
	scale := 1.0
	if asCoded {
		scale = 1.0 / fedaweF7Coded
	}
	for _, line := range m.Lines {
		row := fedaweF7Row{Data: line.Data, Availability: line.Availability, Method: line.Method, LossAsCoded: asCoded}
		curves := slices.Clone(line.Curves)
		for i, curve := range curves {
			if line.Method == "fedawe" && beta > 0 {
				row.Beta, curves[i] = beta, smooth(curve, beta)
			}
		}
		for _, row.lossAndAccuracy = range lossesAndAccuracies(curves) {
			row.TrainLoss *= scale
			row.TrainLossStd.Value *= scale
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// smooth returns a curve in which exponential moving averages replace train loss and test accuracy. A row without a
// value stays without one and does not change the average.
func smooth(rows []results.CurveRow, beta float64) []results.CurveRow {
	out := slices.Clone(rows)
	for _, column := range []func(r *results.CurveRow) *files.Optional{
		func(r *results.CurveRow) *files.Optional { return &r.TrainLoss },
		func(r *results.CurveRow) *files.Optional { return &r.TestAcc },
	} {
		last := -1 // the row with the latest average
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

// fedaweF7Figure draws train loss, on a logarithmic axis, and test accuracy side by side, with a row of panels for each
// data set and availability, and with bands of one standard deviation over the seeds.
func fedaweF7Figure(_ string, rows []fedaweF7Row) plot.Figure {
	lossLabel := "train loss (per sample)"
	if len(rows) > 0 && rows[0].LossAsCoded {
		lossLabel = fmt.Sprintf("train loss (per sample) / %d", fedaweF7Coded)
	}
	name := func(r fedaweF7Row) string {
		if r.Beta > 0 {
			return fmt.Sprintf("%s (moving average, β = %g)", r.Method, r.Beta)
		}
		return r.Method
	}
	return plot.Figure{
		Title: "Training curves", PanelHeight: 270,
		Panels: sideBySide(rows, func(r fedaweF7Row) string { return r.Data + ", " + r.Availability }, name,
			[2]side[fedaweF7Row]{
				{plot.LineChart{YLabel: lossLabel, LogY: true}, func(s *plot.Series, r fedaweF7Row) {
					s.Point(r.Round, r.TrainLoss, r.TrainLossStd, 1)
				}},
				{plot.LineChart{YLabel: "test accuracy (%)"}, func(s *plot.Series, r fedaweF7Row) {
					s.Point(r.Round, r.TestAcc, r.TestAccStd, 100)
				}},
			}),
	}
}
