package protocol

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// OverTime returns mean and standard deviation, over the runs of one cell, of a number about the test accuracies of
// each run (CA-Fed, Table I). [metrics.TestAccMax] is the largest accuracy, the initial model included.
// [metrics.TestAccMean] is the mean over the evaluated rounds after the initial model. [metrics.TestAccStd] is the
// sample standard deviation over the second half of these rounds. The paper uses every round, so runs for this table
// should evaluate after every round.
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

// overTime returns the number of [OverTime] for one run; missing if the run has too few evaluations.
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
