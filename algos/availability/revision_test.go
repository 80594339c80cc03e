package availability

import (
	"strings"
	"testing"

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
	intervals := must.Get(ReadTrace(strings.NewReader(csv), clients, 1.5))(t)
	groups := make([]int, clients)
	for i := range groups {
		groups[i] = i % 2
	}
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
				o.Trace = intervals
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
