package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

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

// By hand: the deviations of 1, 2, 3, 4 are ∓1.5 and ∓0.5, so that r = (0.75 − 0.25 + 0.75)/5 = 1/4 and n = 4·3/5. A
// series that alternates is bounded by its length, and a slow one from below: one period of a sine has 1 − r = 2π²/n².
func TestEffectiveN(t *testing.T) {
	sine := make([]float64, 200)
	for i := range sine {
		sine[i] = math.Sin(2 * math.Pi * float64(i) / float64(len(sine)))
	}
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{3}, 1},
		{[]float64{1, 2}, 2},
		{[]float64{2, 2, 2, 2}, 1},
		{[]float64{1, 2, 3, 4}, 2.4},
		{[]float64{1, 0, 1, 0, 1}, 5},
		{sine, 1},
	} {
		if got := EffectiveN(c.x); math.Abs(got-c.want) > 1e-14 {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
	}
}

// An autoregression of order 1 with a known coefficient φ has n·(1 − φ)/(1 + φ). The estimate of φ from n values has
// the standard deviation √((1 − φ²)/n), which is at most 1.3 % of the result here: 5 % is four of them.
func TestEffectiveNOfAutoregression(t *testing.T) {
	const n = 100_000
	for _, phi := range []float64{0, 0.3, 0.8, 0.87} {
		noise := rand.New(rand.NewPCG(3, 7))
		x := make([]float64, n)
		for i := 1; i < n; i++ {
			x[i] = phi*x[i-1] + noise.NormFloat64()
		}
		if got, want := EffectiveN(x), n*(1-phi)/(1+phi); math.Abs(got-want) > 0.05*want {
			t.Errorf("φ = %g: %.0f, want %.0f ± 5 %%", phi, got, want)
		}
	}
}

// By hand. The second line is the example of Holm's own procedure at 0.05 with p = 0.01, 0.04, 0.03, 0.005: 4·0.005,
// 3·0.01, 2·0.03, and then 0.04, which may not be below 0.06.
func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.2}, []float64{0.2}},
		{[]float64{0.5, 0.9, 0.001}, []float64{1, 1, 0.003}},
		{[]float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06}},
		{[]float64{0, 1}, []float64{0, 1}},
	} {
		before := slices.Clone(c.p)
		got := Holm(c.p)
		for i := range c.want {
			if len(got) != len(c.want) || math.Abs(got[i]-c.want[i]) > 1e-15 {
				t.Errorf("%v: %v, want %v", c.p, got, c.want)
				break
			}
		}
		if !slices.Equal(before, c.p) {
			t.Errorf("Holm changed its input to %v", c.p)
		}
	}
}

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
