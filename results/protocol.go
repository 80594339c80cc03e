package results

import (
	"errors"
	"fmt"
	"slices"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// BothMeans returns the mean curves of two metrics in the rounds in which both are there.
func BothMeans(curves [][]CurveRow, a, b Metric) (as, bs []RoundMean, err error) {
	if as, err = MeanCurve(curves, a); err != nil {
		return nil, nil, err
	}
	if bs, err = MeanCurve(curves, b); err != nil {
		return nil, nil, err
	}
	as, bs = sharedRounds(as, bs), sharedRounds(bs, as)
	return as, bs, nil
}

// sharedRounds returns the points of a in rounds b has too.
func sharedRounds(a, b []RoundMean) []RoundMean {
	return slices.DeleteFunc(slices.Clone(a), func(point RoundMean) bool {
		return !slices.ContainsFunc(b, func(other RoundMean) bool { return other.Round == point.Round })
	})
}

// RoundMean is the mean of a metric over runs in one round.
type RoundMean struct {
	Round int
	stats.Estimate
}

// MeanCurve returns mean and standard deviation of a metric over the runs of one cell, ascending in the rounds in which
// every run has it.
func MeanCurve(curves [][]CurveRow, m Metric) ([]RoundMean, error) {
	if len(curves) == 0 {
		return nil, errors.New("results: mean curve: no run, want at least one")
	}
	values := map[int][]float64{}
	for _, rows := range curves {
		for _, r := range rows {
			v, err := r.Metric(m)
			if err != nil {
				return nil, err
			}
			if v.Valid {
				values[r.Round] = append(values[r.Round], v.Value)
			}
		}
	}
	var means []RoundMean
	for round, x := range values {
		if len(x) == len(curves) {
			means = append(means, RoundMean{round, stats.EstimateOf(x)})
		}
	}
	slices.SortFunc(means, func(a, b RoundMean) int { return a.Round - b.Round })
	return means, nil
}

// ProtocolRounds is how many last rounds an entry of FedAWE's tables is the mean over.
const ProtocolRounds = 50

// LastRounds returns the mean of a metric over the evaluated rounds among the last n rounds of one run (FedAWE's
// protocol with n = [ProtocolRounds]): those after T−n, T being the highest round of the rows. The initial model is
// none of them, and rows where the metric is missing do not count. Missing if there is none; NaN if a round diverged.
func LastRounds(rows []CurveRow, n int, m Metric) (files.Optional, error) {
	if n < 1 {
		return files.Optional{}, fmt.Errorf("results: last %d rounds, want at least 1", n)
	}
	if len(rows) == 0 {
		return files.Optional{}, nil
	}
	last := slices.MaxFunc(rows, func(a, b CurveRow) int { return a.Round - b.Round }).Round
	var x []float64
	for _, r := range rows {
		v, err := r.Metric(m)
		if err != nil {
			return files.Optional{}, err
		}
		if v.Valid && r.Round > 0 && r.Round > last-n {
			x = append(x, v.Value)
		}
	}
	return stats.Mean(x), nil
}

// OverSeeds returns mean and standard deviation over runs of [LastRounds] of each.
func OverSeeds(runs [][]CurveRow, n int, m Metric) (stats.Estimate, error) {
	if len(runs) == 0 {
		return stats.Estimate{}, errors.New("results: no run, want at least one")
	}
	x := make([]float64, len(runs))
	for i, rows := range runs {
		v, err := LastRounds(rows, n, m)
		if err != nil {
			return stats.Estimate{}, err
		}
		if !v.Valid {
			return stats.Estimate{}, fmt.Errorf("results: run %d of %d: no %s in its last %d rounds, want one at least",
				i+1, len(runs), m, n)
		}
		x[i] = v.Value
	}
	return stats.EstimateOf(x), nil
}
