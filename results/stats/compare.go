package stats

import (
	"math"

	"rollcall/internal/files"
)

// Verdict is the outcome of a comparison of two means.
type Verdict string

// The verdicts.
const (
	Unknown Verdict = "unknown" // a standard deviation is missing, or a number is not finite
	Within  Verdict = "within"  // the difference is at most the margin
	Outside Verdict = "outside" // the difference is more than the margin
)

// Roundoff is the relative rounding error that comparisons of means allow. Without it two equal estimates without any
// spread could differ in their last bit.
const Roundoff = 1e-12

// Compare returns the difference ours − paper of two means, and whether it exceeds a margin of two standard errors,
// 2·√(s₁²/n₁ + s₂²/n₂). The margin is missing if the verdict is unknown. With three seeds each the test is coarse:
// equal true means pass it eight to nine times in ten (Student's t, 2 to 4 degrees of freedom). It takes both standard
// deviations for sample standard deviations (n−1), which no paper states [inferred].
func Compare(ours, paper Estimate) (difference float64, margin files.Optional, verdict Verdict) {
	difference = ours.Mean - paper.Mean
	if !ours.Std.Valid || !paper.Std.Valid || ours.N < 1 || paper.N < 1 {
		return difference, margin, Unknown
	}
	s1, s2 := ours.Std.Value, paper.Std.Value
	twoErrors := 2 * math.Sqrt(s1*s1/float64(ours.N)+s2*s2/float64(paper.N))
	switch {
	case !Finite(difference, twoErrors):
		return difference, margin, Unknown
	case math.Abs(difference) <= twoErrors+Roundoff*(math.Abs(ours.Mean)+math.Abs(paper.Mean)):
		return difference, files.Some(twoErrors), Within
	}
	return difference, files.Some(twoErrors), Outside
}

// Finite reports whether none of the values is NaN or infinite.
func Finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
