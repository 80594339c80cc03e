package papers

import (
	"fmt"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
)

// FedAR's figures 4 and 5 are sweeps over one setting each.
var (
	fedarF4 = Figure{
		ID: "fedar-f4", Title: "FedAR, Figure 4: smallest availability p_min, CIFAR-10", Axis: "p_min",
		Measure: Curves{}, Runs: overSetting("p-min", 0.1, 0.2, 0.3, 0.4, 0.5), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds, Draw: drawFinalLossAndAccuracy,
		Says: []Sentence[Measured]{
			{"FedAR is ahead of all baselines at every p_min", fedarParameters, ahead("fedar", lateAccuracy)},
			{
				"FedAR gains as p_min grows (taken as: from the smallest to the largest)", fedarParameters,
				changes{series: "fedar", number: lateAccuracy, rises: true}.ask,
			},
		},
	}
	fedarF5 = Figure{
		ID: "fedar-f5", Title: "FedAR, Figure 5: number of clients N, CIFAR-10, p_min = 0.1", Axis: "N",
		Measure: Curves{}, Runs: overSetting("clients", 80, 90, 100, 110, 120), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds, Draw: drawFinalLossAndAccuracy,
		Says: []Sentence[Measured]{
			{
				"the test accuracy of all methods falls as N grows (taken as: from the smallest to the largest)",
				fedarParameters, changes{number: lateAccuracy}.ask,
			},
			{"FedAR is ahead of all baselines at every N", fedarParameters, ahead("fedar", lateAccuracy)},
		},
	}
)

// fedarParameters is where FedAR speaks of figures 4 and 5.
const fedarParameters = "6.2, hyperparameters"

// overSetting returns the runs of figures 4 and 5, with a column for each value of a flag. The paper leaves FedAvg(S)
// out of both figures.
func overSetting(flag string, values ...float64) (list []Training) {
	for _, x := range values {
		column := fedar("cifar10", results.Params(fmt.Sprintf("%s=%g", flag, x)))
		list = append(list, at(x, runs(column, "fedar", "mifa", "fedvarp", "fedavg-is", "scaffold"))...)
	}
	return list
}

// drawFinalLossAndAccuracy draws the means of training loss and test accuracy over the last rounds, against the X.
var drawFinalLossAndAccuracy = drawn(fedarFinalRows, sweepFigure(map[string]string{
	string(metrics.TrainLoss): "training loss", string(metrics.TestAcc): "test accuracy (%)",
}))

// fedarFinalRows returns training loss and test accuracy of each line: means over the last rounds of a run, averaged
// over the seeds (FedAR, figures 4 and 5).
func fedarFinalRows(m Measured) (rows []sweepRow, err error) {
	for _, metric := range []metrics.Metric{metrics.TrainLoss, metrics.TestAcc} {
		for _, line := range m.Lines {
			e, err := protocol.OverSeeds(line.Curves, results.ProtocolRounds, metric)
			if err != nil {
				return nil, fmt.Errorf("%s at %s %g: %w", line.Method, m.Figure.Axis, line.X, err)
			}
			last := line.Curves[0][len(line.Curves[0])-1].Round
			rows = append(rows, sweepRow{
				string(metric), line.Method, line.Method, m.Figure.Axis, line.X, last, e.N, e.Mean, e.Std,
			})
		}
	}
	return rows, nil
}
