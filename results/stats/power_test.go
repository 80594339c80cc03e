package stats

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Owen's closed forms (Biometrika 1965) for two and four degrees of freedom, and the normal probability at 0.
func TestNoncentralT(t *testing.T) {
	normal := distuv.UnitNormal
	for _, c := range []struct{ t, shift float64 }{{1, 0}, {2.5, 1}, {-1, 0.5}, {4.3, 3}, {0.2, -2}, {12, 6}} {
		for _, df := range []float64{2, 4} {
			a, b := c.t/math.Sqrt(df), df/(df+c.t*c.t)
			m0 := a * math.Sqrt(b) * normal.Prob(c.shift*math.Sqrt(b)) * normal.CDF(c.shift*a*math.Sqrt(b))
			sum := m0
			if df == 4 {
				m1 := b * (c.shift*a*m0 + a/math.Sqrt(2*math.Pi)*normal.Prob(c.shift))
				sum += b / 2 * (c.shift*a*m1 + m0)
			}
			want := normal.CDF(-c.shift) + math.Sqrt(2*math.Pi)*sum
			if got := noncentralT(c.t, c.shift, df); math.Abs(got-want) > 1e-8 {
				t.Errorf("t = %g, shift %g, %g degrees of freedom: %.9f, want %.9f ± 10⁻⁸", c.t, c.shift, df, got, want)
			}
		}
		if got, want := noncentralT(0, c.shift, 1), normal.CDF(-c.shift); math.Abs(got-want) > 1e-9 {
			t.Errorf("t = 0, shift %g: %g, want %g", c.shift, got, want)
		}
	}
}

// The examples of R's power.t.test: 20 values in each group find a difference of one standard deviation with
// probability 0.8689528, and 22.02110 values with 0.9. R leaves out the other tail, of about 2·10⁻⁷.
func TestPowerOfR(t *testing.T) {
	of := func(n float64) (shift, df float64) { return math.Sqrt(n / 2), 2 * (n - 1) }
	if got := twoSidedPower(0.05, 20, of); math.Abs(got-0.8689528) > 5e-7 {
		t.Errorf("power %.7f, want 0.8689528", got)
	}
	if got := twoSidedPower(0.05, 22.02110, of); math.Abs(got-0.9) > 5e-7 {
		t.Errorf("power %.7f, want 0.9000000", got)
	}
}

// Cohen's tables (Statistical Power Analysis, 1988, table 2.4.1), two-sided at 0.05: 64 values in each group for d =
// 0.5 and 26 for d = 0.8 with power 0.8. 34 pairs for d = 0.5 as R and G*Power have it.
func TestSeedsNeeded(t *testing.T) {
	find := Detect{Difference: 0.5, Significance: 0.05, Power: 0.8}
	for _, c := range []struct {
		std          float64
		apart, pairs int
	}{{1, 64, 34}, {0.625, 26, 15}, {0, 2, 2}} {
		apart, err := find.Apart(c.std)
		if err != nil || apart != c.apart {
			t.Errorf("standard deviation %g: %d in each group, %v, want %d", c.std, apart, err, c.apart)
		}
		pairs, err := find.Paired(c.std)
		if err != nil || pairs != c.pairs {
			t.Errorf("standard deviation %g: %d pairs, %v, want %d", c.std, pairs, err, c.pairs)
		}
	}
	if n, err := (Detect{1e-9, 0.05, 0.8}).Apart(1); err == nil || !strings.Contains(err.Error(), "more than 1000000") {
		t.Errorf("a tiny difference: %d, %v, want an error", n, err)
	}
}
