package algos

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets"
)

// otherValues has values of parameters that no preset has; the others are tried at 2 and 1/2 and at none, as far as
// these are values of theirs. A Switch and a Word are tried in all their values.
var otherValues = map[*Param][]string{
	cafedKappa: {"0.3"}, cafedBias: {none, "0.2"}, cafedBeta: {"0.7"}, cafedTau: {"0.1"},
	f3astBeta: {"0.2"}, f3astLimit: {"2"}, fedarRho: {"0.4"}, fedarT0: {none, "3"}, fedarB: {"2.5"},
	fedarG:      {"0.5", "2"},
	fedauCutoff: {"3"}, fedAvgSLimit: {"2", "6"}, fedaweClip: {none, "0.1"}, weightedPrior: {"10"},
	serverMomentum: {"0.9"}, serverDecay: {"0.01"},
}

// A method's revision is of what it makes of 24 rounds on the toy engine, with every parameter at its values: models,
// losses, decisions, and which samples are read in each round. The toy's arithmetic is its own: a kernel cannot change
// them.
func TestRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	var entries []revisiontest.Entry
	for _, d := range methods {
		where := strings.NewReplacer("-", "_", "ca-fed", "cafed").Replace(d.Name) + ".go"
		if _, err := os.Stat(where); err != nil {
			t.Error(err)
		}
		var digest revisiontest.Digest
		later := make([]revisiontest.Digest, len(d.Later))
		for _, preset := range []Preset{Code, Paper} {
			base := Options{Preset: preset}
			if preset == Paper { // as the preset had it when the numbers were recorded
				base = with(base, d.Name, "fstar", FStarMin)
			}
			playInto(t, &digest, d.Name, base)
			all := with(base, d.Name, "prior", "10", "server-momentum", "0.9",
				"server-weight-decay", "0.01", "f3ast-beta", "0.1", "f3ast-limit", "3", "bias-const", none,
				"kappa", "0.5")
			for _, p := range d.Later {
				delete(all.Values, p.Name)
			}
			playInto(t, &digest, d.Name, all)
			for i, p := range d.all() {
				digest := &digest
				if i >= len(d.Params) {
					digest = &later[i-len(d.Params)]
				}
				values := otherValues[p]
				switch p.Kind {
				case Switch:
					values = []string{"true", "false"}
				case Word:
					values = p.Words
				}
				if values == nil {
					values = slices.DeleteFunc([]string{none, "2", "0.5"}, func(v string) bool {
						return v == p.Default || v == p.Paper || p.CheckFor(v, 7) != nil
					})
				}
				for _, v := range values {
					playInto(t, digest, d.Name, with(base, d.Name, p.Name, v))
				}
			}
		}
		entries = append(entries, revisiontest.Entry{
			Name: d.Name, Revision: Revision(d.Name), Where: where, Digest: digest.String(),
		})
		for i, p := range d.Later { // apart: what came later leaves the numbers without it alone
			entries = append(entries, revisiontest.Entry{
				Name: d.Name + "/" + p.Name, Revision: Revision(d.Name), Where: where, Digest: later[i].String(),
			})
		}
	}
	if got := Revision("fedsgd"); got != 0 {
		t.Errorf("revision of an unknown method: %d, want 0", got)
	}
	revisiontest.Check(t, "testdata/revisions", entries)
}

// playInto enters into a digest what a method makes of seven clients, of unequal weights and probabilities, who take
// two steps with momentum and weight decay. Every seventh round is empty, in one all are active, one has only one.
// Clients and rounds are made by arithmetic: what package availability draws has a revision of its own.
func playInto(t *testing.T, digest *revisiontest.Digest, name string, o Options) {
	t.Helper()
	const clients, size, rounds = 7, 40, 24
	scatter := func(i, j int) float64 { return float64((i*7919+j*104729+i*i*j*31)%1009) / 1009 }
	f, e := toyFederation(make([]float64, clients)...)
	w0 := make([]float32, size)
	for j := range w0 {
		w0[j] = float32(scatter(11, j)) - 0.5
	}
	o.HeldOut = &HeldOut{Part: nets.Test, Index: make([][]int32, clients)}
	for i := range clients {
		e.u[i] = make([]float64, size)
		for j := range e.u[i] {
			e.u[i][j] = scatter(i, j) * float64(i+1)
		}
		f.Importance[i] = float64(i+1) / 28
		f.Pi[i], f.Lambda[i] = 0.2+0.1*float64(i), 0.08*float64(i-3)
		o.HeldOut.Index[i] = []int32{int32(1000 + i)}
		o.Solved = append(o.Solved, 0.01*float64(i))
	}
	f.Planner.E, f.WeightDecay, f.Momentum = 2, 0.01, 0.3
	m := must.Get(New(name, f, w0, o))(t)
	defer m.Close()
	for r := range rounds {
		round := Round{T: r, P: slices.Clone(f.Pi), LR: DecayedLR(0.3, r), ServerLR: 0.9 - float64(r)/100}
		for i := range clients {
			round.P[i] *= 0.7 + 0.1*float64(r%4)
			if r == 3 || r == 4 && i == 2 || r != 4 && r%7 != 0 && scatter(100+r, i) < round.P[i] {
				round.Active = append(round.Active, i)
			}
		}
		e.work, e.jobs = nil, nil
		loss, err := m.Round(t.Context(), round)
		if err != nil {
			t.Fatalf("%s %v: round %d: %v", name, o.Values, r, err)
		}
		w := model(t, m, f)
		if math.IsNaN(float64(w[0])) || math.IsInf(float64(w[0]), 0) {
			t.Fatalf("%s %v: round %d: model %v, want finite numbers", name, o.Values, r, w)
		}
		digest.Add(loss, w)
		for _, work := range e.work {
			for _, c := range work.Clients {
				digest.Add(c.Client, c.Plan.Index)
			}
		}
		for _, job := range e.jobs {
			digest.Add(int(job.Part), job.Index)
		}
		if d := m.Inspect(); d != nil {
			digest.Add(d.Q, d.Included, d.Pi, d.Lambda)
		}
	}
}
