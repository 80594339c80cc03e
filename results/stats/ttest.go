package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

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

// EffectiveN returns how many independent values have a mean as sure as the mean of this series, if each value depends
// on the one before as in an autoregression of order 1: n·(1 − r)/(1 + r), where r = Σ d_t·d_{t+1} / Σ d_t² is the
// autocorrelation at lag 1 of the deviations d from the mean (Bayley and Hammersley, Supplement to the Journal of the
// Royal Statistical Society 1946, for a long series). It is from 1 to n: 1 for a constant series, and 0 for none.
func EffectiveN(x []float64) float64 {
	n, mean := float64(len(x)), Mean(x).Value
	var products, squares float64
	for t, v := range x {
		squares += (v - mean) * (v - mean)
		if t > 0 {
			products += (v - mean) * (x[t-1] - mean)
		}
	}
	if squares == 0 {
		return min(n, 1)
	}
	r := products / squares
	return min(max(n*(1-r)/(1+r), 1), n)
}

// Holm returns the p-values of a family of tests, adjusted so that the probability of one false rejection or more in
// the whole family is at most the level at which they are read (Holm, Scandinavian Journal of Statistics 1979). The
// k-th smallest of m, counted from 0, becomes the largest of (m − j)·p_j over j ≤ k, and at most 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for k, i := range order {
		largest = max(largest, min(1, float64(len(p)-k)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}

// Detect says which difference of two means is to be found, and how surely.
type Detect struct {
	Difference   float64 // above 0, in the unit of the values
	Significance float64 // of the two-sided test, above 0 and below 1: how often equal means are found to differ
	Power        float64 // above Significance and below 1: how often the difference is found
}

// MostSeeds is the largest answer of [Detect.Paired] and [Detect.Apart].
const MostSeeds = 1_000_000

// Paired returns how many pairs Student's paired t-test needs to find the difference, at least 2, if the differences of
// the pairs are normal with this standard deviation. An answer above [MostSeeds] is an error.
func (d Detect) Paired(std float64) (int, error) {
	return d.fewest(std, func(n float64) (shift, df float64) { return d.Difference * math.Sqrt(n) / std, n - 1 })
}

// Apart returns how many values of each of two groups Student's two-sample t-test needs to find the difference, at
// least 2, if the values are normal with this standard deviation. If the groups have two of them, std is their
// quadratic mean. An answer above [MostSeeds] is an error.
func (d Detect) Apart(std float64) (int, error) {
	return d.fewest(std, func(n float64) (shift, df float64) {
		return d.Difference * math.Sqrt(n/2) / std, 2 * (n - 1)
	})
}

// fewest returns the least n whose test has the power. of returns the noncentrality of its t, and its degrees of
// freedom.
func (d Detect) fewest(std float64, of func(n float64) (shift, df float64)) (int, error) {
	if std == 0 {
		return 2, nil
	}
	n := 2 + sort.Search(MostSeeds-1, func(i int) bool {
		return twoSidedPower(d.Significance, float64(i+2), of) >= d.Power
	})
	if n > MostSeeds {
		return 0, fmt.Errorf("stats: a difference of %g with a standard deviation of %g: more than %d seeds",
			d.Difference, std, MostSeeds)
	}
	return n, nil
}

func twoSidedPower(level, n float64, of func(n float64) (shift, df float64)) float64 {
	shift, df := of(n)
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - level/2)
	return noncentralT(-critical, shift, df) + 1 - noncentralT(critical, shift, df)
}

// noncentralT returns the probability that (Z + shift)/√(V/df) ≤ t, where Z is standard normal and V is χ² with df
// degrees of freedom: the mean, over V, of the probability for one V. V is the quantile of χ² at Φ(x), where x is
// standard normal, because the trapezoidal rule is exact to ten digits for a smooth function times a normal density.
func noncentralT(t, shift, df float64) (p float64) {
	chi := distuv.ChiSquared{K: df}
	const end, step = 6.5, 0.125
	for x := -end; x <= end; x += step {
		v := chi.Quantile(distuv.UnitNormal.CDF(x))
		p += step * distuv.UnitNormal.Prob(x) * distuv.UnitNormal.CDF(t*math.Sqrt(v/df)-shift)
	}
	return p
}
