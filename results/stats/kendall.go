package stats

import (
	"cmp"
	"math"

	"rollcall/results/files"
)

// Kendall counts the pairs of x and y that are ordered in the same way in both and in opposite ways, and returns
// Kendall's tau-b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), n₀ being the number of pairs and n₁, n₂ those tied in x and in y.
// Tau-b is missing where all pairs are tied in one of them. x and y are as long as each other; NaN in them is not
// allowed.
func Kendall(x, y []float64) (concordant, discordant int, tauB files.Optional) {
	var inX, inY int // pairs not tied
	for i := range x {
		for j := range i {
			a, b := cmp.Compare(x[i], x[j]), cmp.Compare(y[i], y[j])
			inX += a * a
			inY += b * b
			switch a * b {
			case 1:
				concordant++
			case -1:
				discordant++
			}
		}
	}
	if inX == 0 || inY == 0 {
		return concordant, discordant, files.Optional{}
	}
	return concordant, discordant,
		files.Some(float64(concordant-discordant) / (math.Sqrt(float64(inX)) * math.Sqrt(float64(inY))))
}
