package protocol

import (
	"fmt"
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// FirstRound returns the first round in which the mean of a metric over the runs (the seeds of one cell) is at least
// the threshold, looking at the rounds that are multiples of every: 0, the initial model, every, 2·every … up to the
// last round of any run. Missing if there is none; a mean that is NaN reaches nothing. Means that fall short of the
// threshold by rounding alone have reached it: three times 0.6 have 0.5999999999999999 as their mean.
//
// Every run must have the metric in every such round, or the answer could be too late: the others are an error.
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
					return r.Round == round &&
						r.Metric(m).Valid
				})
			})
			return files.Optional{},
				fmt.Errorf("results: first round: run %d of %d: no %s in round %d, want it every %d rounds up to %d",
					lacking+1, len(curves), m, round, every, last)
		}
		// The rounds after the first are looked at for gaps alone.
		if !first.Valid && means[at].Mean >= threshold-stats.Roundoff*math.Abs(threshold) {
			first = files.Some(float64(round))
		}
	}
	return first, nil
}
