package judge

import (
	"math"
	"testing"
)

// The p-values of t = mean·√n/s with n−1 degrees of freedom: 1, 2, 3 give t = 2·√3 and p = 0.0741799 (R: t.test), and
// 10, 10.1, 9.9 give t = 173.2 and p = 0.0000333.
func TestFamily(t *testing.T) {
	far, near := []float64{10, 10.1, 9.9}, []float64{1, 2, 3}
	for _, c := range []struct {
		name         string
		differences  [][]float64
		significance float64
		p, holm      []float64 // NaN: missing
		want         []Verdict
	}{
		{"none", nil, Significance, nil, nil, nil},
		{"alone", [][]float64{near}, Significance, []float64{0.0741799}, []float64{0.0741799}, []Verdict{Untold}},
		{"at another level", [][]float64{near}, 0.1, []float64{0.0741799}, []float64{0.0741799}, []Verdict{Differs}},
		{
			"corrected",
			[][]float64{near, far, near},
			0.1,
			[]float64{0.0741799, 0.0000333, 0.0741799},
			[]float64{0.1483598, 0.0001, 0.1483598},
			[]Verdict{Untold, Differs, Untold},
		},
		{
			"one seed counts in no family",
			[][]float64{{5}, far, nil, {math.Inf(1), 1}},
			Significance,
			[]float64{math.NaN(), 0.0000333, math.NaN(), math.NaN()},
			[]float64{math.NaN(), 0.0000333, math.NaN(), math.NaN()},
			[]Verdict{NotJudged, Differs, NotJudged, NotJudged},
		},
		{"the same runs", [][]float64{{0, 0}}, Significance, []float64{1}, []float64{1}, []Verdict{Untold}},
	} {
		got := Family(c.differences, c.significance)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %d tests, want %d", c.name, len(got), len(c.want))
		}
		for i, g := range got {
			if g.Verdict != c.want[i] || g.P.Valid == math.IsNaN(c.p[i]) || g.Holm.Valid == math.IsNaN(c.p[i]) ||
				g.P.Valid && (math.Abs(g.P.Value-c.p[i]) > 1e-6 || math.Abs(g.Holm.Value-c.holm[i]) > 1e-6) {
				t.Errorf("%s: method %d: p %v, Holm %v, %q, want %g, %g, %q",
					c.name, i, g.P, g.Holm, g.Verdict, c.p[i], c.holm[i], c.want[i])
			}
		}
	}
}
