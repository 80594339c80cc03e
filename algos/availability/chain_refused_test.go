package availability

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestChainsRefused(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, process string
		change        func(*Options)
		want          string // start of the error after "availability: " and the process
	}{
		{
			"lambda too small", "markov", func(o *Options) { o.Lambda[3] = -0.2 },
			"client 3: lambda -0.2 at pi 0.9, which no chain of two states has, want at least -0.1111",
		},
		{
			"lambda too small at small pi", "markov", func(o *Options) { o.Pi[0], o.Lambda[0] = 0.2, -0.26 },
			"client 0: lambda -0.26 at pi 0.2, which no chain of two states has, want at least -0.25 and below 1",
		},
		{"lambda 1", "markov", func(o *Options) { o.Lambda[2] = 1 }, "client 2: lambda 1 at pi 0.9"},
		{"lambda NaN", "markov", func(o *Options) { o.Lambda[2] = nan }, "client 2: lambda NaN at pi 0.9"},
		{"pi 1", "markov", func(o *Options) { o.Pi[1] = 1 }, "client 1: pi 1, want above 0 and below 1"},
		{"pi 0", "markov", func(o *Options) { o.Pi[1] = 0 }, "client 1: pi 0, want above 0 and below 1"},
		{"pi NaN", "markov", func(o *Options) { o.Pi[1] = nan }, "client 1: pi NaN, want above 0 and below 1"},
		{
			"pi without lambda", "markov", func(o *Options) { o.Lambda = nil },
			"pi of 4 and lambda of 0 clients, want 4 of each",
		},
		{
			"cluster", "clusters", func(o *Options) { o.Clusters, o.Pi, o.Lambda = 2, []float64{0.5, 0.9}, []float64{0, -0.5} },
			"cluster 1: lambda -0.5 at pi 0.9",
		},
		{
			"clusters that do not divide", "clusters", func(o *Options) { o.Clusters = 3 },
			"3 clusters for 4 clients, want a divisor of 4",
		},
		{"no clusters", "clusters", func(o *Options) { o.Clusters = 0 }, "0 clusters for 4 clients, want a divisor of 4"},
		{"g", "markov", func(o *Options) { o.Pi, o.Lambda, o.G = nil, nil, 0.5 }, "g 0.5, want at least 0 and below 0.5"},
		{
			"g of clusters", "clusters", func(o *Options) { o.Pi, o.Lambda, o.G, o.Clusters = nil, nil, nan, 2 },
			"g NaN, want at least 0 and below 0.5",
		},
		{"nu", "markov", func(o *Options) { o.Pi, o.Lambda, o.Nu = nil, nil, 1.5 }, "client "},
		{
			"epsilon", "markov", func(o *Options) { o.Pi, o.Lambda, o.Epsilon = nil, nil, -1 },
			"epsilon -1, want at least 0 and below 1",
		},
		{
			"form", "markov", func(o *Options) { o.Pi, o.Lambda, o.Form = nil, nil, "papers" },
			`form "papers": unknown, want paper or code`,
		},
		{
			"groups", "markov", func(o *Options) { o.Pi, o.Lambda, o.Groups = nil, nil, []int{0} },
			"groups of 1 clients, want 4",
		},
		{
			"group", "markov", func(o *Options) { o.Pi, o.Lambda, o.Groups = nil, nil, []int{0, 0, -1, 0} },
			"client 2: group -1, want 0 … 3",
		},
		{"p_min", "uniform", func(o *Options) { o.PMin = 0 }, "smallest probability 0, want above 0 and at most 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Defaults(make([]float64, 4), 1)
			o.Pi, o.Lambda = []float64{0.9, 0.9, 0.9, 0.9}, []float64{0, 0, 0, 0}
			c.change(&o)
			x, err := New(c.process, o)
			want := fmt.Sprintf("availability: %s: %s", c.process, c.want)
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") || x != nil {
				t.Errorf("got %v, %v, want an error of one line that starts %q", x, err, want)
			}
		})
	}
	o := Defaults([]float64{0}, 1) // the bounds themselves are possible: at λ = 1 − 1/π the client is never twice away
	o.Pi, o.Lambda = []float64{0.8}, []float64{-0.25}
	x := mustNew(t, "markov", o)
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
