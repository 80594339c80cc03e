package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// labelsOf returns n labels of 10 classes in mixed order, class c about twice as often as class c−5.
func labelsOf(n int) []uint8 {
	s := rng.Key{Seed: 77, Purpose: rng.Generated}.Stream(0, 0, 0)
	labels := make([]uint8, n)
	for i := range labels {
		labels[i] = uint8(s.IntN(15))
		if labels[i] > 9 {
			labels[i] -= 5
		}
	}
	return labels
}

// dirichletOf is [Cut] of labels among clients, by a draw of each client or class.
func dirichletOf(kind SplitKind, labels []uint8, classes, clients int, alpha float64, seed uint32) ([][]int32, error) {
	return cutParts(&plan.Samples{Labels: labels, Classes: classes},
		SplitOptions{Kind: kind, Clients: clients, Alpha: alpha}, seed)
}

// plainDirichlet returns n numbers of the symmetric Dirichlet distribution, from the draws of [logDirichlet] but
// without logarithms: for an alpha of 0.1 or more.
func plainDirichlet(s *rng.Stream, alpha float64, n int) []float64 {
	p, sum := make([]float64, n), 0.0
	for i := range p {
		p[i] = math.Exp(s.LogGamma(alpha))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Dirichlet(α) on 10 classes: the mean of a component is 1/10 and its variance 0.09/(10α+1). Tolerance: five standard
// errors of the mean of 20,000 draws, and a tenth of the variance.
func TestLogDirichlet(t *testing.T) {
	longtest.Numbers(t)
	const n = 20_000
	for _, alpha := range []float64{1e-3, 0.1, 1, 100} {
		s := rng.Key{Seed: 1, Purpose: rng.Split}.Stream(0, 0, 0)
		var mean, squares float64
		for range n {
			total := 0.0
			p := logDirichlet(s, alpha, 10)
			for c := range p {
				p[c] = math.Exp(p[c])
				total += p[c]
			}
			if math.Abs(total-1) > 1e-12 {
				t.Fatalf("alpha %g: components sum to %g, want 1", alpha, total)
			}
			mean, squares = mean+p[3]/n, squares+p[3]*p[3]/n
		}
		want, variance := 0.09/(10*alpha+1), squares-mean*mean
		if math.Abs(mean-0.1) > 5*math.Sqrt(want/n) || math.Abs(variance-want) > 0.1*want {
			t.Errorf("alpha %g: mean %g variance %g, want 0.1 and %g", alpha, mean, variance, want)
		}
	}
}

// Every sample goes to exactly one client, whatever the concentration; each client's lie class by class, in file order.
func TestDirichletTotals(t *testing.T) {
	longtest.Numbers(t)
	for _, alpha := range []float64{1e-300, 1e-6, 0.05, 0.1, 1, 1e6, math.MaxFloat64} {
		for _, clients := range []int{1, 2, 100, 700} {
			for _, n := range []int{0, 1, 5000} {
				t.Run(fmt.Sprintf("alpha=%g_N=%d_n=%d", alpha, clients, n), func(t *testing.T) {
					labels := labelsOf(n)
					parts, err := dirichletOf(SplitClients, labels, 10, clients, alpha, 3)
					if err != nil || len(parts) != clients {
						t.Fatalf("%d parts, %v, want %d", len(parts), err, clients)
					}
					owners := make([]int, n)
					for i, part := range parts {
						for k, s := range part {
							owners[s]++
							if k > 0 &&
								(labels[part[k-1]] > labels[s] || labels[part[k-1]] == labels[s] && part[k-1] >= s) {
								t.Fatalf("client %d: sample %d of class %d before %d of class %d",
									i, part[k-1], labels[part[k-1]], s, labels[s])
							}
						}
					}
					for s, k := range owners {
						if k != 1 {
							t.Fatalf("sample %d has %d owners, want 1", s, k)
						}
					}
				})
			}
		}
	}
}

// The cuts, recomputed in the plain way (no logarithms) from the same draws. Tolerance: none in the sum of moves below
// one sample a cut, as the two ways to round may differ where a cut falls on a half.
func TestDirichletCuts(t *testing.T) {
	const clients, classes, alpha, seed = 100, 10, 0.1, 6
	labels := labelsOf(50_000)
	parts := must.Get(dirichletOf(SplitClients, labels, classes, clients, alpha, seed))(t)
	var nu [clients][]float64
	for i := range nu {
		nu[i] = plainDirichlet(rng.Key{Seed: seed, Purpose: rng.Split}.Stream(0, i, 0), alpha, classes)
	}
	for c := range classes {
		total, n := 0.0, 0
		for i := range nu {
			total += nu[i][c]
		}
		for _, l := range labels {
			if int(l) == c {
				n++
			}
		}
		cum, before, have := 0.0, 0, 0
		for i := range nu {
			cum += nu[i][c]
			cut := int(math.RoundToEven(float64(n) * cum / total))
			for _, s := range parts[i] {
				if int(labels[s]) == c {
					have++
				}
			}
			if have < cut-1 || have > cut+1 {
				t.Fatalf("class %d: %d samples up to client %d, want %d ± 1", c, have, i, cut)
			}
			before = cut
		}
		if before != n || have != n {
			t.Errorf("class %d: %d of %d samples given out", c, have, n)
		}
	}
}

// By hand: with one sample a class the cuts round to 0 or 1; a huge alpha gives equal shares, cut at halves to even.
func TestDirichletEqual(t *testing.T) {
	labels := slices.Repeat([]uint8{0}, 10)
	// one class: ν is 1 for everybody, so cuts at 2.5, 5, 7.5, 10
	parts := must.Get(dirichletOf(SplitClients, labels, 1, 4, 0.3, 1))(t)
	if want := [][]int32{{0, 1}, {2, 3, 4}, {5, 6, 7}, {8, 9}}; fmt.Sprint(parts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v (cuts at 2, 5, 8, 10)", parts, want)
	}

	labels = labelsOf(50_000)
	parts = must.Get(dirichletOf(SplitClients, labels, 10, 10, 1e6, 1))(t)
	for i, part := range parts { // a share's relative deviation is 1/√alpha = 0.1 %, five of which are 25 samples
		if d := len(part) - 5000; d < -40 || d > 40 {
			t.Errorf("client %d: %d samples, want 5000 ± 40", i, len(part))
		}
	}
}

// The smaller alpha is, the fewer classes a client has; with 1e-6 nearly always one.
func TestDirichletConcentration(t *testing.T) {
	labels := labelsOf(20_000)
	largest := func(alpha float64) float64 {
		parts := must.Get(dirichletOf(SplitClients, labels, 10, 100, alpha, 5))(t)
		sum, holders := 0.0, 0
		for _, share := range ClassShares(parts, labels, 10) {
			if m := slices.Max(share); m > 0 {
				sum += m
				holders++
			}
		}
		return sum / float64(holders)
	}
	tiny, small, one, huge := largest(1e-6), largest(0.1), largest(1), largest(1e6)
	if tiny < 0.99 || small < 0.5 || small > 0.9 || one < 0.2 || one > 0.5 || huge > 0.15 {
		t.Errorf("mean share of a client's largest class: %.3f %.3f %.3f %.3f for alpha 1e-6, 0.1, 1, 1e6, "+
			"want >0.99, 0.5–0.9, 0.2–0.5, <0.15", tiny, small, one, huge)
	}
}

// A split is a function of its arguments, and a client's draw does not depend on how many clients there are: with one
// client more, what the first ones hold shrinks in proportion, and never grows.
func TestDirichletSeeds(t *testing.T) {
	labels := labelsOf(3000)
	split := func(clients int, seed uint32) [][]int32 {
		parts := must.Get(dirichletOf(SplitClients, labels, 10, clients, 0.5, seed))(t)
		return parts
	}
	if again := split(20, 3); fmt.Sprint(split(20, 3)) != fmt.Sprint(again) {
		t.Error("the same arguments, another split")
	}
	if fmt.Sprint(split(20, 3)) == fmt.Sprint(split(20, 4)) {
		t.Error("another seed, the same split")
	}
	fewer, more := split(20, 3), split(21, 3)
	for i := range fewer {
		if len(more[i]) > len(fewer[i])+10 { // a cut of each of ten classes may round up
			t.Errorf("client %d: %d samples of 20 clients, %d of 21, want no more", i, len(fewer[i]), len(more[i]))
		}
	}
}

func TestDirichletErrors(t *testing.T) {
	for _, c := range []struct {
		clients, classes int
		alpha            float64
		want             string
	}{
		{0, 10, 0.1, "datasets: split: 0 clients, want at least 1"},
		{-3, 10, 0.1, "datasets: split: -3 clients, want at least 1"},
		{5, 0, 0.1, "datasets: split: 0 classes, want 1 … 256"},
		{5, 2, 0.1, "datasets: split: sample 2: label 2, want 0 … 1"},
		{5, 10, 0, "datasets: split: alpha 0, want a finite positive number (1e-300 or more)"},
		{5, 10, -1, "datasets: split: alpha -1, want a finite positive number (1e-300 or more)"},
		{5, 10, math.NaN(), "datasets: split: alpha NaN, want a finite positive number (1e-300 or more)"},
		{5, 10, math.Inf(1), "datasets: split: alpha +Inf, want a finite positive number (1e-300 or more)"},
	} {
		_, err := dirichletOf(SplitClients, []uint8{0, 1, 2}, c.classes, c.clients, c.alpha, 1)
		wantError(t, err, nil, c.want)
	}
}

func TestClassShares(t *testing.T) {
	labels := []uint8{0, 1, 1, 2, 0, 1}
	got := ClassShares([][]int32{{0, 4, 1, 2}, {}, {3, 5}}, labels, 3)
	want := [][]float64{{0.5, 0.5, 0}, {0, 0, 0}, {0, 0.5, 0.5}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
