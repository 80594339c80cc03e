package availability

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/internal/must"
)

// ToN, (236): the states of 300 rounds, recomputed from the same uniform numbers, start from the stationary
// distribution and then follow P(active | active) = λ + (1−λ)π and P(active | inactive) = (1−λ)π. So the rounds of a
// chain depend on no other chain.
func TestChains(t *testing.T) {
	const rounds, seed = 300, 11
	pi := []float64{0.9, 0.9, 0.1, 0.1, 0.5, 0.3}
	lambda := []float64{0.9, 0.01, 0.9, -0.1, -0.8, 0}
	model := must.Get(newChains(len(pi), seed, pi, lambda, "client"))(t)
	before := pi // the probability of each client to be active in the next round
	for r := range rounds {
		var want []int
		next := make([]float64, len(pi))
		for m := range pi {
			next[m] = (1 - lambda[m]) * pi[m]
			if (rng.Key{Seed: seed, Purpose: rng.Availability}).Stream(r+1, m, 0).Float64() < before[m] {
				want = append(want, m)
				next[m] += lambda[m]
			}
		}
		if got := model.Active(r); !slices.Equal(got, want) {
			t.Fatalf("round %d: active %v, want %v", r, got, want)
		}
		before = next
	}
}

// The classes of 24 clients, in one group or in each of two. The λ of weakly correlated clients are normal numbers, in
// the code's form moved and halved.
func TestMarkovClasses(t *testing.T) {
	halves := slices.Concat(slices.Repeat([]int{0}, 12), slices.Repeat([]int{1}, 12))
	for form, want := range map[Form]map[string]int{ // of 12 clients
		PaperForm: {"π=0.9 correlated": 3, "π=0.9 weak": 3, "π=0.1 correlated": 3, "π=0.1 weak": 3},
		CodeForm:  {"π=0.9 weak": 6, "π=0.1 correlated": 3, "π=0.1 weak": 3},
	} {
		for _, groups := range [][]int{nil, halves} {
			t.Run(fmt.Sprintf("%s/groups=%t", form, groups != nil), func(t *testing.T) {
				o := Defaults(make([]float64, 24), 3)
				o.Form, o.Groups = form, groups
				pi, lambda := mustNew(t, "markov", o).Stationary()
				got := [2]map[string]int{{}, {}}
				for i := range pi {
					class := "correlated"
					if lambda[i] != 0.9 {
						class = "weak"
						weak := 0.01 * rng.Key{Seed: 3, Purpose: rng.Availability}.Stream(0, i, 1).Normal()
						if form == CodeForm {
							weak = (weak + 0.01) / 2
						}
						if lambda[i] != weak {
							t.Errorf("client %d: λ %g, want %g", i, lambda[i], weak)
						}
					}
					got[halves[i]][fmt.Sprintf("π=%.1f %s", pi[i], class)]++
				}
				for class, n := range want {
					first, second := got[0][class], got[1][class]
					if first+second != 2*n || groups != nil && first != n {
						t.Errorf("%s: %d and %d clients of each half, want %d in all, half of them in each group",
							class, first, second, 2*n)
					}
				}
			})
		}
	}
}

// Drawn classes: a client's class is the first number of a stream of its own, whatever the groups.
func TestDrawnClasses(t *testing.T) {
	const clients, seed = 50, 3
	for form, classes := range map[Form][4]string{
		PaperForm: {"π=0.9 correlated", "π=0.9 weak", "π=0.1 correlated", "π=0.1 weak"},
		CodeForm:  {"π=0.9 weak", "π=0.9 weak", "π=0.1 correlated", "π=0.1 weak"},
	} {
		o := Defaults(make([]float64, clients), seed)
		o.Form, o.Drawn, o.Groups = form, true, make([]int, clients)
		for i := range o.Groups {
			o.Groups[i] = i % 3
		}
		pi, lambda := mustNew(t, "markov", o).Stationary()
		for i := range pi {
			want := classes[rng.Key{Seed: seed, Purpose: rng.Availability}.Stream(0, i, 4).IntN(4)]
			class := map[bool]string{false: "weak", true: "correlated"}[lambda[i] == 0.9]
			if got := fmt.Sprintf("π=%.1f %s", pi[i], class); got != want {
				t.Errorf("%s: client %d: %s, want %s", form, i, got, want)
			}
		}
	}
}

