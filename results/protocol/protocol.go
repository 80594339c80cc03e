// Package protocol computes the numbers of the papers' tables and figures from the files of runs, as each paper's
// protocol prescribes.
package protocol

import (
	"fmt"
	"math"
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// BothMeans returns the mean curves of two metrics, restricted to the rounds that both curves have.
func BothMeans(curves [][]results.CurveRow, a, b metrics.Metric) (as, bs []RoundMean) {
	others := MeanCurve(curves, b)
	for _, mean := range MeanCurve(curves, a) {
		if i := slices.IndexFunc(others, func(o RoundMean) bool { return o.Round == mean.Round }); i >= 0 {
			as, bs = append(as, mean), append(bs, others[i])
		}
	}
	return as, bs
}

// RoundMean is the mean of a metric over runs, in one round.
type RoundMean struct {
	Round int
	stats.Estimate
}

// MeanCurve returns mean and standard deviation of a metric over the runs of one cell, round by round. It leaves out
// every round in which some run does not have the metric.
func MeanCurve(curves [][]results.CurveRow, m metrics.Metric) (means []RoundMean) {
	values := map[int][]float64{}
	for _, rows := range curves {
		for _, r := range rows {
			if v := r.Metric(m); v.Valid {
				values[r.Round] = append(values[r.Round], v.Value)
			}
		}
	}
	for round, x := range values {
		if len(x) == len(curves) {
			means = append(means, RoundMean{round, stats.EstimateOf(x)})
		}
	}
	slices.SortFunc(means, func(a, b RoundMean) int { return a.Round - b.Round })
	return means
}

// LastRounds returns the mean of a metric over the evaluated rounds after round T−n of one run, where T is its last
// round. With n = [results.ProtocolRounds] this is FedAWE's protocol. The initial model and rows without the metric do
// not count. The mean is missing if no row counts, and NaN if a round diverged.
func LastRounds(rows []results.CurveRow, n int, m metrics.Metric) files.Optional {
	last := lastRound(rows)
	var x []float64
	for _, r := range rows {
		if v := r.Metric(m); v.Valid && r.Round > 0 && r.Round > last-n {
			x = append(x, v.Value)
		}
	}
	return stats.Mean(x)
}

// lastRound returns the highest round of the curves; 0 if they have no rows.
func lastRound(curves ...[]results.CurveRow) (last int) {
	for _, rows := range curves {
		for _, r := range rows {
			last = max(last, r.Round)
		}
	}
	return last
}

// OfRun returns the number of a metric of [metrics.OfCurves] or [metrics.Reaching] for one run, with the means of
// [LastRounds] over n rounds. It is missing if the run was not evaluated for it, or never reaches the accuracy.
//
// CA-Fed's Table I has three of them: [metrics.TestAccMax] is the largest test accuracy, the initial model included.
// [metrics.TestAccMean] is the mean over the evaluated rounds after the initial model. [metrics.TestAccStd] is the
// sample standard deviation over the second half of these rounds. The paper uses every round, so runs for this table
// should evaluate after every round.
func OfRun(rows []results.CurveRow, n int, m metrics.Metric) files.Optional {
	if level, is := m.Reaches(); is {
		return firstRound(rows, level)
	}
	switch m {
	case metrics.TestAccFinal:
		return LastRounds(rows, 1, metrics.TestAcc)
	case metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd:
		return overTime(rows, m)
	}
	return LastRounds(rows, n, m)
}

// firstRound returns the first evaluated round of a run whose test accuracy is at least level; missing if none is.
func firstRound(rows []results.CurveRow, level float64) (first files.Optional) {
	for _, r := range rows {
		if r.TestAcc.Valid && reaches(r.TestAcc.Value, level) && (!first.Valid || float64(r.Round) < first.Value) {
			first = files.Some(float64(r.Round))
		}
	}
	return first
}

// reaches reports whether a number is at least level, or short of it by a rounding error; NaN is not.
func reaches(x, level float64) bool { return x >= level-stats.Roundoff*math.Abs(level) }

// OverSeeds returns mean and standard deviation, over the runs of one cell, of the numbers of [EachSeed].
func OverSeeds(runs [][]results.CurveRow, n int, m metrics.Metric) (stats.Estimate, error) {
	x, err := EachSeed(runs, n, m)
	if err != nil {
		return stats.Estimate{}, err
	}
	return stats.EstimateOf(x), nil
}

// EachSeed returns the number that [OfRun] gives for each run of one cell, of which there must be one at least. A run
// without that number is an error.
func EachSeed(runs [][]results.CurveRow, n int, m metrics.Metric) ([]float64, error) {
	return ofEach(runs, m, func(i int, rows []results.CurveRow) (float64, error) {
		v := OfRun(rows, n, m)
		if !v.Valid {
			over, _ := m.Over(n)
			return 0, fmt.Errorf("results: run %d of %d: no %s (%s) in %d evaluations, want more of them",
				i+1, len(runs), m, over, len(rows))
		}
		return v.Value, nil
	})
}

// Reached returns the rounds of [OfRun] for a metric of [metrics.Reaching], without the runs that never reach it.
func Reached(runs [][]results.CurveRow, m metrics.Metric) (rounds []float64) {
	for _, rows := range runs {
		if v := OfRun(rows, results.ProtocolRounds, m); v.Valid {
			rounds = append(rounds, v.Value)
		}
	}
	return rounds
}

// ofEach returns the number of each run.
func ofEach[R any](runs []R, m metrics.Metric, number func(i int, run R) (float64, error)) ([]float64, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("results: %s: no run, want at least one", m)
	}
	x := make([]float64, len(runs))
	for i, run := range runs {
		var err error
		if x[i], err = number(i, run); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// FirstRound returns the first round in which the mean of a metric over the runs of one cell reaches the threshold
// (FedAWE, Table 8). It looks at the rounds 0 (the initial model), every, 2·every … up to the last round of any run.
// The result is missing if no round reaches the threshold; a mean of NaN does not. A mean may fall short by a rounding
// error: the mean of three times 0.6 is 0.5999999999999999.
//
// It is an error if a run does not have the metric in one of these rounds, because the answer could be too late.
func FirstRound(
	curves [][]results.CurveRow, every int, threshold float64, m metrics.Metric,
) (first files.Optional, err error) {
	means := MeanCurve(curves, m)
	last := lastRound(curves...)
	for round := 0; round <= last; round += every {
		at := slices.IndexFunc(means, func(mean RoundMean) bool { return mean.Round == round })
		if at < 0 {
			lacking := slices.IndexFunc(curves, func(rows []results.CurveRow) bool {
				return !slices.ContainsFunc(rows, func(r results.CurveRow) bool {
					return r.Round == round && r.Metric(m).Valid
				})
			})
			return files.Optional{}, fmt.Errorf("results: first round: run %d of %d: no %s in round %d, "+
				"want it every %d rounds up to %d", lacking+1, len(curves), m, round, every, last)
		}
		// Once the first round is found, the later rounds are only checked for gaps.
		if !first.Valid && reaches(means[at].Mean, threshold) {
			first = files.Some(float64(round))
		}
	}
	return first, nil
}

// overTime returns a number of CA-Fed's Table I for one run, see [OfRun]; missing if the run has too few evaluations.
func overTime(rows []results.CurveRow, m metrics.Metric) files.Optional {
	last := lastRound(rows)
	var x []float64
	for _, r := range rows {
		if r.TestAcc.Valid && (m == metrics.TestAccMax || r.Round > 0) &&
			(m != metrics.TestAccStd || 2*r.Round > last) {
			x = append(x, r.TestAcc.Value)
		}
	}
	switch m {
	case metrics.TestAccMax:
		return stats.Quantile(x, 1)
	case metrics.TestAccMean:
		return stats.Mean(x)
	case metrics.TestAccStd:
		return stats.SampleStd(x)
	}
	return files.Optional{}
}

// RunningMean returns a curve in which each test accuracy is replaced by the mean of the test accuracies up to that
// round (INFOCOM, figure 3). The initial model keeps its accuracy and does not enter the means. Rows without a test
// accuracy are left out.
func RunningMean(rows []results.CurveRow) []results.CurveRow {
	var out []results.CurveRow
	sum, n := 0.0, 0
	for _, r := range rows {
		if !r.TestAcc.Valid {
			continue
		}
		if r.Round > 0 {
			sum, n = sum+r.TestAcc.Value, n+1
			r.TestAcc = files.Some(sum / float64(n))
		}
		out = append(out, r)
	}
	return out
}

// clientStatistic returns one of [metrics.OfClients] for the clients of one run (FedAR, Table 3). The variance divides
// by n and the standard deviations by n−1, as the paper's numbers do: of 100 clients it prints 18.1 and 325, 13.6 and
// 182.5, 18.0 and 321.6, where √(325·100/99) = 18.12 and √325 = 18.03; 20.7 and 432.5 fit neither. That the deviations
// of the tenths divide by n−1 too is inferred. A tenth of the clients is rounded, and at least one client. A single
// client has the deviation 0.
func clientStatistic(rows []results.ClientRow, m metrics.Metric) (float64, error) {
	if len(rows) == 0 {
		return 0, fmt.Errorf("results: %s: no clients, want one at least", m)
	}
	x := make([]float64, len(rows))
	for i, r := range rows {
		x[i] = r.Accuracy
	}
	slices.Sort(x)
	tenth := max(1, int(math.Round(float64(len(x))/10)))
	switch m {
	case metrics.ClientAccWorst10, metrics.ClientAccWorst10Std:
		x = x[:tenth]
	case metrics.ClientAccBest10, metrics.ClientAccBest10Std:
		x = x[len(x)-tenth:]
	}
	switch m {
	case metrics.ClientAccMean, metrics.ClientAccWorst10, metrics.ClientAccBest10:
		return stats.Mean(x).Value, nil
	case metrics.ClientAccStd, metrics.ClientAccWorst10Std, metrics.ClientAccBest10Std:
		return stats.SampleStd(x).Or(0), nil
	}
	mean, variance := stats.Mean(x).Value, 0.0 // ClientAccVar
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return variance, nil
}

// ClientsEachSeed returns one of [metrics.OfClients] for each run of one cell, of which there must be one at least.
func ClientsEachSeed(runs [][]results.ClientRow, m metrics.Metric) ([]float64, error) {
	return ofEach(runs, m, func(_ int, rows []results.ClientRow) (float64, error) { return clientStatistic(rows, m) })
}

// RoundsTTest returns the p-value of FedAR's Table 2, a [stats.PairedTTest] of the test accuracies of two methods. The
// pairs are the rounds after the initial model that both methods evaluated, of all seeds together; ours[k] and
// others[k] have the same seed. Accuracies of neighbouring rounds are not independent, so these p-values are far too
// small, see [RoundsLead]: [SeedsTTest] is sounder.
func RoundsTTest(ours, others [][]results.CurveRow) (files.Optional, error) {
	var a, b []float64
	for k := range ours {
		x, y := roundPairs(ours[k], others[k])
		a, b = append(a, x...), append(b, y...)
	}
	return stats.PairedTTest(a, b)
}

// RoundsLead returns what the p-value of [RoundsTTest] does not say. lead is the mean over its pairs of the test
// accuracy of ours minus the other's, so that it is above 0 where ours is ahead. n is the number of independent pairs
// that they are worth: the [stats.EffectiveN] of the differences of each seed, summed over the seeds. Both are missing
// without a pair.
func RoundsLead(ours, others [][]results.CurveRow) (lead, n files.Optional) {
	var all []float64
	for k := range ours {
		d, b := roundPairs(ours[k], others[k])
		for i := range d {
			d[i] -= b[i]
		}
		all, n.Value = append(all, d...), n.Value+stats.EffectiveN(d)
	}
	n.Valid = len(all) > 0
	return stats.Mean(all), n
}

// roundPairs returns the test accuracies of two runs in the rounds after the initial model that both evaluated.
func roundPairs(ours, other []results.CurveRow) (a, b []float64) {
	at := map[int]float64{}
	for _, r := range other {
		if r.TestAcc.Valid {
			at[r.Round] = r.TestAcc.Value
		}
	}
	for _, r := range ours {
		if v, ok := at[r.Round]; ok && r.TestAcc.Valid && r.Round > 0 {
			a, b = append(a, r.TestAcc.Value), append(b, v)
		}
	}
	return a, b
}

// SeedsTTest returns the p-value of a [stats.PairedTTest] of two methods, where each seed is one pair: the mean test
// accuracies over the last n rounds of both runs. It is missing for fewer than two seeds.
func SeedsTTest(ours, others [][]results.CurveRow, n int) (files.Optional, error) {
	var x [2][]float64
	for m, runs := range [][][]results.CurveRow{ours, others} {
		for _, rows := range runs {
			v := LastRounds(rows, n, metrics.TestAcc)
			if !v.Valid {
				return files.Optional{},
					fmt.Errorf("results: paired t-test: no test accuracy in the last %d rounds, want one at least", n)
			}
			x[m] = append(x[m], v.Value)
		}
	}
	return stats.PairedTTest(x[0], x[1])
}

// Importance returns two numbers for each client of one run. q is the client's weight, averaged over the rounds, with 0
// in rounds in which it was absent or excluded (ToN, figure 1d: the cumulative aggregation weight). p is the client's
// share of the sum of q (INFOCOM, figure 2: the importance). The paper computes p from the weights of the policy; here
// it comes from the weights that entered the model, since AdaFed's weights depend on who is available [inferred].
func Importance(rows []results.DecisionRow) (q, p []float64) {
	n := results.ClientsOf(rows)
	if n == 0 {
		return nil, nil
	}
	q, p = make([]float64, n), make([]float64, n)
	sum := 0.0
	for _, r := range rows {
		q[r.Client] += r.Weight / float64(len(rows)/n)
	}
	for _, v := range q {
		sum += v
	}
	for i, v := range q {
		if sum > 0 {
			p[i] = v / sum
		}
	}
	return q, p
}
