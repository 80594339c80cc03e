package availability

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestChainsRefused(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, process string
		change        func(*Options)
		want          string // start of the error after "availability: " and the process
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
			x, err := New(c.process, o)
			want := fmt.Sprintf("availability: %s: %s", c.process, c.want)
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") || x != nil {
				t.Errorf("got %v, %v, want an error of one line that starts %q", x, err, want)
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
				x, err := newChains(n, 1, pi, lambda, name)
				if err == nil || !strings.HasPrefix(err.Error(), name+" "+c.want) || x != nil {
					t.Errorf("got %v, %v, want an error that starts %q", x, err, name+" "+c.want)
				}
			})
		}
	}
	// the bounds themselves are possible: at λ = 1 − 1/π the client is never twice away
	x := must.Get(newChains(1, 1, []float64{0.8}, []float64{-0.25}, "client"))(t)
	away := 0
	for r := range 1000 {
		if len(x.Active(r)) == 0 {
			away++
			if len(x.Active(r+1)) == 0 {
				t.Errorf("rounds %d and %d: away, want P(active | inactive) = 1", r, r+1)
			}
		}
	}
	if away == 0 {
		t.Error("never away in 1000 rounds at π = 0.8")
	}
}
