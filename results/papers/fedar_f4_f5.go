package papers

import (
	"fmt"
	"strconv"

	"rollcall/results"
)

var (
	fedarF4 = Figure{
		ID: "fedar-f4", Title: "FedAR, Figure 4: smallest availability p_min, CIFAR-10", Axis: "p_min",
		Measure: Curves{}, Runs: overSetting("p-min", "0.1", "0.2", "0.3", "0.4", "0.5"), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds,
		Draw:   drawFinalLossAndAccuracy,
	}
	fedarF5 = Figure{
		ID: "fedar-f5", Title: "FedAR, Figure 5: number of clients N, CIFAR-10, p_min = 0.1", Axis: "N",
		Measure: Curves{}, Runs: overSetting("clients", "80", "90", "100", "110", "120"), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds,
		Draw:   drawFinalLossAndAccuracy,
	}
)

// overSetting are the runs of figures 4 and 5, which leave FedAvg(S) out.
func overSetting(flag string, values ...string) (list []Run) {
	for _, v := range values {
		x, _ := strconv.ParseFloat(v, 64) // one of the literals above
		for _, r := range runs(fedar("cifar10", results.Params(flag+"="+v)), "fedar", "mifa", "fedvarp", "fedavg-is",
			"scaffold") {
			r.X = x
			list = append(list, r)
		}
	}
	return list
}

// drawFinalLossAndAccuracy draws the training loss and the test accuracy in the last rounds.
func drawFinalLossAndAccuracy(m Measured) (Drawing, error) {
	rows, err := fedarFinalRows(m.Lines, m.Figure.Axis, results.ProtocolRounds)
	labels := map[string]string{string(results.TrainLoss): "training loss", string(results.TestAcc): "test accuracy (%)"}
	return drawing(rows, sweepFigure(m.Figure.Title, rows, labels)), err
}

// fedarFinalRows returns training loss and test accuracy of each line, the means over its last n rounds, over the seeds
// (figures 4 and 5).
func fedarFinalRows(lines []Line, axis string, n int) ([]sweepRow, error) {
	var rows []sweepRow
	for _, m := range []results.Metric{results.TrainLoss, results.TestAcc} {
		for _, line := range lines {
			e, err := results.OverSeeds(line.Curves, n, m)
			if err != nil {
				return nil, fmt.Errorf("%s at %s %g: %w", line.Method, axis, line.X, err)
			}
			last := line.Curves[0][len(line.Curves[0])-1].Round
			rows = append(rows, sweepRow{string(m), line.Method, line.Method, axis, line.X, last, e.N, e.Mean, e.Std})
		}
	}
	return rows, nil
}
