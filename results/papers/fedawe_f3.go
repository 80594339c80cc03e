package papers

import (
	"fmt"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// fedaweF3 gives every client the same availability, p_i^t = p·(γ sin(0.1πt) + 1 − γ).
var fedaweF3 = Figure{
	ID: "fedawe-f3", Title: "FedAWE, Figure 3: FedAvg under non-stationary availability, SVHN",
	Measure: Curves{}, Runs: fedaweF3Runs(), Seeds: fedaweSeeds, Rounds: 1000,
	Draw: drawn(fedaweF3Rows, fedaweF3Figure),
	Says: []Sentence[Measured]{
		{"accuracy is lower at γ = 0.5 than at 0.1, for every p", fedaweExample2, changesBetween("gamma", 0.1, 0.5)},
		{"accuracy is lower at p = 0.1 than at 1, for every γ", fedaweExample2, changesBetween("p", 1, 0.1)},
	},
}

// fedaweExample2 is where FedAWE speaks of figure 3. The observations are in its caption, which our text of the paper
// does not have.
const fedaweExample2 = "example 2 [inferred]"

// changesBetween returns a question: is the test accuracy, as a mean over the last 50 rounds, higher at one value of a
// setting than at another, wherever the other setting is the same?
func changesBetween(setting string, higher, lower float64) func(m Measured) (Answer, string) {
	return func(m Measured) (Answer, string) {
		var parts []Answer
		var words []string
		for i := range m.Lines {
			high := &m.Lines[i]
			if numberOf(*high, setting) != higher {
				continue
			}
			for j := range m.Lines {
				low := &m.Lines[j]
				if numberOf(*low, setting) != lower || low.Set.Without(setting) != high.Set.Without(setting) {
					continue
				}
				d := high.minus(low, lateAccuracy)
				parts = append(parts, isAhead(d))
				if d.N > 0 {
					words = append(words, fmt.Sprintf("%s: %s points", high.Set.Without(setting), pointsOf(d)))
				}
			}
		}
		return allOf(parts), strings.Join(words, "; ")
	}
}

// fedaweF3Runs returns the runs of FedAvg over the active clients for every p and γ.
func fedaweF3Runs() (list []Training) {
	for _, p := range []string{"0.1", "0.3", "0.5", "1"} {
		for _, gamma := range []string{"0.1", "0.2", "0.3", "0.5"} {
			column := Column{Data: "svhn", Availability: "sine", Set: results.NewParams("p="+p, "gamma="+gamma)}
			list = append(list, runs(column, "fedavg-active")...)
		}
	}
	return list
}

// fedaweF3Row is one evaluated round at one p and γ, averaged over the seeds.
type fedaweF3Row struct {
	P           float64        `csv:"p"`
	Gamma       float64        `csv:"gamma"`
	Round       int            `csv:"round"`
	N           int            `csv:"n"`         // seeds
	TrainAcc    float64        `csv:"train_acc"` // fraction, mean over the seeds
	TrainAccStd files.Optional `csv:"train_acc_std"`
	TestAcc     float64        `csv:"test_acc"`
	TestAccStd  files.Optional `csv:"test_acc_std"`
}

// fedaweF3Rows returns the rounds in which every seed has both accuracies, line by line.
func fedaweF3Rows(m Measured) (rows []fedaweF3Row, err error) {
	for _, line := range m.Lines {
		p, gamma := numberOf(line, "p"), numberOf(line, "gamma")
		train, test := protocol.BothMeans(line.Curves, metrics.TrainAcc, metrics.TestAcc)
		for i := range train {
			rows = append(rows, fedaweF3Row{
				P: p, Gamma: gamma, Round: train[i].Round, N: train[i].N,
				TrainAcc: train[i].Mean, TrainAccStd: train[i].Std, TestAcc: test[i].Mean, TestAccStd: test[i].Std,
			})
		}
	}
	return rows, nil
}

// numberOf returns the value of a setting that distinguishes the line; 0 if the line does not have it.
func numberOf(line Line, name string) float64 {
	v, _ := strconv.ParseFloat(line.Set.Get(name), 64) // it is a number, or the run would have failed
	return v
}

// fedaweF3Figure draws train and test accuracy side by side, with a row of panels for each p and a line for each γ, and
// with bands of one standard deviation over the seeds.
func fedaweF3Figure(_ string, rows []fedaweF3Row) plot.Figure {
	all := plot.NewSpan() // all panels have the same y axis, as in the paper
	for _, r := range rows {
		for _, acc := range []stats.Estimate{
			{Mean: r.TrainAcc, Std: r.TrainAccStd},
			{Mean: r.TestAcc, Std: r.TestAccStd},
		} {
			all.Add(100 * (acc.Mean - acc.Std.Value))
			all.Add(100 * (acc.Mean + acc.Std.Value))
		}
	}
	low, high := all.Axis(0.04, false)
	chart := func(label string) plot.LineChart {
		return plot.LineChart{YLabel: label, YMin: files.Some(low), YMax: files.Some(high)}
	}
	return plot.Figure{
		Title: "FedAvg over active clients, SVHN, p(t) = p (γ sin(0.1πt) + 1 − γ)", PanelHeight: 210,
		Panels: sideBySide(rows, func(r fedaweF3Row) string { return fmt.Sprintf("p = %g", r.P) },
			func(r fedaweF3Row) string { return fmt.Sprintf("γ = %g", r.Gamma) }, [2]side[fedaweF3Row]{
				{chart("train accuracy (%)"), func(s *plot.Series, r fedaweF3Row) {
					s.Point(r.Round, r.TrainAcc, r.TrainAccStd, 100)
				}},
				{chart("test accuracy (%)"), func(s *plot.Series, r fedaweF3Row) {
					s.Point(r.Round, r.TestAcc, r.TestAccStd, 100)
				}},
			}),
	}
}
