package results

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedTTest returns the two-sided p-value of Student's t-test for paired values: how likely differences as far from 0 on the mean
// are, or farther, if their true mean is 0 and they are independent and normal. It is missing for fewer than two pairs; where all
// differences are equal it is 1 if they are 0, and 0 else, the limits.
func PairedTTest(a, b []float64) (p Optional, err error) {
	if len(a) != len(b) {
		return p, fmt.Errorf("results: paired t-test: %d and %d values, want as many of each", len(a), len(b))
	}
	if len(a) < 2 {
		return p, nil
	}
	d := make([]float64, len(a))
	for i := range a {
		if d[i] = a[i] - b[i]; math.IsNaN(d[i]) || math.IsInf(d[i], 0) {
			return p, fmt.Errorf("results: paired t-test: pair %d is %g and %g, want finite numbers", i+1, a[i], b[i])
		}
	}
	mean, std := Mean(d).Value, SampleStd(d).Value
	switch {
	case std == 0 && mean == 0:
		return Some(1), nil
	case std == 0:
		return Some(0), nil
	}
	t := mean / std * math.Sqrt(float64(len(d)))
	// The lower tail: 1 − CDF(|t|) would lose everything below 10⁻¹⁶, and the paper prints 10⁻³¹⁶.
	return Some(2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(d) - 1)}.CDF(-math.Abs(t))), nil
}

// RoundsTTest is [PairedTTest] of the test accuracies of two methods round by round, as FedAR's Table 2 has it: of each seed the
// rounds after the initial model in which both were evaluated, all seeds together. Accuracies of one run lean on each other from round to round, so that
// the test's p-values are far too small: [SeedsTTest] is the sounder one.
func RoundsTTest(ours, others [][]CurveRow) (Optional, error) {
	if len(ours) != len(others) {
		return Optional{}, fmt.Errorf("results: paired t-test: %d and %d runs, want the same seeds of both", len(ours), len(others))
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
	return PairedTTest(a, b)
}

// SeedsTTest is [PairedTTest] of two methods across the seeds, of each run's mean test accuracy in its last n rounds. Missing for
// fewer than two seeds.
func SeedsTTest(ours, others [][]CurveRow, n int) (Optional, error) {
	if len(ours) != len(others) {
		return Optional{}, fmt.Errorf("results: paired t-test: %d and %d runs, want the same seeds of both", len(ours), len(others))
	}
	var x [2][]float64
	for m, runs := range [][][]CurveRow{ours, others} {
		for _, rows := range runs {
			v, err := LastRounds(rows, n, TestAcc)
			if err != nil {
				return Optional{}, err
			}
			if !v.Valid {
				return Optional{}, fmt.Errorf("results: paired t-test: no test accuracy in the last %d rounds, want one at least", n)
			}
			x[m] = append(x[m], v.Value)
		}
	}
	return PairedTTest(x[0], x[1])
}