// ToN, figure 5: 100 clients, 10 clusters of 10. TestChains has that chains move by themselves.
func TestClustersMoveTogether(t *testing.T) {
	model := mustNew(t, "clusters", Defaults(make([]float64, 100), 2))
	pi, lambda := model.Stationary()
	p := make([]float64, 100)
	model.Probabilities(7, p)
	for i := range pi {
		c := i / 10
		wantPi, wantLambda := 0.9, 0.0
		if c >= 5 {
			wantPi, wantLambda = 0.1, float64(c)/10
		}
		if math.Abs(pi[i]-wantPi) > 1e-15 || lambda[i] != wantLambda || p[i] != pi[i] { // 0.5 − 0.4, rounded
			t.Errorf("client %d: π %g, λ %g, p %g, want %g, %g and π", i, pi[i], lambda[i], p[i], wantPi, wantLambda)
		}
	}
	for r := range 500 {
		active := model.Active(r)
		for c := range 10 {
			n := 0
			for _, i := range active {
				if i/10 == c {
					n++
				}
			}
			if n != 0 && n != 10 {
				t.Fatalf("round %d: %d clients of cluster %d, want all of its 10 or none", r, n, c)
			}
		}
	}
}

func TestChainsRefused(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, model string
		change      func(*Options)
		want        string // start of the error after "availability: " and the model
	}{
		{
			"clusters that do not divide", "clusters", func(o *Options) { o.Clusters = 3 },
			"3 clusters for 4 clients, want a divisor of 4",
		},
		{
			"no clusters", "clusters", func(o *Options) { o.Clusters = 0 },
			"0 clusters for 4 clients, want a divisor of 4",
		},
		{"g", "markov", func(o *Options) { o.G = 0.5 }, "g 0.5, want at least 0 and below 0.5"},
		{
			"g of clusters", "clusters", func(o *Options) { o.G, o.Clusters = nan, 2 },
			"g NaN, want at least 0 and below 0.5",
		},
		{"nu", "markov", func(o *Options) { o.Nu = 1.5 }, "client "},
		{"epsilon", "markov", func(o *Options) { o.Epsilon = -1 }, "epsilon -1, want at least 0 and below 1"},
		{"form", "markov", func(o *Options) { o.Form = "papers" }, `form "papers": unknown, want paper or code`},
		{"groups", "markov", func(o *Options) { o.Groups = []int{0} }, "groups of 1 clients, want 4"},
		{"group", "markov", func(o *Options) { o.Groups = []int{0, 0, -1, 0} }, "client 2: group -1, want 0 … 3"},
		{"p_min", "uniform", func(o *Options) { o.PMin = 0 }, "smallest probability 0, want above 0 and at most 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Defaults(make([]float64, 4), 1)
			c.change(&o)
			model, err := New(c.model, o)
			want := fmt.Sprintf("availability: %s: %s", c.model, c.want)
			if err == nil || model != nil || !strings.HasPrefix(err.Error(), want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, %v, want an error of one line that starts %q", model, err, want)
			}
		})
	}
}

// Of four clients, or two clusters, whose chains have π = 0.9 and λ = 0 but for one.
func TestChainsInfeasible(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name       string
		m          int
		pi, lambda float64
		want       string // start of the error
	}{
		{
			"lambda too small", 3, 0.9, -0.2,
			"3: lambda -0.2 at pi 0.9, which no chain of two states has, want at least -0.1111",
		},
		{
			"lambda too small at small pi", 0, 0.2, -0.26,
			"0: lambda -0.26 at pi 0.2, which no chain of two states has, want at least -0.25 and below 1",
		},
		{"lambda 1", 2, 0.9, 1, "2: lambda 1 at pi 0.9"},
		{"lambda NaN", 2, 0.9, nan, "2: lambda NaN at pi 0.9"},
		{"pi 1", 1, 1, 0, "1: pi 1, want above 0 and below 1"},
		{"pi 0", 1, 0, 0, "1: pi 0, want above 0 and below 1"},
		{"pi NaN", 1, nan, 0, "1: pi NaN, want above 0 and below 1"},
	} {
		for n, name := range map[int]string{4: "client", 8: "cluster"} {
			t.Run(c.name+" of a "+name, func(t *testing.T) {
				pi, lambda := []float64{0.9, 0.9, 0.9, 0.9}, []float64{0, 0, 0, 0}
				pi[c.m], lambda[c.m] = c.pi, c.lambda
				model, err := newChains(n, 1, pi, lambda, name)
				if err == nil || !strings.HasPrefix(err.Error(), name+" "+c.want) || model != nil {
					t.Errorf("got %v, %v, want an error that starts %q", model, err, name+" "+c.want)
				}
			})
		}
	}
	// the bounds themselves are possible: at λ = 1 − 1/π the client is never twice away
	model := must.Get(newChains(1, 1, []float64{0.8}, []float64{-0.25}, "client"))(t)
	away := 0
	for r := range 1000 {
		if len(model.Active(r)) == 0 {
			away++
			if len(model.Active(r+1)) == 0 {
				t.Errorf("rounds %d and %d: away, want P(active | inactive) = 1", r, r+1)
			}
		}
	}
	if away == 0 {
		t.Error("never away in 1000 rounds at π = 0.8")
	}
}
