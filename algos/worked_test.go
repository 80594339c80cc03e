package algos

import (
	"fmt"
	"slices"
	"testing"
)

// step is one hand-worked round: who is active, and the model afterwards in units of (3, 4).
type step struct {
	t        int
	active   []int
	want     float64
	lr       float64   // 0: 1/2
	serverLR float64   // 0: 1
	p        []float64 // nil: the base probabilities
}

// workedCase is a method whose rounds are worked by hand.
type workedCase struct {
	name, method string
	u            []float64                   // [N] where the clients are
	change       func(*Federation, *Options) // of preset paper; nil: nothing is changed
	steps        []step
}

// Every client sits at u_i·(3, 4), the model starts at 0, and E = 1: Δ_i = η(u_i − w) from a start at w, with η = 1/2.
// All lines of the cases follow from that and the formulas of the methods; what is printed is the multiple of (3, 4).
//
// Tolerance 2e-5: the rows are float32, of size below 128, whose unit in the last place is 8e-6, a sum of a few.
const workedTol = 2e-5

func TestWorked(t *testing.T) {
	for _, c := range slices.Concat(workedFedAvg, workedWeighted, workedMemory) {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(c.u...)
			o := Options{Preset: Paper}
			if c.change != nil {
				c.change(&f, &o)
			}
			m := start(t, c.method, f, o)
			for _, s := range c.steps {
				r := at(s.t, f, 1, s.active...)
				if s.lr != 0 {
					r.LR = s.lr
				}
				if s.serverLR != 0 {
					r.ServerLR = s.serverLR
				}
				if s.p != nil {
					r.P = s.p
				}
				if _, err := m.Round(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if got := model(t, m, f); !near(got, s.want, workedTol) {
					t.Errorf("round %d, active %v: model %v, want %v ± %g",
						s.t, s.active, got, scaled(s.want), workedTol)
				}
			}
		})
	}
}

// setValues is a change of values alone, in pairs of name and value.
func setValues(pairs ...string) func(*Federation, *Options) {
	return func(_ *Federation, o *Options) { o.Values = withValues(o.Preset, pairs...).Values }
}

