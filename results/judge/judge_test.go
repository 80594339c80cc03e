package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/internal/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// draws of each case; the standard error of a rate of 5 % is then 0.15 %.
const draws = 20_000

func sample(r *rand.Rand, mean, std float64, n int) stats.Estimate {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + std*r.NormFloat64()
	}
	return stats.EstimateOf(x)
}

// rates returns how often ours, whose true mean is so many margins away from the printed one, agrees and differs.
func rates(away, spread float64, n, printedN int, m Margin) (agrees, differs float64) {
	r := rand.New(rand.NewPCG(uint64(1000*away), uint64(n*100+printedN)))
	for range draws {
		printed, scale, mean := stats.Estimate{Mean: 100, N: printedN}, m.Width, 100+away*m.Width
		if m.Log {
			scale, mean = 100*m.Width, 100*math.Exp(away*m.Width)
		}
		ours := sample(r, mean, spread*scale, n)
		if printedN > 1 {
			printed = sample(r, 100, spread*scale, printedN)
		}
		d, _ := differenceOf(ours, printed, m)
		switch d.judge(m.Width) { // the verdict of [Numbers], without the seeds that would tell
		case Agrees:
			agrees++
		case Differs:
			differs++
		case Untold, NotJudged:
		}
	}
	return agrees / draws, differs / draws
}

// A wrong "agrees" and a wrong "differs" are rare whatever the truth is, and ten seeds of half a margin's spread
// decide.
func TestErrorRates(t *testing.T) {
	const most = 0.055 // 5 %, and three standard errors of the draws
	for _, c := range []struct {
		name    string
		margin  Margin
		printed int // seeds of the paper; 0: it prints no spread
	}{
		{"printed without a spread", Within(1), 0},
		{"printed with three seeds", Within(1), 3},
		{"printed with ten seeds", Within(1), 10},
		{"ratio", Ratio(0.1), 0},
		{"ratio, printed with three seeds", Ratio(0.1), 3},
	} {
		for _, n := range []int{3, 5, 10} {
			for _, spread := range []float64{0.5, 1, 2} {
				for _, away := range []float64{0, 0.5, 1, 2} {
					agrees, differs := rates(away, spread, n, c.printed, c.margin)
					at := fmt.Sprintf("%s, %d seeds, spread of %g margins, %g margins away", c.name, n, spread, away)
					if away >= 1 && agrees > most {
						t.Errorf("%s: agrees in %.2f %%, want at most 5.5", at, 100*agrees)
					}
					if away <= 1 && differs > most {
						t.Errorf("%s: differs in %.2f %%, want at most 5.5", at, 100*differs)
					}
					if decides := n == 10 && spread == 0.5 && c.printed != 3; !decides {
						continue
					}
					if away == 0 && agrees < 0.95 {
						t.Errorf("%s: agrees in %.2f %%, want 95 at least", at, 100*agrees)
					}
					if away == 2 && differs < 0.95 {
						t.Errorf("%s: differs in %.2f %%, want 95 at least", at, 100*differs)
					}
				}
			}
		}
	}
}

// Single comparisons, worked out by hand with t(2) = 2.920 (95 %) and 4.303 (97.5 %).
func TestNumbers(t *testing.T) {
	of := func(mean, std float64, n int) stats.Estimate {
		return stats.Estimate{Mean: mean, Std: files.Some(std), N: n}
	}
	alone := func(mean float64, n int) stats.Estimate { return stats.Estimate{Mean: mean, N: n} }
	for _, c := range []struct {
		name          string
		ours, printed stats.Estimate
		margin        Margin
		want          Verdict
		seeds         bool // whether a number of seeds would tell
	}{
		{"0.2 + 2.920·0.3/√3 = 0.71", of(80.2, 0.3, 3), alone(80, 3), Within(1), Agrees, false},
		{"0.2 + 2.920·0.5/√3 = 1.04", of(80.2, 0.5, 3), alone(80, 3), Within(1), Untold, true},
		{"2 − 4.303·0.3/√3 = 1.25", of(78, 0.3, 3), alone(80, 3), Within(1), Differs, false},
		{"2 − 4.303·0.5/√3 = 0.76", of(78, 0.5, 3), alone(80, 3), Within(1), Untold, true},
		{"at the margin no number tells", of(81, 0.5, 3), alone(80, 3), Within(1), Untold, false},
		{"the print is too wide", of(80, 0.1, 3), of(80, 5, 3), Within(1), Untold, false},
		{"one seed", alone(80, 1), alone(80, 3), Within(1), Untold, false},
		{"no spread at all", of(80, 0, 3), of(80, 0, 3), Within(1), Agrees, false},
		{"not finite", of(math.NaN(), 1, 3), alone(80, 3), Within(1), Untold, false},
		{"5 % of a ratio", of(1.05, 0.01, 10), alone(1, 1), Ratio(0.1), Agrees, false},
		{"20 % of a ratio", of(1.2, 0.01, 10), alone(1, 1), Ratio(0.1), Differs, false},
		{"no logarithm", of(0, 0.1, 10), alone(1, 1), Ratio(0.1), Untold, false},
		{"twice 0", of(0, 0, 10), of(0, 0, 3), Ratio(0.1), Agrees, false},
	} {
		o := Numbers(c.ours, c.printed, c.margin)
		if o.Verdict != c.want || (o.Seeds > 0) != c.seeds {
			t.Errorf("%s: %s, %d seeds, want %s, seeds: %t", c.name, o.Verdict, o.Seeds, c.want, c.seeds)
		}
	}
	wide := Numbers(of(80, 0.1, 3), of(80, 5, 3), Within(1))
	if !wide.TooWide || wide.Words() != "cannot be told: the print is too wide" {
		t.Errorf("%+v, want a print that is too wide", wide)
	}
	if o := Numbers(of(81, 0.5, 3), alone(80, 3), Within(1)); o.Words() != "cannot be told: too near to the margin" {
		t.Errorf("%+v, want a difference too near to the margin", o)
	}
	// As many seeds as were asked for tell four times in five.
	o := Numbers(of(80.2, 0.5, 3), alone(80, 3), Within(1))
	told, r := 0.0, rand.New(rand.NewPCG(1, 2))
	for range draws {
		if d, _ := differenceOf(sample(r, 80.2, 0.5, o.Seeds), alone(80, 3), Within(1)); d.judge(1) == Agrees {
			told++
		}
	}
	if share := told / draws; share < 0.77 || share > 0.95 {
		t.Errorf("%d seeds tell in %.3f of the draws, want about 0.8, and more only as seeds are whole", o.Seeds, share)
	}
}

