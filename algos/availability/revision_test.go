package availability

import (
	"strings"
	"testing"

	recorded "rollcall/algos/availability/trace"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
)

// A model's revision is of its probabilities and draws in 200 rounds of 20 clients, with several seeds, forms and
// settings, and of where its base probabilities come from.
func TestRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	const clients, rounds = 20, 200
	shares := make([][]float64, clients)
	for i := range shares {
		shares[i] = make([]float64, 10)
		shares[i][i%10], shares[i][(3*i+1)%10] = 0.25, 0.75
	}
	csv := "client,start,end\n0,0.5,30\n0,40,41.5\n7,3,199\n19,0,400\n12,100,150\n12,150,160\n"
	options := recorded.Options{Clients: clients, RoundSeconds: 1.5}
	intervals := must.Get(recorded.Read(strings.NewReader(csv), options))(t)
	groups := make([]int, clients)
	for i := range groups {
		groups[i] = i % 2
	}
	chains := &ChainTable{Pi: []float64{0.2, 0.7, 1}, Lambda: []float64{0.8, -0.1, 0}}
	settings := []func(o *Options){
		func(*Options) {},
		func(o *Options) { o.Form, o.Groups = CodeForm, groups },
		func(o *Options) { o.Period, o.Gamma, o.Cutoff, o.Low, o.PMin = 7, 0.6, 0.3, 0.2, 0.5 },
		func(o *Options) { o.G, o.Nu, o.Epsilon, o.Clusters = 0.2, 0.5, 0.1, 5 },
	}
	var entries []revisiontest.Entry
	add := func(name, of string, settings []func(o *Options)) {
		var digest revisiontest.Digest
		for _, seed := range []uint32{1, 7} {
			for _, set := range settings {
				o := Defaults(Base(shares, seed), seed)
				o.Trace, o.Chain, o.Draw = intervals, chains, of == "chain"
				set(&o)
				model := mustNew(t, of, o)
				walkInto(&digest, model, clients, rounds)
				pi, lambda := model.Stationary()
				digest.Add(pi, lambda)
				r := numpy.New(seed)
				o.Base = BaseNumPy(shares, r)
				walkInto(&digest, NumPy(mustNew(t, of, o), clients, r), clients, rounds)
			}
		}
		entries = append(entries, revisiontest.Entry{
			Name: name, Revision: Revision(of), Where: "availability.go", Digest: digest.String(),
		})
	}
	for _, known := range models {
		add(known.Name, known.Name, settings)
	}
	add("markov-drawn", "markov", []func(o *Options){
		func(o *Options) { o.Drawn = true },
		func(o *Options) { o.Drawn, o.Form, o.Groups = true, CodeForm, groups },
	})
	for _, name := range []string{"stationary", "sine"} {
		add(name+"-separated", name, []func(o *Options){func(o *Options) { o.Separation, o.Rounds = 3, rounds }})
		add(name+"-outages", name, []func(o *Options){func(o *Options) { o.Outages = "0.2:0.7:3" }})
	}
	add("chain-population", "chain", []func(o *Options){
		func(o *Options) { o.Population, o.Rounds = "arrival:0.1:0.8", rounds },
		func(o *Options) { o.Population, o.Rounds = "departure:0:1", rounds },
		func(o *Options) { o.Population, o.Rounds = "window:7:2:3", rounds },
	})
	if got := Revision("always"); got != 0 {
		t.Errorf("revision of an unknown model: %d, want 0", got)
	}
	revisiontest.Check(t, "testdata/revisions", entries)
}

func walkInto(digest *revisiontest.Digest, model Model, clients, rounds int) {
	p := make([]float64, clients)
	for r := range rounds {
		model.Probabilities(r, p)
		digest.Add(p, model.Active(r))
	}
}
