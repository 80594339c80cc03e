package papers

import (
	"fmt"

	"rollcall/results/plot"
	"rollcall/results/stats"
)

// fedarF2 shows the learning curves of all methods on both data sets, for two p_min.
var fedarF2 = Figure{
	ID: "fedar-f2", Title: "FedAR, Figure 2: training loss and test accuracy",
	Measure: Curves{}, Runs: runsIn(fedarColumns("0.1", "0.5"), fedarMethods...), Preset: "paper", Seeds: fedarSeeds,
	Rounds: fedarRounds, Draw: drawn(fedarCurveRows, fedarCurveFigure),
	Says: []Sentence[Measured]{
		{
			"FedAR is ahead of all baselines (taken as: test accuracy, mean of the last 50 rounds)", "6.2",
			ahead("fedar", lateAccuracy),
		},
		{"44 % on CIFAR-10 at p_min = 0.1", "6.2", reaches("cifar10, p-min=0.1", 44)},
		{"46 % on CIFAR-10 at p_min = 0.5", "6.2", reaches("cifar10, p-min=0.5", 46)},
		{"over 70 % on SVHN at p_min = 0.1", "6.2", reaches("svhn, p-min=0.1", 70)},
	},
}

// reaches returns a question: is FedAR's mean test accuracy over the last 50 rounds, in percent, not below a level by
// more than two standard errors, in one panel?
func reaches(place string, percent float64) func(m Measured) (Answer, string) {
	return func(m Measured) (Answer, string) {
		for i := range m.Lines {
			l := &m.Lines[i]
			values := l.points(lateAccuracy)
			if l.Method != "fedar" || l.place() != place || len(values) == 0 {
				continue
			}
			ours := stats.EstimateOf(values)
			words := fmt.Sprintf("%.1f %%", ours.Mean)
			ours.Mean -= percent
			switch answer := isAhead(ours); {
			case len(values) < 2 && ours.Mean < 0:
				return Untold, words
			case answer == Fails:
				return Fails, words
			}
			return Holds, words
		}
		return Untold, ""
	}
}

// fedarCurveRow is one evaluated round of a method in one panel (FedAR, figure 2).
type fedarCurveRow struct {
	Data   string `csv:"data"`
	Set    string `csv:"set"` // the setting that distinguishes the panels of a data set: p-min=0.5
	Method string `csv:"method"`
	lossAndAccuracy
}

// fedarCurveRows returns the rounds in which every seed was evaluated, line by line.
func fedarCurveRows(m Measured) (rows []fedarCurveRow, err error) {
	for _, line := range m.Lines {
		for _, x := range lossesAndAccuracies(line.Curves) {
			rows = append(rows, fedarCurveRow{line.Data, line.Set.Words(" "), line.Method, x})
		}
	}
	return rows, nil
}

// fedarCurveFigure draws a row of charts for each data set and setting, with the training loss on the left and the test
// accuracy on the right.
func fedarCurveFigure(title string, rows []fedarCurveRow) plot.Figure {
	place := func(r fedarCurveRow) string {
		if r.Set == "" {
			return r.Data
		}
		return r.Data + ", " + r.Set
	}
	return plot.Figure{
		Title: title, PanelHeight: 230,
		Panels: sideBySide(rows, place, func(r fedarCurveRow) string { return r.Method }, [2]side[fedarCurveRow]{
			{plot.LineChart{XLabel: "round", YLabel: "training loss"}, func(s *plot.Series, r fedarCurveRow) {
				s.Point(r.Round, r.TrainLoss, r.TrainLossStd, 1)
			}},
			{plot.LineChart{XLabel: "round", YLabel: "test accuracy (%)"}, func(s *plot.Series, r fedarCurveRow) {
				s.Point(r.Round, r.TestAcc, r.TestAccStd, 100)
			}},
		}),
	}
}
