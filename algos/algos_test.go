package algos

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// η_0/sqrt(t/10 + 1): 1 at t = 0, 1/2 at t = 30, 1/√1.5 at t = 5 (t/10 is not rounded).
func TestDecayedLR(t *testing.T) {
	for round, want := range map[int]float64{0: 0.1, 30: 0.05, 5: 0.1 / math.Sqrt(1.5), 1999: 0.1 / math.Sqrt(200.9)} {
		if got := DecayedLR(0.1, round); math.Abs(got-want) > 1e-16 { // one float64 rounding of 0.1
			t.Errorf("round %d: %.17g, want %.17g ± 1e-16", round, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		change func(*Federation)
		want   string
	}{
		{"no engine", func(f *Federation) { f.Engine = nil }, "federation: no engine or no planner, want both"},
		{"no clients", func(f *Federation) { f.N = 0 }, "federation: 0 clients, want at least 1"},
		{
			"lengths", func(f *Federation) { f.Pi = f.Pi[:1] },
			"federation: importance of 2, probabilities of 1, lambda of 2, samples of 2 clients, want 2 of each",
		},
		{
			"importance", func(f *Federation) { f.Importance = []float64{0.5, 0.6} },
			"federation: importance sums to 1.1, want 1",
		},
		{
			"importance NaN", func(f *Federation) { f.Importance[1] = nan },
			"federation: client 1: importance NaN, want 0 or more",
		},
		{"probability", func(f *Federation) { f.Pi[1] = 2 }, "federation: client 1: probability 2, want 0 … 1"},
		{"weight decay", func(f *Federation) { f.WeightDecay = -1 }, "federation: weight decay -1, want 0 or more"},
		{"momentum", func(f *Federation) { f.Momentum = 1 }, "federation: momentum 1, want at least 0 and below 1"},
		{"clip", func(f *Federation) { f.Clip = &nan }, "federation: clip at norm NaN, want positive"},
		{
			"lambda's length", func(f *Federation) { f.Lambda = []float64{0} },
			"federation: importance of 2, probabilities of 2, lambda of 1, samples of 2 clients, want 2 of each",
		},
		{
			"lambda", func(f *Federation) { f.Lambda = []float64{0, nan} },
			"federation: client 1: lambda NaN, want −1 … 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(8, 16)
			c.change(&f)
			_, err := New("fedau", f, make([]float32, 2), Options{Preset: Code})
			if want := "algos: " + c.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	f, _ := toyFederation(8, 16)
	f.Planner.E = 0
	_, err := New("fedau", f, make([]float32, 2), Options{Preset: Code})
	if err == nil || err.Error() != "plan: E=0 B=1, want both at least 1" {
		t.Errorf("no steps: got %v", err)
	}
	f, _ = toyFederation(8, 16)
	_, err = New("fedau", f, make([]float32, 3), Options{Preset: Code})
	if err == nil || err.Error() != "algos: fedau: 3 initial weights, want 2" {
		t.Errorf("three weights for P = 2: got %v", err)
	}
	_, err = New("fedsgd", f, make([]float32, 2), Options{Preset: Code})
	if err == nil || !strings.HasPrefix(err.Error(), `algos: method "fedsgd": unknown, want one of fedavg-active, `) {
		t.Errorf("unknown method: got %v", err)
	}
}

func TestRoundRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Round)
		want   string
	}{
		{"negative", func(r *Round) { r.T = -1 }, "round -1: negative round, want 0 or more"},
		{"probabilities", func(r *Round) { r.P = nil }, "round 4: 0 probabilities, want 2"},
		{"lr NaN", func(r *Round) { r.LR = math.NaN() }, "round 4: learning rate NaN, want positive"},
		{"lr 0", func(r *Round) { r.LR = 0 }, "round 4: learning rate 0, want positive"},
		{"server lr", func(r *Round) { r.ServerLR = math.Inf(1) }, "round 4: server learning rate +Inf, want positive"},
		{
			"order", func(r *Round) { r.Active = []int{1, 0} },
			"round 4: active client 0 after 1, want ascending in 0 … 1",
		},
		{
			"twice", func(r *Round) { r.Active = []int{1, 1} },
			"round 4: active client 1 after 1, want ascending in 0 … 1",
		},
		{
			"stranger", func(r *Round) { r.Active = []int{0, 2} },
			"round 4: active client 2 after 0, want ascending in 0 … 1",
		},
		{"stranger next", func(r *Round) { r.Next = []int{2} }, "round 4: client 2 in the next round, want 0 … 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, e := toyFederation(8, 16)
			r := at(4, f, 1, 0)
			c.change(&r)
			_, err := start(t, "mifa", f, Options{Preset: Code}).Round(t.Context(), r)
			if want := fmt.Sprintf("algos: mifa: %s", c.want); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
			if len(e.work) != 0 {
				t.Errorf("trained in spite of it")
			}
		})
	}
}
