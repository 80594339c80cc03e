package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
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

// Every sample goes to exactly one client, whatever the concentration; the samples of a client are sorted by class, and
// then by the order of the file.
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

// Every sample goes to exactly one client, at the cuts that the same draws give in the plain way, without logarithms:
// of each client over the classes, or of each class over the clients. The two ways to round may differ by one sample
// where a cut falls on a half.
func TestDirichletCuts(t *testing.T) {
	const clients, classes, seed = 100, 10, 6
	labels := labelsOf(50_000)
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	for kind, alpha := range map[SplitKind]float64{SplitClients: 0.1, SplitClasses: 0.5} {
		t.Run(string(kind), func(t *testing.T) {
			parts := must.Get(dirichletOf(kind, labels, classes, clients, alpha, seed))(t)
			all := slices.Sorted(slices.Values(slices.Concat(parts...)))
			if len(all) != len(labels) || len(slices.Compact(all)) != len(labels) {
				t.Fatalf("%d samples held, want each of %d once", len(all), len(labels))
			}
			var share [classes][clients]float64
			for i := range clients {
				for c := range classes {
					if kind == SplitClients {
						share[c][i] = plainDirichlet(key.Stream(0, i, rng.SplitStepClients), alpha, classes)[c]
					} else {
						share[c][i] = plainDirichlet(key.Stream(0, c, rng.SplitStepClasses), alpha, clients)[i]
					}
				}
			}
			for c := range classes {
				own := func(part []int32) (n int) {
					for _, s := range part {
						if int(labels[s]) == c {
							n++
						}
					}
					return n
				}
				n, total := own(indices(len(labels))), 0.0
				for _, x := range share[c] {
					total += x
				}
				sum, have := 0.0, 0
				for i, part := range parts {
					sum, have = sum+share[c][i], have+own(part)
					if want := math.RoundToEven(float64(n) * sum / total); math.Abs(float64(have)-want) > 1 {
						t.Fatalf("class %d: %d samples up to client %d, want %.0f ± 1", c, have, i, want)
					}
				}
			}
		})
	}
}

// By hand: with one class the shares are equal, and cut at halves to even.
func TestDirichletEqual(t *testing.T) {
	labels := slices.Repeat([]uint8{0}, 10)
	// one class: ν is 1 for everybody, so cuts at 2.5, 5, 7.5, 10
	parts := must.Get(dirichletOf(SplitClients, labels, 1, 4, 0.3, 1))(t)
	if want := [][]int32{{0, 1}, {2, 3, 4}, {5, 6, 7}, {8, 9}}; fmt.Sprint(parts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v (cuts at 2, 5, 8, 10)", parts, want)
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

// The sizes are FedAWE's released partition, computed with NumPy 1.24.2: numpy.random.seed(3), dirichlet(0.3)
// of ten classes for each of seven clients, and classes of 30 samples cut at round(30 · share so far).
func TestDirichletNumPy(t *testing.T) {
	labels := make([]uint8, 300)
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	parts := must.Get(cutParts(&plan.Samples{Labels: labels, Classes: 10},
		SplitOptions{Kind: SplitClients, Clients: 7, Alpha: 0.3, NumPy: numpy.New(3)}, 0))(t)
	for i, want := range [][]int{
		{11, 0, 23, 0, 0, 0, 7, 8, 0, 0},
		{0, 1, 1, 0, 1, 20, 10, 0, 1, 0},
		{6, 0, 2, 7, 0, 0, 4, 16, 9, 2},
		{4, 1, 0, 12, 25, 0, 0, 0, 0, 10},
		{9, 12, 3, 7, 3, 1, 1, 0, 3, 6},
		{0, 14, 1, 0, 0, 1, 3, 0, 17, 0},
		{0, 2, 0, 4, 1, 8, 5, 6, 0, 12},
	} {
		got := make([]int, 10)
		for _, s := range parts[i] {
			got[labels[s]]++
		}
		if !slices.Equal(got, want) {
			t.Errorf("client %d: samples of each class %v, want %v", i, got, want)
		}
	}
	// shares vanish with NumPy: an error, or what is left is cut whole
	for _, alpha := range []float64{1e-6, 1e-3, 2e-3, 5e-3} {
		parts, err := cutParts(&plan.Samples{Labels: labels, Classes: 10},
			SplitOptions{Kind: SplitClients, Clients: 7, Alpha: alpha, NumPy: numpy.New(3)}, 0)
		total := 0
		for _, part := range parts {
			total += len(part)
		}
		if err == nil && total != len(labels) || alpha == 1e-6 && err == nil {
			t.Errorf("alpha %g: %d samples, error %v, want an error or all 300", alpha, total, err)
		}
	}
}
