package algos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// All decisions of a few rounds of two clients, with α = 1/2, π = 1/2 and λ = (0, 0.5), by CA-Fed's code.
func TestInspect(t *testing.T) {
	f, _ := toyFederation(8, 16)
	f.Pi, f.Lambda = []float64{0.5, 0.5}, []float64{0, 0.5}
	m := start(t, "ca-fed", f, withValues(Code, "kappa", "77", "ca-fed-tau", "0"))
	d := m.Inspect()
	if !slices.Equal(d.Q, []float64{0, 0}) || !slices.Equal(d.Included, []bool{true, true}) {
		t.Errorf("before round 0: %+v, want no weights and everybody included", d)
	}
	for _, s := range []struct {
		active   []int
		q        []float64
		included []bool
	}{
		{[]int{1}, []float64{0, 1}, []bool{true, true}},
		{[]int{0, 1}, []float64{1, 0}, []bool{true, false}},
		{[]int{1}, []float64{0, 0}, []bool{true, false}},
		{[]int{}, []float64{0, 0}, []bool{true, false}}, // nothing new is known
	} {
		must.Get(m.Round(t.Context(), at(len(s.q), f, 0.01, s.active...)))(t)
		d := m.Inspect()
		if !slices.Equal(d.Q, s.q) || !slices.Equal(d.Included, s.included) || !slices.Equal(d.Pi, f.Pi) ||
			!slices.Equal(d.Lambda, f.Lambda) {
			t.Errorf("active %v: %+v, want q %v, included %v, π %v, λ %v", s.active, d, s.q, s.included, f.Pi, f.Lambda)
		}
	}
}

// A method that divides by the probability of an active client reports one that it cannot divide by, and trains nobody.
func TestActiveWithoutAvailability(t *testing.T) {
	const want = "algos: %s: round 2: client 1 is active with %s %g, want above 0 and at most 1"
	for _, c := range []struct {
		methods, what string
		p             float64
	}{
		{"unbiased more-available adafed ca-fed", "pi", 0},
		{"fedavg-is fedavg-known", "probability", 0},
		{"fedavg-known", "probability", -0.5},
		{"fedavg-known", "probability", 1.5},
		{"fedavg-known", "probability", math.NaN()},
	} {
		for name := range strings.FieldsSeq(c.methods) {
			f, e := toyFederation(8, 16)
			r := at(2, f, 1, 0, 1)
			if r.P = []float64{0.5, c.p}; c.p == 0 {
				f.Pi[1] = 0
			}
			_, err := start(t, name, f, Options{Preset: Paper}).Round(t.Context(), r)
			want := fmt.Sprintf(want, name, c.what, c.p)
			if err == nil || err.Error() != want || len(e.work)+len(e.jobs) != 0 {
				t.Errorf("got %v after %d calls, want %q after none", err, len(e.work)+len(e.jobs), want)
			}
		}
	}
}

// The estimates reach the weights: at t' = 4, π = 1/2 and one active
// round the code's form has π̂ = 3/5 (and 2/5 for the absent one).
func TestEstimatesAreUsed(t *testing.T) {
	for name, want := range map[string]float64{
		"unbiased": 0.5 / 0.6, "more-available": 0.5 / 0.6, "adafed": 1, "ca-fed": 0.5 / 0.6,
		"f3ast": 0.5 / (0.6*0.75 + 0.25),
	} {
		f, _ := toyFederation(8, 16)
		f.Pi = []float64{0.5, 0.5}
		o := with(Options{Preset: Code}, name, keepAll...)
		o = with(o, name, "prior", "4", "f3ast-beta", "0.25", "f3ast-memoryless", "true")
		m := start(t, name, f, o)
		must.Get(m.Round(t.Context(), at(0, f, 1, 0)))(t)
		d := m.Inspect()
		if math.Abs(d.Q[0]-want) > 1e-15 || d.Q[1] != 0 || math.Abs(d.Pi[0]-0.6) > 1e-15 ||
			math.Abs(d.Pi[1]-0.4) > 1e-15 {
			t.Errorf("%s: q %v at π̂ %v, want [%g 0] at [0.6 0.4] ± 1e-15", name, d.Q, d.Pi, want)
		}
	}
}