// The numbers of paired tests have no verdict, however near they are to a printed one.
func TestNotJudged(t *testing.T) {
	x := stats.Estimate{Mean: 0.001, N: 3}
	for _, m := range metrics.OfPairs {
		if o, is := Printed(m, x, x, true, true); is || o != (Outcome{}) {
			t.Errorf("%s: %+v, want no verdict", m, o)
		}
	}
}

// Whoever is ahead of nobody is called ahead of all, or behind one, in one case of twenty at most.
func TestAheadRates(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		for _, rivals := range []int{1, 4} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(rivals)))
			var agrees, differs float64
			for range draws {
				first := make([]float64, n)
				for i := range first {
					first[i] = r.NormFloat64()
				}
				var leads []stats.Estimate
				for range rivals {
					d := make([]float64, n)
					for i := range d {
						d[i] = first[i] - r.NormFloat64()
					}
					leads = append(leads, stats.EstimateOf(d))
				}
				switch ahead(leads, n, 0.5) { // without the seeds that would tell
				case Agrees:
					agrees++
				case Differs:
					differs++
				case Untold, NotJudged:
				}
			}
			if agrees/draws > 0.055 || differs/draws > 0.03 {
				t.Errorf("%d seeds, %d rivals, all equal: ahead %.4f, behind %.4f, want at most 0.055 and 0.03",
					n, rivals, agrees/draws, differs/draws)
			}
		}
	}
}

func TestAhead(t *testing.T) {
	of := func(mean, std float64, n int) stats.Estimate {
		return stats.Estimate{Mean: mean, Std: files.Some(std), N: n}
	}
	for _, c := range []struct {
		name  string
		leads []stats.Estimate
		want  Verdict
	}{
		{"t = 3 > t(9) = 1.833", []stats.Estimate{of(3, math.Sqrt(10), 10)}, Agrees},
		{"t = 1.8", []stats.Estimate{of(1.8, math.Sqrt(10), 10)}, Untold},
		{"one of two is near", []stats.Estimate{of(3, math.Sqrt(10), 10), of(1, math.Sqrt(10), 10)}, Untold},
		{"t = −2.3 < −t(9) = −2.262", []stats.Estimate{of(-2.3, math.Sqrt(10), 10)}, Differs},
		{"t = −2.3 as one of two: −2.685", []stats.Estimate{
			of(-2.3, math.Sqrt(10), 10), of(9, 1, 10),
		}, Untold},
		{"t = −2.8 as one of two", []stats.Estimate{of(-2.8, math.Sqrt(10), 10), of(9, 1, 10)}, Differs},
		{"one seed", []stats.Estimate{{Mean: 3, N: 1}}, Untold},
		{"nothing", nil, Untold},
	} {
		if got, _ := Ahead(c.leads); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if _, seeds := Ahead([]stats.Estimate{of(1, 1, 3)}); seeds < 8 || seeds > 10 {
		t.Errorf("a lead of one standard deviation: %d seeds, want 8 to 10", seeds)
	}
}

// Wilson's interval of 9 in 10 is 0.596 … 0.982, of 8 in 10 0.490 … 0.943.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		yes, n int
		want   Verdict
	}{
		{9, 10, Agrees},
		{8, 10, Untold},
		{1, 10, Differs},
		{2, 10, Untold},
		{1, 1, Untold},
		{3, 3, Untold},
		{4, 4, Agrees},
		{0, 0, Untold},
	} {
		if got, _, _, _ := Share(c.yes, c.n); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.yes, c.n, got, c.want)
		}
	}
	if _, low, high, _ := Share(9, 10); math.Abs(low-0.596) > 5e-4 || math.Abs(high-0.982) > 5e-4 {
		t.Errorf("9 of 10: %.3f … %.3f, want 0.596 … 0.982", low, high)
	}
}

func TestAll(t *testing.T) {
	for _, c := range []struct {
		parts []Verdict
		want  Verdict
	}{
		{nil, Untold},
		{[]Verdict{Agrees, Agrees}, Agrees},
		{[]Verdict{Agrees, Untold}, Untold},
		{[]Verdict{Untold, Differs}, Differs},
		{[]Verdict{Agrees, NotJudged}, Untold},
	} {
		if got := All(c.parts...); got != c.want {
			t.Errorf("%q: %s, want %s", c.parts, got, c.want)
		}
	}
}
