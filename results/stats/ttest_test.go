package stats

import (
	"math"
	"strings"
	"testing"

	"rollcall/internal/files"
)

// pairsOf returns n differences whose t is exactly as asked but for rounding: mean 1 and standard deviation √n/t.
func pairsOf(n int, t float64) (a, b []float64) {
	spread := math.Sqrt(float64(n)) / t * math.Sqrt(float64(n-1)/float64(n-n%2))
	for i := range n {
		d := 1.0
		switch {
		case n%2 == 1 && i == n-1: // the odd one out is the mean
		case i%2 == 0:
			d += spread
		default:
			d -= spread
		}
		a, b = append(a, d+3), append(b, 3)
	}
	return a, b
}

// Critical values of Student's t as every table of it prints them (NIST/SEMATECH e-Handbook of Statistical Methods,
// 1.3.6.7.2): t at which the upper tail is 0.1, 0.05, 0.025, 0.01, 0.005, 0.001. Three decimals of t leave 4·10⁻⁴ of p.
func TestPairedTTestCriticalValues(t *testing.T) {
	tails := [6]float64{0.1, 0.05, 0.025, 0.01, 0.005, 0.001}
	for nu, critical := range map[int][6]float64{
		1:   {3.078, 6.314, 12.706, 31.821, 63.657, 318.309},
		2:   {1.886, 2.920, 4.303, 6.965, 9.925, 22.327},
		3:   {1.638, 2.353, 3.182, 4.541, 5.841, 10.215},
		5:   {1.476, 2.015, 2.571, 3.365, 4.032, 5.893},
		10:  {1.372, 1.812, 2.228, 2.764, 3.169, 4.144},
		30:  {1.310, 1.697, 2.042, 2.457, 2.750, 3.385},
		100: {1.290, 1.660, 1.984, 2.364, 2.626, 3.174},
	} {
		for i, at := range critical {
			a, b := pairsOf(nu+1, at)
			p, err := PairedTTest(a, b)
			if want := 2 * tails[i]; err != nil || !p.Valid || math.Abs(p.Value-want) > 4e-3*want {
				t.Errorf("%d degrees of freedom, t = %g: p = %v, %v, want %g ± 0.4 %%", nu, at, p, err, want)
			}
			if back, err := PairedTTest(b, a); err != nil || back != p {
				t.Errorf("%d degrees of freedom, t = −%g: p = %v, %v, want %v as for %g", nu, at, back, err, p, at)
			}
		}
	}
}

// Sleep data of Student (Biometrika 1908), ten patients and two drugs: t = 4.0621 with 9 degrees of freedom, p =
// 0.002833, as R prints it.
func TestPairedTTestStudent(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	if p, err := PairedTTest(first, second); err != nil || math.Abs(p.Value-0.002833) > 5e-7 {
		t.Errorf("p = %v, %v, want 0.002833 to the last digit", p, err)
	}
}

// The far tail keeps its digits: with two degrees of freedom p = 1 − t/√(t² + 2), about 1/t² for large t.
func TestPairedTTestFarTail(t *testing.T) {
	a, b := pairsOf(3, 1e8)
	// the differences' own rounding: spread 1e-8
	if p, err := PairedTTest(a, b); err != nil || math.Abs(p.Value-1e-16) > 1e-17 {
		t.Errorf("t = 1e8: p = %v, %v, want 1e-16 ± 10 %%", p, err)
	}
	a, b = pairsOf(1000, 50)
	if p, err := PairedTTest(a, b); err != nil || !(p.Value > 1e-280 && p.Value < 1e-265) {
		t.Errorf("t = 50, 999 degrees of freedom: p = %v, %v, want about (1 + t²/999)^−500 = 1e-272", p, err)
	}
}

func TestPairedTTestEdges(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want files.Optional
	}{
		{nil, nil, files.Optional{}},
		{[]float64{1}, []float64{2}, files.Optional{}},
		{[]float64{1, 2}, []float64{1, 2}, files.Some(1)},
		{[]float64{2, 3}, []float64{1, 2}, files.Some(0)},
	} {
		if p, err := PairedTTest(c.a, c.b); err != nil || p != c.want {
			t.Errorf("%v and %v: %v, %v, want %v", c.a, c.b, p, err, c.want)
		}
	}
	_, err := PairedTTest([]float64{1, math.NaN()}, []float64{1, 2})
	if err == nil || !strings.Contains(err.Error(), "pair 2") {
		t.Errorf("NaN: %v, want pair 2 named", err)
	}
}
