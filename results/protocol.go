package results

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// OverTime returns mean and standard deviation over runs of a number made of the test accuracies of each: [TestAccMax], the
// largest, of the initial model too; [TestAccMean], the mean over the evaluated rounds after it; [TestAccStd], the sample standard
// deviation over those in the second half of the rounds. The paper looks at every round: evaluate as often.
func OverTime(runs [][]CurveRow, m Metric) (stats.Estimate, error) {
	if len(runs) == 0 {
		return stats.Estimate{}, fmt.Errorf("results: %s: no run, want at least one", m)
	}
	values := make([]float64, len(runs))
	for i, rows := range runs {
		v := overTime(rows, m)
		if !v.Valid {
			return stats.Estimate{}, fmt.Errorf("results: run %d of %d: %s of %d evaluations, want more of them", i+1, len(runs), m, len(rows))
		}
		values[i] = v.Value
	}
	return stats.Estimate{Mean: stats.Mean(values).Value, Std: stats.SampleStd(values), N: len(values)}, nil
}

// overTime is OverTime of one run; missing where it has too few evaluations.
func overTime(rows []CurveRow, m Metric) files.Optional {
	last := 0
	for _, r := range rows {
		last = max(last, r.Round)
	}
	var x []float64
	for _, r := range rows {
		if r.TestAcc.Valid && (m == TestAccMax || r.Round > 0) && (m != TestAccStd || 2*r.Round > last) {
			x = append(x, r.TestAcc.Value)
		}
	}
	switch m {
	case TestAccMax:
		return stats.Quantile(x, 1)
	case TestAccMean:
		return stats.Mean(x)
	case TestAccStd:
		return stats.SampleStd(x)
	}
	return files.Optional{}
}

// RunningMean returns a curve with each test accuracy replaced by the mean of those of the rounds so far, the initial model
// apart (INFOCOM, figure 3). Rows without one are left out, and the initial model's keeps its own.
func RunningMean(rows []CurveRow) []CurveRow {
	var out []CurveRow
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
	var shared []RoundMean
	for _, point := range a {
		if slices.ContainsFunc(b, func(other RoundMean) bool { return other.Round == point.Round }) {
			shared = append(shared, point)
		}
	}
	return shared
}

// FirstRound returns the first round in which the mean of a metric over the runs (the seeds of one cell) is at least the
// threshold, looking at the rounds that are multiples of every: 0, the initial model, every, 2·every … up to the last
// round of any run. Missing if there is none; a mean that is NaN reaches nothing. Means that fall short of the
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
				return files.Optional{}, fmt.Errorf("results: first round: run %d of %d: no %s in round %d, want it every %d rounds up to %d",
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
			means = append(means, RoundMean{round, stats.Estimate{Mean: stats.Mean(x).Value, Std: stats.SampleStd(x), N: len(x)}})
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
			return stats.Estimate{}, fmt.Errorf("results: run %d of %d: no %s in its last %d rounds, want one at least", i+1, len(runs), m, n)
		}
		x[i] = v.Value
	}
	return stats.Estimate{Mean: stats.Mean(x).Value, Std: stats.SampleStd(x), N: len(x)}, nil
}

// RoundsTTest is [PairedTTest] of the test accuracies of two methods round by round, as FedAR's Table 2 has it: of each seed the
// rounds after the initial model in which both were evaluated, all seeds together. Accuracies of one run lean on each other from round to round, so that
// the test's p-values are far too small: [SeedsTTest] is the sounder one.
func RoundsTTest(ours, others [][]CurveRow) (files.Optional, error) {
	if len(ours) != len(others) {
		return files.Optional{}, fmt.Errorf("results: paired t-test: %d and %d runs, want the same seeds of both", len(ours), len(others))
	}
	var a, b []float64
	for k := range ours {
		at := map[int]float64{}
		for _, r := range others[k] {
			if r.TestAcc.Valid {
				at[r.Round] = r.TestAcc.Value
			}
		}
		for _, r := range ours[k] {
			if v, ok := at[r.Round]; ok && r.TestAcc.Valid && r.Round > 0 {
				a, b = append(a, r.TestAcc.Value), append(b, v)
			}
		}
	}
	return stats.PairedTTest(a, b)
}

// SeedsTTest is [PairedTTest] of two methods across the seeds, of each run's mean test accuracy in its last n rounds. Missing for
// fewer than two seeds.
func SeedsTTest(ours, others [][]CurveRow, n int) (files.Optional, error) {
	if len(ours) != len(others) {
		return files.Optional{}, fmt.Errorf("results: paired t-test: %d and %d runs, want the same seeds of both", len(ours), len(others))
	}
	var x [2][]float64
	for m, runs := range [][][]CurveRow{ours, others} {
		for _, rows := range runs {
			v, err := LastRounds(rows, n, TestAcc)
			if err != nil {
				return files.Optional{}, err
			}
			if !v.Valid {
				return files.Optional{}, fmt.Errorf("results: paired t-test: no test accuracy in the last %d rounds, want one at least", n)
			}
			x[m] = append(x[m], v.Value)
		}
	}
	return stats.PairedTTest(x[0], x[1])
}
