package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// Every sample goes to exactly one client, at the cuts that the class's own draw over the clients gives, recomputed in
// the plain way. The two ways to round may differ by one sample where a cut falls on a half.
func TestDirichletPerClass(t *testing.T) {
	const clients, classes, alpha, seed = 100, 10, 0.5, 6
	labels := labelsOf(50_000)
	parts := must.Get(dirichletOf(SplitClasses, labels, classes, clients, alpha, seed))(t)
	all := slices.Concat(parts...)
	slices.Sort(all)
	if len(all) != len(labels) || len(slices.Compact(all)) != len(labels) {
		t.Fatalf("%d samples held, want each of %d once", len(all), len(labels))
	}
	for c := range classes {
		share := plainDirichlet(rng.Key{Seed: seed, Purpose: rng.Split}.Stream(0, c, 3), alpha, clients)
		n := 0
		for _, l := range labels {
			if int(l) == c {
				n++
			}
		}
		sum, have := 0.0, 0
		for i, part := range parts {
			sum += share[i]
			for _, s := range part {
				if int(labels[s]) == c {
					have++
				}
			}
			if want := math.RoundToEven(float64(n) * sum); math.Abs(float64(have)-want) > 1 {
				t.Fatalf("class %d: %d samples up to client %d, want %.0f ± 1", c, have, i, want)
			}
		}
	}
}

// The share of a class that one of N clients has is Beta(α, (N−1)α): mean 1/N, variance (1/N)(1 − 1/N)/(Nα + 1), over
// many seeds. Tolerance: a tenth; the standard error of the variance of 4,000 shares is some 4 %.
func TestDirichletPerClassSpread(t *testing.T) {
	longtest.Numbers(t)
	const clients, alpha, seeds, n = 20, 0.5, 200, 100_000
	labels := make([]uint8, n)
	var squares float64
	for seed := range uint32(seeds) {
		parts := must.Get(dirichletOf(SplitClasses, labels, 1, clients, alpha, seed))(t)
		for _, part := range parts {
			d := float64(len(part))/n - 1.0/clients
			squares += d * d / (seeds * clients)
		}
	}
	if want := (1.0 / clients) * (1 - 1.0/clients) / (clients*alpha + 1); math.Abs(squares-want) > want/10 {
		t.Errorf("variance of the shares %g, want %g ± %.1g", squares, want, want/10)
	}
}

func TestDirichletPerClassErrors(t *testing.T) {
	for _, c := range []struct {
		clients int
		alpha   float64
		want    string
	}{
		{0, 0.5, "datasets: split: 0 clients, want at least 1"},
		{5, math.NaN(), "datasets: split: alpha NaN, want a finite positive number (1e-300 or more)"},
		{5, -1, "datasets: split: alpha -1, want a finite positive number (1e-300 or more)"},
	} {
		if _, err := dirichletOf(SplitClasses, []uint8{0, 1}, 2, c.clients, c.alpha, 1); fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
