package stats

import (
	"cmp"
	"math"

	"rollcall/results/files"
)

// Kendall counts the pairs that are ordered in y, and those of them that x orders in the same way, C, and returns
// Kendall's tau-b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), D being the pairs ordered in opposite ways, n₀ the number of
// pairs, and n₁, n₂ those tied in x and in y. Tau-b is missing where all pairs are tied in one of them. x and y are as
// long as each other; NaN in them is not allowed.
func Kendall(x, y []float64) (ordered, concordant int, tauB files.Optional) {
	var inX, discordant int
	for i := range x {
		for j := range i {
			a, b := cmp.Compare(x[i], x[j]), cmp.Compare(y[i], y[j])
			inX += a * a // 1 unless they are tied
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
