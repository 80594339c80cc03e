package run

import (
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// The five seeds are all there is to draw: a run whose seeds are all given has the curve of a run with that seed,
// whatever its own seed. Without one of them it has another curve. The runs draw everything that package rng lists:
// dropout, crops, samples of fedavg-s, generated data, swapped labels, the history of an estimator, chains.
func TestOwnSeedsAreAllDraws(t *testing.T) {
	longtest.Only(t, "runs with every pair of seeds")
	if testing.Short() {
		t.Skip("thirty runs are not for -short")
	}
	session := &Session{Machine: Machine{Device: "cpu", Threads: 1, Out: t.TempDir()}, Stderr: io.Discard}
	defer session.Close() // the runs' errors are looked at
	for _, c := range []map[string]string{
		{"method": "fedavg-s", "net": "cnn-cinic10", "augment": "sample", "fedavg-s-limit": "2", "p": "0.9"},
		{"method": "fedawe", "availability": "sine", "rounds": "8", "validation": "0.25"},
		{
			"method": "unbiased", "preset": "paper", "data": "leaf", "availability": "markov", "prior": "5",
			"clients": "12", "rounds": "12",
		},
		{
			"method": "mifa", "data": "leaf", "availability": "clusters", "clusters": "3", "clients": "12",
			"rounds": "12",
		},
		{"method": "mifa", "swap-pairs": "2", "p": "0.6"},
		{
			"method": "mifa", "data": "leaf", "leaf-augmentation": "true", "availability": "markov", "classes": "drawn",
			"clients": "12", "rounds": "12",
		},
	} {
		of := func(seed uint32, own ...string) string {
			given := maps.Clone(c)
			for _, name := range own {
				given[name] = "3"
			}
			curve := must.Get(tinyCurve(t.Context(), session, given, "", seed))(t)
			return curve
		}
		names := settings.SeedNames()
		if c["p"] != "" || c["availability"] == "markov" || c["availability"] == "clusters" {
			names = slices.DeleteFunc(names, func(name string) bool { return name == "seed-phi" }) // nobody reads φ
		}
		want := of(3)
		if got := of(8, names...); got != want {
			t.Errorf("%v, seed 8 with all seeds 3:\n%swant as with seed 3:\n%s", c, got, want)
		}
		for i, name := range names {
			if got := of(8, slices.Delete(slices.Clone(names), i, i+1)...); got == want {
				t.Errorf("%v: the same curve without --%s, want another", c, name)
			}
		}
	}
}

// idle is an engine for a net of P parameters that trains nobody.
type idle struct {
	*rowCounter
	params int
}

func (e idle) Info() nets.Info { return nets.Info{Params: e.params} }

// Each seed moves its own draws alone: split, φ, activity, initial weights, batches.
func TestOwnSeedsApart(t *testing.T) {
	const seed, other = 3, 8
	s := must.Get(settings.Defaults("fedavg-active", "code", "mnist"))(t)
	s.Clients, s.Availability = 20, "sine"
	model := must.Get(models.New(s.Net))(t)
	data := labelled(4000)
	type draws struct {
		train   [][]int32
		base    []float64
		active  [][]int
		weights []float32
		batches []int32
	}
	drawn := func(name string) (d draws) {
		of := s
		if name != "" {
			must.OK(t, of.Set(name, strconv.Itoa(other)))
		}
		ses := SessionOn(data, model, idle{&rowCounter{}, model.P})
		f := must.Get(ses.Federate(t.Context(), of, seed, ses.Engine))(t)
		d = draws{train: f.clients.train, base: f.clients.Base, weights: f.W0}
		for round := range 30 {
			d.active = append(d.active, f.clients.Availability.Active(round))
		}
		d.batches = f.Planner.Client(0, 0, 0).Index
		return d
	}
	plain := drawn("")
	for _, c := range []struct{ name, moved string }{
		// Who has which classes decides the p_i, and who has how many samples the batches.
		{"seed-split", "train base active batches"},
		{"seed-phi", "base active"},
		{"seed-availability", "active"},
		{"seed-init", "weights"},
		{"seed-batches", "batches"},
	} {
		d, moved := drawn(c.name), ""
		for _, part := range []struct {
			name string
			a, b any
		}{
			{"train", d.train, plain.train},
			{"base", d.base, plain.base},
			{"active", d.active, plain.active},
			{"weights", d.weights, plain.weights},
			{"batches", d.batches, plain.batches},
		} {
			if !reflect.DeepEqual(part.a, part.b) {
				moved += " " + part.name
			}
		}
		if moved != " "+c.moved {
			t.Errorf("--%s moves%s, want %s", c.name, moved, c.moved)
		}
	}
	// φ of one seed with the split of another, drawn directly.
	shares := datasets.ClassShares(plain.train, data.Train.Labels, data.Train.Classes)
	if got, want := drawn("seed-phi").base, availability.Base(shares, other); !slices.Equal(got, want) {
		t.Errorf("--seed-phi: p_i %v, want %v", got, want)
	}
}
