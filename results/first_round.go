package results

import (
	"errors"
	"fmt"
	"math"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// FirstRound returns the first round in which the mean of a metric over the runs (the seeds of one cell) is at least
// the threshold, looking at the rounds that are multiples of every: 0, the initial model, every, 2·every … up to the
// last round of any run. Missing if there is none; a mean that is NaN reaches nothing. Means that fall short of the
// threshold by rounding alone have reached it: three times 0.6 have 0.5999999999999999 as their mean.
//
// Every run must have the metric in every such round, or the answer could be too late: the others are an error.
func FirstRound(curves [][]CurveRow, every int, threshold float64, m Metric) (files.Optional, error) {
	if every < 1 {
		return files.Optional{}, fmt.Errorf("results: first round: looked at every %d rounds, want at least 1", every)
	}
	if math.IsNaN(threshold) {
		return files.Optional{}, errors.New("results: first round: threshold NaN, want a number")
	}
	if len(curves) == 0 {
		return files.Optional{}, errors.New("results: first round: no run, want at least one")
	}
	last := 0
	values := make([]map[int]float64, len(curves)) // of each run, by round
	for i, rows := range curves {
		values[i] = make(map[int]float64, len(rows))
		for _, r := range rows {
			v, err := r.Metric(m)
			if err != nil {
				return files.Optional{}, err
			}
			if v.Valid {
				values[i][r.Round] = v.Value
			}
			last = max(last, r.Round)
		}
	}
	first := files.Optional{}
	x := make([]float64, len(curves))
	for round := 0; round <= last; round += every {
		for i := range x {
			v, found := values[i][round]
			if !found {
				return files.Optional{},
					fmt.Errorf("results: first round: run %d of %d: no %s in round %d, want it every %d rounds up to %d",
						i+1, len(curves), m, round, every, last)
			}
			x[i] = v
		}
		// The rounds after the first are looked at for gaps alone.
		if !first.Valid && stats.Mean(x).Value >= threshold-stats.Roundoff*math.Abs(threshold) {
			first = files.Some(float64(round))
		}
	}
	return first, nil
}
