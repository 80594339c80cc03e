package papers

import (
	"fmt"

	"rollcall/results/protocol"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Entry is one number that a table has of every cell.
type Entry struct {
	Metric metrics.Metric

	// Fill puts the number into the row of a cell, of this metric, with finished runs, of which there is one at least.
	// reference is the cell of the table's reference method in the same column, without runs where there is none.
	Fill func(row *results.SummaryRow, runs, reference Runs) error
}

// accuracies are the test and the train accuracy: the mean over the last 50 rounds of each run, and mean ± standard
// deviation over the seeds.
func accuracies() []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.OverSeeds(runs.Curves, results.ProtocolRounds, m)
	}, metrics.TestAcc, metrics.TrainAcc)
}

// aboutAccuracies says what [accuracies] are.
func aboutAccuracies(rounds int) string {
	return fmt.Sprintf("mean ± sample standard deviation over the seeds of the mean over the last %d rounds",
		min(results.ProtocolRounds, rounds))
}

// overTime are the largest test accuracy of a run, its mean over the rounds and its standard deviation over the second
// half of them, each averaged over the seeds (INFOCOM, Table I).
func overTime() []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.OverTime(runs.Curves, m)
	}, metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd)
}

// aboutOverTime says what [overTime] is.
func aboutOverTime(int) string {
	return "largest test accuracy of a run, mean over its rounds, and standard deviation over their second " +
		"half; each " +
		"mean ± sample standard deviation over the seeds"
}

// clientAccuracies are mean, spread, worst and best tenth of the accuracies of the clients (FedAR, Table 3).
func clientAccuracies() []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.ClientsOverSeeds(runs.Clients, m)
	}, metrics.OfClients...)
}

// aboutClientAccuracies says what [clientAccuracies] are.
func aboutClientAccuracies(int) string {
	return "of the accuracies of the clients after the last round, each on the test samples of its own two classes; " +
		"mean ± sample standard deviation over the seeds"
}

// firstRounds are the first rounds at which the mean over the seeds reaches quarters of a target test accuracy. Rounds
// are looked at that are multiples of every, or of the first multiple of it at which all curves were evaluated all
// along. targets are by data set.
func firstRounds(every int, targets map[string]float64) []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		all, ok := targets[row.Data]
		if !ok {
			return fmt.Errorf("table %s: no target accuracy for %s", row.Table, row.Data)
		}
		every, err := evaluatedEvery(every, runs.Curves)
		if err != nil {
			return err
		}
		quarters := 4 * row.Metric.Info().Target
		row.N = len(runs.Curves)
		row.Mean, err = protocol.FirstRound(runs.Curves, every, all*quarters/4, metrics.TestAcc)
		return err
	}, metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75, metrics.RoundsTo100)
}

// aboutFirstRounds says what the [firstRounds] of FedAWE's Table 8 are.
func aboutFirstRounds(int) string {
	return fmt.Sprintf("first round, of every %d, at which the mean over the seeds reaches a quarter, half, three "+
		"quarters and all of the target", fedawe8Every)
}

// evaluatedEvery returns the first multiple of step at which all curves were evaluated all along.
func evaluatedEvery(step int, curves [][]results.CurveRow) (every int, err error) {
	for _, r := range curves[0] { // it is evaluated itself
		if every = r.Round; every > 0 && every%step == 0 {
			if _, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc); err == nil {
				return every, nil
			}
		}
	}
	every = (curves[0][len(curves[0])-1].Round/step + 1) * step // of which there is none but the initial model's
	_, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc)
	return every, err
}

// pairedT are the p-values of a paired t-test of the test accuracies against the reference's, by rounds and by seeds
// (FedAR, Table 2). There is none where there is no reference, and for the reference itself.
func pairedT() []Entry {
	return entries(func(row *results.SummaryRow, runs, reference Runs) (err error) {
		row.N = len(runs.Curves)
		// none, or the reference failed in a seed, which its own rows say
		if len(reference.Curves) != len(runs.Curves) {
			return nil
		}
		if row.Metric == metrics.PRounds {
			row.Mean, err = protocol.RoundsTTest(reference.Curves, runs.Curves)
		} else {
			row.Mean, err = protocol.SeedsTTest(reference.Curves, runs.Curves, results.ProtocolRounds)
		}
		return err
	}, metrics.PRounds, metrics.PSeeds)
}

// aboutPairedT says what [pairedT] and [accuracies] of FedAR's Table 2 are.
func aboutPairedT(rounds int) string {
	return aboutAccuracies(rounds) + "; p_rounds: two-sided paired t-test against fedar's of the test " +
		"accuracies after " +
		"every evaluated round, of all seeds, as the paper has it, though they are not independent; p_seeds: the " +
		"same of " +
		"the means of the seeds"
}

// estimates are metrics that are estimated alike.
func estimates(measure func(runs Runs, m metrics.Metric) (stats.Estimate, error), of ...metrics.Metric) []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		e, err := measure(runs, row.Metric)
		if err == nil {
			row.Estimate(e)
		}
		return err
	}, of...)
}

// entries are metrics that are filled in alike.
func entries(fill func(row *results.SummaryRow, runs, reference Runs) error, of ...metrics.Metric) []Entry {
	list := make([]Entry, len(of))
	for i, m := range of {
		list[i] = Entry{m, fill}
	}
	return list
}