// workedFedAvg are FedAvg's forms, and FedAU.
var workedFedAvg = []workedCase{
	{"fedavg-active", "fedavg-active", []float64{8, 16, -8}, nil, []step{
		{t: 0, active: []int{0, 1}, want: 6},                                // (4 + 8)/2
		{t: 1, active: []int{2}, want: -1},                                  // 6 + (−8−6)/2
		{t: 2, want: -1},                                                    // nobody
		{t: 3, active: []int{0, 1, 2}, serverLR: 0.5, want: -1 + 0.5*19./6}, // Δ = 4.5, 8.5, −3.5; mean 9.5/3
	}},
	{"fedavg-all", "fedavg-all", []float64{8, 16, -8, 0}, nil, []step{
		{t: 0, active: []int{0, 1}, want: 3},                    // (4 + 8)/4
		{t: 1, active: []int{2}, want: 1.625},                   // 3 − 5.5/4
		{t: 2, want: 1.625},                                     // nobody
		{t: 3, active: []int{3}, serverLR: 2, want: 1.21875},    // 1.625 − 2·0.8125/4
		{t: 4, active: []int{0, 1, 2, 3}, want: 2.609375},       // mean Δ = (4 − 1.21875)/2
		{t: 5, active: []int{0, 1, 2, 3}, want: 3.3046875},      // half way to mean(u) = 4 again
		{t: 6, active: []int{0, 1, 2, 3}, serverLR: 2, want: 4}, // all of the way
	}},
	{"fedavg-known: p_i^t, not p_i", "fedavg-known", []float64{8, 16, -8, 0}, nil, []step{
		{t: 0, active: []int{0, 1}, p: []float64{0.5, 0.25, 1, 1}, want: 10},               // (4/0.5 + 8/0.25)/4
		{t: 1, active: []int{2}, p: []float64{0.5, 0.25, 0.75, 1}, want: 7},                // 10 − (9/0.75)/4
		{t: 2, p: []float64{0, 0, 0, 0}, want: 7},                                          // nobody
		{t: 3, active: []int{0}, p: []float64{1, 0.25, 0.75, 1}, serverLR: 2, want: 7.25},  // 7 + 2·0.5/4
		{t: 4, active: []int{3}, p: []float64{1, 1, 1, 0.125}, serverLR: 1, want: 0},       // 7.25 − (3.625/0.125)/4
		{t: 5, active: []int{0, 3}, p: []float64{0.25, 1, 1, 0.5}, serverLR: 0.5, want: 2}, // 0.5·(4/0.25 + 0)/4
	}},
	// FedAU, Algorithm 2, K = 3. Lists of intervals: client 0 [1], t=2 [1 2], t=3 [1 2 1], t=6 cut off [1 2 1 3];
	// client 1 t=2 cut off [3], t=4 [3 2], t=7 cut off [3 2 3]. Each adds ω(u − w)/4.
	{"fedau: K=3", "fedau", []float64{8, 16}, setValues("fedau-cutoff", "3"), []step{
		{t: 0, active: []int{0}, want: 2}, // ω = 1, the list is empty
		{t: 1, want: 2},
		{t: 2, active: []int{0}, want: 3.5},       // ω = 1
		{t: 3, active: []int{0}, want: 5.1875},    // ω = 3/2: 3.5 + 1.5·4.5/4
		{t: 4, active: []int{1}, want: 13.296875}, // ω = 3: 5.1875 + 3·10.8125/4
		{t: 5, want: 13.296875},
		{t: 6, want: 13.296875},
		{t: 7, want: 13.296875},
		{t: 8, want: 13.296875},
		{t: 9, active: []int{0, 1}, want: 13.296875 - 1.75*5.296875/4 + 8./3*2.703125/4}, // ω = 7/4, 8/3
	}},
	// The same rounds with K = 50: at t=4 client 1 was never seen, ω = 1; at t=9 the lists are [1 2 1] and [5].
	{"fedau: K=50", "fedau", []float64{8, 16}, nil, []step{
		{t: 0, active: []int{0}, want: 2},
		{t: 1, want: 2},
		{t: 2, active: []int{0}, want: 3.5},
		{t: 3, active: []int{0}, want: 5.1875},
		{t: 4, active: []int{1}, want: 7.890625}, // 5.1875 + 10.8125/4
		{t: 5, want: 7.890625},
		{t: 6, want: 7.890625},
		{t: 7, want: 7.890625},
		{t: 8, want: 7.890625},
		{t: 9, active: []int{0, 1}, want: 7.890625 + 4./3*0.109375/4 + 5*8.109375/4},
	}},
}

// With everybody there in every round and p = 1 all methods are FedAvg: w − ū shrinks by 1 − η_g(1 − (1−η)^E) a round.
func TestFullParticipation(t *testing.T) {
	for _, name := range Names() {
		for _, serverLR := range []float64{1, 0.5} {
			t.Run(fmt.Sprintf("%s/serverLR=%g", name, serverLR), func(t *testing.T) {
				f, _ := toyFederation(8, 16, -8, 0) // ū = 4
				f.P = []float64{1, 1, 1, 1}
				f.Planner.E = 2
				m := start(t, name, f, with(Options{Preset: Paper}, name, "fedavg-s-limit", "4"))
				want := 4.0 // w − ū is −want
				for r := range 6 {
					if _, err := m.Round(t.Context(), at(r, f, serverLR, 0, 1, 2, 3)); err != nil {
						t.Fatal(err)
					}
					want *= 1 - serverLR*0.75
					if got := model(t, m, f); !near(got, 4-want, workedTol) {
						t.Errorf("round %d: model %v, want %v ± %g", r, got, scaled(4-want), workedTol)
					}
				}
			})
		}
	}
}
