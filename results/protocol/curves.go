// Package protocol computes the numbers of the papers' tables and figures from the files of runs, as each paper's
// protocol prescribes.
package protocol

import (
	"fmt"
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

// OverSeeds returns mean and standard deviation, over the runs of one cell, of the number that [LastRounds] gives for
// each run. A run without that number is an error.
func OverSeeds(runs [][]results.CurveRow, n int, m metrics.Metric) (stats.Estimate, error) {
	return overRuns(runs, m, func(i int, rows []results.CurveRow) (float64, error) {
		v := LastRounds(rows, n, m)
		if !v.Valid {
			return 0, fmt.Errorf("results: run %d of %d: no %s in its last %d rounds, want one at least",
				i+1, len(runs), m, n)
		}
		return v.Value, nil
	})
}

// overRuns returns mean and standard deviation over runs, where number gives the number of each run.
func overRuns[R any](runs []R, m metrics.Metric, number func(i int, run R) (float64, error)) (stats.Estimate, error) {
	if len(runs) == 0 {
		return stats.Estimate{}, fmt.Errorf("results: %s: no run, want at least one", m)
	}
	x := make([]float64, len(runs))
	for i, run := range runs {
		var err error
		if x[i], err = number(i, run); err != nil {
			return stats.Estimate{}, err
		}
	}
	return stats.EstimateOf(x), nil
}
