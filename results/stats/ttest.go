package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"rollcall/internal/files"
)

// PairedTTest returns the two-sided p-value of Student's t-test for pairs (a[i], b[i]). It is the probability that the
// mean difference is at least as far from 0, if the differences are independent and normal with mean 0.
//
// The slices must have the same length. The p-value is missing for fewer than two pairs. If all differences are equal
// it is the limit of the test: 1 if they are 0, and 0 otherwise.
func PairedTTest(a, b []float64) (p files.Optional, err error) {
	if len(a) < 2 {
		return p, nil
	}
	d := make([]float64, len(a))
	for i := range a {
		if d[i] = a[i] - b[i]; !Finite(d[i]) {
			return p, fmt.Errorf("results: paired t-test: pair %d is %g and %g, want finite numbers", i+1, a[i], b[i])
		}
	}
	mean, std := Mean(d).Value, SampleStd(d).Value
	switch {
	case std == 0 && mean == 0:
		return files.Some(1), nil
	case std == 0:
		return files.Some(0), nil
	}
	t := mean / std * math.Sqrt(float64(len(d)))
	// The lower tail, because 1 − CDF(|t|) rounds everything below 10⁻¹⁶ to 0, and the paper prints 10⁻³¹⁶.
	return files.Some(2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(d) - 1)}.CDF(-math.Abs(t))), nil
}
