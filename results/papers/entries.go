package papers

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// Entry is one number that a table has for every cell.
type Entry struct {
	Metric metrics.Metric

	// Fill computes the number from the finished runs of a cell, at least one, and stores it in the row, whose metric
	// is set. reference has the runs of the table's reference method in the same column; it is empty if there are none.
	Fill func(row *results.SummaryRow, runs, reference Runs) error
}

// accuracies returns the entries of FedAWE's tables: test and train accuracy, see [lastRounds].
func accuracies() []Entry { return lastRounds(metrics.TestAcc, metrics.TrainAcc) }

// lastRounds returns an entry for each metric: the mean over the last 50 rounds of a run, and then mean ± standard
// deviation over the seeds.
func lastRounds(list ...metrics.Metric) []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.OverSeeds(runs.Curves, results.ProtocolRounds, m)
	}, list...)
}

// aboutAccuracies explains [lastRounds] to people.
func aboutAccuracies(rounds int) string {
	return fmt.Sprintf("mean ± sample standard deviation over the seeds of the mean over the last %d rounds",
		min(results.ProtocolRounds, rounds))
}

// overTime returns the entries of INFOCOM's Table I: the largest test accuracy of a run, its mean over the rounds, and
// its standard deviation over the second half of the rounds, each averaged over the seeds.
func overTime() []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.OverTime(runs.Curves, m)
	}, metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd)
}

// aboutOverTime explains [overTime] to people.
func aboutOverTime(int) string {
	return "largest test accuracy of a run, mean over its rounds, and standard deviation over their second half; " +
		"each mean ± sample standard deviation over the seeds"
}

// clientAccuracies returns the entries of FedAR's Table 3: mean, spread, worst and best tenth of the accuracies of the
// clients.
func clientAccuracies() []Entry {
	return estimates(func(runs Runs, m metrics.Metric) (stats.Estimate, error) {
		return protocol.ClientsOverSeeds(runs.Clients, m)
	}, metrics.OfClients...)
}

// aboutClientAccuracies explains [clientAccuracies] to people.
func aboutClientAccuracies(int) string {
	return "of the accuracies of the clients after the last round, each on the test samples of its own two classes; " +
		"mean ± sample standard deviation over the seeds"
}

// firstRounds returns the entries of FedAWE's Table 8: the first round in which the mean over the seeds reaches each
// quarter of a target test accuracy; targets has the target of each data set. It looks at the rounds that are multiples
// of every. If the runs were evaluated less often, it looks at the multiples of [evaluatedEvery] instead.
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

// aboutFirstRounds explains [firstRounds] of FedAWE's Table 8 to people.
func aboutFirstRounds(int) string {
	return fmt.Sprintf("first round, of every %d, at which the mean over the seeds reaches a quarter, half, "+
		"three quarters and all of the target", fedawe8Every)
}

// evaluatedEvery returns the smallest multiple of step such that all curves were evaluated at all its multiples. If
// there is none, the error says which evaluation is missing.
func evaluatedEvery(step int, curves [][]results.CurveRow) (every int, err error) {
	for _, r := range curves[0] { // the first curve must have it as a round
		if every = r.Round; every > 0 && every%step == 0 {
			if _, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc); err == nil {
				return every, nil
			}
		}
	}
	every = (curves[0][len(curves[0])-1].Round/step + 1) * step // beyond the last round: only the initial model counts
	_, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc)
	return every, err
}

// pairedT returns the entries of FedAR's Table 2: the p-values of a paired t-test between the test accuracies of the
// reference and of the runs, by rounds, by seeds, and by seeds with Holm's correction, which Correct fills in. The
// reference itself and a column without one have no p-values.
func pairedT() []Entry {
	return entries(func(row *results.SummaryRow, runs, reference Runs) (err error) {
		row.N = len(runs.Curves)
		// no reference, or a seed of the reference failed, which its own rows say
		if len(reference.Curves) != len(runs.Curves) {
			return nil
		}
		switch row.Metric {
		case metrics.PRounds:
			row.Mean, err = protocol.RoundsTTest(reference.Curves, runs.Curves)
		case metrics.PSeeds:
			row.Mean, err = protocol.SeedsTTest(reference.Curves, runs.Curves, results.ProtocolRounds)
		}
		return err
	}, metrics.PRounds, metrics.PSeeds, metrics.PHolm)
}

// Correct fills in the rows of p_holm, once all rows of a table are there: Holm's correction of p_seeds. The family is
// every p_seeds of the table's own methods that is not missing, whatever its column; a row of another method has no
// p_holm, so that it changes none of the others. A cell's row of p_holm comes behind its row of p_seeds.
func (t *Table) Correct(rows []results.SummaryRow) {
	var p []float64
	inFamily := func(r *results.SummaryRow) bool {
		return r.Metric == metrics.PSeeds && r.Mean.Valid && t.Has(r.Method)
	}
	for i := range rows {
		if inFamily(&rows[i]) {
			p = append(p, rows[i].Mean.Value)
		}
	}
	adjusted, next := stats.Holm(p), files.Optional{} // next: of the cell at hand
	for i := range rows {
		switch r := &rows[i]; {
		case inFamily(r):
			next, adjusted = files.Some(adjusted[0]), adjusted[1:]
		case r.Metric == metrics.PSeeds:
			next = files.Optional{}
		case r.Metric == metrics.PHolm:
			r.Mean = next
		}
	}
}

// aboutPairedT explains [pairedT] and [accuracies] of FedAR's Table 2 to people.
func aboutPairedT(rounds int) string {
	return aboutAccuracies(rounds) + "; p_rounds: " +
		"two-sided paired t-test against fedar's of the test accuracies after every evaluated round, of all seeds, " +
		"as the paper has it, though they are not independent; p_seeds: the same of the means of the seeds; p_holm: " +
		"p_seeds with Holm's correction for all comparisons of the table"
}

// estimates returns an entry for each metric, filled with the estimate that measure returns.
func estimates(measure func(runs Runs, m metrics.Metric) (stats.Estimate, error), list ...metrics.Metric) []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		e, err := measure(runs, row.Metric)
		if err == nil {
			row.Estimate(e)
		}
		return err
	}, list...)
}

// entries returns an entry for each metric, all with the same Fill.
func entries(fill func(row *results.SummaryRow, runs, reference Runs) error, list ...metrics.Metric) []Entry {
	all := make([]Entry, len(list))
	for i, m := range list {
		all[i] = Entry{m, fill}
	}
	return all
}
