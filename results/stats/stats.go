// Package stats computes statistics of values given as []float64: means, quantiles, tests, ranks and Shapley values.
package stats

import (
	"cmp"
	"math"
	"slices"

	"rollcall/internal/files"
)

// Estimate is a mean over seeds with its spread.
type Estimate struct {
	Mean float64
	Std  files.Optional // sample standard deviation over the seeds; missing if N < 2 or if the paper prints none
	N    int            // seeds
}

// EstimateOf returns the estimate from one value per seed; x must not be empty.
func EstimateOf(x []float64) Estimate { return Estimate{Mean(x).Value, SampleStd(x), len(x)} }

// Mean returns the arithmetic mean; missing for no values.
func Mean(x []float64) files.Optional {
	if len(x) == 0 {
		return files.Optional{}
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return files.Some(sum / float64(len(x)))
}

// SampleStd returns the standard deviation with n−1 in the denominator; missing for fewer than two values.
//
// No paper says whether its ± divides by n or by n−1 [inferred]. The seeds are a sample of all possible seeds, and a
// comparison needs the spread over all of these, which n−1 estimates. With three seeds it is 1.22 times the spread by
// n.
func SampleStd(x []float64) files.Optional {
	if len(x) < 2 {
		return files.Optional{}
	}
	mean := Mean(x).Value
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return files.Some(math.Sqrt(sum / float64(len(x)-1)))
}

// Median returns the middle value, or the mean of the two middle ones; missing for no values.
func Median(x []float64) files.Optional { return Quantile(x, 0.5) }

// Quantile returns the value below which a share q of the values lies. It interpolates linearly between neighbours, as
// NumPy does by default, and moves q into [0, 1]. It is missing for no values, and NaN if one value is NaN.
func Quantile(x []float64, q float64) files.Optional {
	if len(x) == 0 {
		return files.Optional{}
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	if math.IsNaN(sorted[0]) { // NaN sorts first
		return files.Some(math.NaN())
	}
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	part := at - float64(low)
	if part == 0 || sorted[low] == sorted[high] { // exact, and no 0·∞
		return files.Some(sorted[low])
	}
	return files.Some((1-part)*sorted[low] + part*sorted[high])
}

// Roundoff is the relative rounding error that comparisons of means allow. Without it two equal estimates without any
// spread could differ in their last bit.
const Roundoff = 1e-12

// Finite reports whether none of the values is NaN or infinite.
func Finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Kendall compares the order of x with the order of y, which must have the same length and no NaN. It returns how many
// pairs y orders, how many of these x orders in the same way, and Kendall's tau-b.
//
// tau-b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), where C pairs have the same order in x and y, D pairs the opposite order, n₀
// is the number of pairs, n₁ pairs are tied in x, and n₂ in y. It is missing if x or y ties all pairs.
func Kendall(x, y []float64) (ordered, concordant int, tauB files.Optional) {
	var inX, discordant int
	for i := range x {
		for j := range i {
			a, b := cmp.Compare(x[i], x[j]), cmp.Compare(y[i], y[j])
			inX += a * a // a² is 1 unless the pair is tied in x
			ordered += b * b
			switch a * b {
			case 1:
				concordant++
			case -1:
				discordant++
			}
		}
	}
	if inX > 0 && ordered > 0 {
		tauB = files.Some(float64(concordant-discordant) / (math.Sqrt(float64(inX)) * math.Sqrt(float64(ordered))))
	}
	return ordered, concordant, tauB
}
