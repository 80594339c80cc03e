package judge

import (
	"rollcall/internal/files"
	"rollcall/results/stats"
)

// Significance is the level of tests among our own methods: how often methods that do not differ are told apart.
const Significance = differLevel

// Tested is the outcome of a test of two of our methods over pairs of seeds.
type Tested struct {
	P    files.Optional // two-sided; missing for fewer than two pairs
	Holm files.Optional // P corrected for all tests of the family
	// [Differs]: Holm is below the significance; [Untold]: it is not; [NotJudged]: without P
	Verdict Verdict
}

// Family tests several methods against one, each by the differences of its pairs of seeds, as [stats.PairedTTest] does.
// The p-values are corrected by [stats.Holm] for those that have one. A difference that is not finite leaves its method
// without a test.
func Family(differences [][]float64, significance float64) []Tested {
	family := make([]Tested, len(differences))
	var tested []int
	var p []float64
	for i, d := range differences {
		family[i].P, _ = stats.PairedTTest(d, make([]float64, len(d))) // the error is of what is not finite
		if family[i].P.Valid {
			tested, p = append(tested, i), append(p, family[i].P.Value)
		}
	}
	for k, holm := range stats.Holm(p) {
		f := &family[tested[k]]
		if f.Holm, f.Verdict = files.Some(holm), Untold; holm < significance {
			f.Verdict = Differs
		}
	}
	return family
}
