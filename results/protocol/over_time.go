package protocol

import (
	"fmt"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// OverTime returns mean and standard deviation over runs of a number made of the test accuracies of each: [TestAccMax],
// the largest, of the initial model too; [TestAccMean], the mean over the evaluated rounds after it; [TestAccStd], the
// sample standard deviation over those in the second half of the rounds. The paper looks at every round: evaluate as
// often.
func OverTime(runs [][]results.CurveRow, m metrics.Metric) (stats.Estimate, error) {
	return overRuns(runs, m, func(i int, rows []results.CurveRow) (float64, error) {
		v := overTime(rows, m)
		if !v.Valid {
			return 0, fmt.Errorf("results: run %d of %d: %s of %d evaluations, want more of them",
				i+1, len(runs), m, len(rows))
		}
		return v.Value, nil
	})
}

// overTime is OverTime of one run; missing where it has too few evaluations.
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

// RunningMean returns a curve with each test accuracy replaced by the mean of those of the rounds so far, the initial
// model apart (INFOCOM, figure 3). Rows without one are left out, and the initial model's keeps its own.
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
