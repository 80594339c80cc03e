package stats

import (
	"cmp"
	"math"

	"rollcall/internal/files"
)

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
