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
		if !first.Valid && means[at].Mean >= threshold-stats.Roundoff*math.Abs(threshold) {
			first = files.Some(float64(round))
		}
	}
	return first, nil
}
