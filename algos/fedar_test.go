package algos

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/algos/availability"
)

// FedAR, eq. (6), with ρ = 0.1 and g(t) = 50 + t/4. 1e-6: the powers are written to seven digits.
func TestFedARPsi(t *testing.T) {
	t0 := 50.0
	printed := fedAR{rho: 0.1, t0: &t0, b: 4}
	for _, c := range []struct {
		tau, t int
		want   float64
	}{
		{0, 1, 1},
		{1, 1, 1.0717735},
		{3, 1, 1.1486984},
		{9, 1, 1.2589254},
		{50, 1, 1.4816889}, // g = 50.25
		{51, 1, 0},
		{51, 3, 0},         // g = 50.75
		{51, 4, 1.4845688}, // g = 51: not above it
		{52, 4, 0},
		{1022, 4000, 1.9998046},
		{1023, 4000, 2},
		{1050, 4000, 2}, // g = 1050
		{1051, 4000, 0},
	} {
		if got := printed.psi(c.tau, c.t); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("τ = %d, t = %d: ψ = %.7f, want %.7f ± 1e-6", c.tau, c.t, got, c.want)
		}
	}
	forever := fedAR{rho: 0, b: 3}
	if got := forever.psi(1_000_000, 1); got != 1 {
		t.Errorf("ρ = 0, g = ∞: ψ = %g after a million rounds, want 1", got)
	}
}

// N_t of Algorithm 1: who has been seen, less those too stale; g = 2 + t/4, t from 1.
func TestFedARContributors(t *testing.T) {
	f, _ := toyFederation(8, 16, -8, 0)
	o := withValues(Paper, "fedar-rho", "0.1", "fedar-t0", "2", "fedar-b", "4")
	m := start(t, "fedar", f, o)
	for r, c := range []struct {
		active []int
		n      int
		zero   []int // of those seen
	}{
		{nil, 0, nil},
		{[]int{0, 2}, 2, nil},
		{[]int{1}, 3, nil},
		{[]int{1}, 3, nil},         // τ = (2, 0, 2), g = 3
		{[]int{1}, 3, nil},         // τ = 3, g = 3.25
		{[]int{1}, 1, []int{0, 2}}, // τ = 4, g = 3.5
		{[]int{2}, 2, []int{0}},
		{nil, 2, []int{0}},
	} {
		if _, err := m.Round(t.Context(), at(r, f, 1, c.active...)); err != nil {
			t.Fatal(err)
		}
		inside := m.(*checked).Method.(stateful).method.(*fedAR)
		psi, n := inside.weights(r + 1)
		var zero []int
		for i, p := range psi {
			if p == 0 && inside.seen[i] {
				zero = append(zero, i)
			}
		}
		if n != c.n || !slices.Equal(zero, c.zero) || psi[3] != 0 {
			t.Errorf("round %d: N_t = %d without %v, ψ of one never seen %g, want %d without %v, 0",
				r+1, n, zero, psi[3], c.n, c.zero)
		}
	}
}

// With ρ = 0, g = ∞ and a constant η, FedAR is MIFA over the clients seen so far: MIFA whose 1/N is 1/N_t. 1e-4:
// float32 at up to 64 over sixty rounds; the toy's first round and the 4th and so on have clients nobody saw before.
func TestFedARIsMIFAOverTheSeen(t *testing.T) {
	f, _ := toyFederation(8, 16, -8, 0, 3)
	o := withValues(Paper, "fedar-rho", "0", "fedar-t0", "none")
	fedar, mifa := start(t, "fedar", f, o), start(t, "mifa", f, Options{Preset: Paper})
	seen := map[int]bool{}
	p := []float64{0.1, 0.2, 0.3, 0.4, 0.5}
	for r := range 60 {
		active := availability.Draw(p, 5, r)
		for _, i := range active {
			seen[i] = true
		}
		if _, err := fedar.Round(t.Context(), at(r, f, 1, active...)); err != nil {
			t.Fatal(err)
		}
		if _, err := mifa.Round(t.Context(), at(r, f, float64(f.N)/float64(max(1, len(seen))), active...)); err != nil {
			t.Fatal(err)
		}
		got, want := model(t, fedar, f), model(t, mifa, f)
		for j := range got {
			if math.Abs(float64(got[j]-want[j])) > 1e-4 {
				t.Fatalf("round %d, %d seen: %v, want %v ± 1e-4", r, len(seen), got, want)
			}
		}
	}
	if len(seen) != f.N {
		t.Fatalf("%d clients seen, want all %d", len(seen), f.N)
	}
}

// G_i = (w − w_i)/η of its own round is scaled by the η of the present one: Δ = 4 at η = 1/2 counts as 2 at η = 1/4.
// In the last round Δ_1 = (16 − 7)/4, and Δ_0 counts as 2.
func TestFedARSchedule(t *testing.T) {
	f, _ := toyFederation(8, 16)
	o := withValues(Paper, "fedar-rho", "0", "fedar-t0", "50", "fedar-b", "4")
	m := start(t, "fedar", f, o)
	for _, s := range []struct {
		lr, want float64
		active   []int
	}{{0.5, 4, []int{0}}, {0.25, 6, nil}, {0.125, 7, nil}, {0.25, 8 + 9./8, []int{1}}} {
		r := at(0, f, 1, s.active...)
		r.LR = s.lr
		if _, err := m.Round(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := model(t, m, f); !near(got, s.want, toyTol) {
			t.Errorf("η = %g, active %v: %v, want %v ± %g", s.lr, s.active, got, scaled(s.want), toyTol)
		}
	}
}

// Whoever holds no control of its own trains as in FedAvg: bit for bit in the first round, whoever is there, and with a
// single client, whose control is everybody's.
func TestScaffoldWithZeroControlsIsFedAvg(t *testing.T) {
	for _, active := range [][]int{{0}, {1, 3}, {0, 1, 2, 3}} {
		t.Run(fmt.Sprint(active), func(t *testing.T) {
			f, _ := toyFederation(8, 16, -8, 0)
			f.Planner.E = 3
			o := Options{Preset: Paper}
			scaffold, fedavg := start(t, "scaffold", f, o), start(t, "fedavg-active", f, o)
			for _, m := range []Method{scaffold, fedavg} {
				if _, err := m.Round(t.Context(), at(0, f, 0.75, active...)); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := model(t, scaffold, f), model(t, fedavg, f); !slices.Equal(got, want) {
				t.Errorf("%v, want FedAvg's %v exactly", got, want)
			}
		})
	}
}

// The controls sum to N·c as long as every client began with one of zero.
func TestScaffoldControls(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.WeightDecay = 0.001
	m := start(t, "scaffold", f, Options{Preset: Paper})
	play(t, m, f, trace(f, 40))
	inside := m.(*checked).Method.(stateful).method.(*scaffold)
	sum := make([]float64, 2)
	for _, row := range inside.own {
		for j, x := range e.at(row) {
			sum[j] += float64(x) / float64(f.N)
		}
	}
	for j, c := range e.at(inside.c) {
		if math.Abs(float64(c)-sum[j]) > 1e-4 { // float32 over forty rounds at up to 64
			t.Errorf("c[%d] = %g, mean of c_i %g, want them within 1e-4", j, c, sum[j])
		}
	}
	if sum[0] == 0 {
		t.Error("all controls are zero after forty rounds")
	}
}

// FedAvg(S): S of those who are there, each as often as any
// other, and their plain mean; all if there are no more than S.
func TestFedAvgS(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	s := 2
	m := start(t, "fedavg-s", f, withValues(Paper, "fedavg-s-limit", "2"))
	times := make([]int, f.N)
	const rounds = 3000
	for r := range rounds {
		e.work = nil
		before := model(t, m, f)
		if _, err := m.Round(t.Context(), at(r, f, 1, 0, 1, 3, 4)); err != nil {
			t.Fatal(err)
		}
		if n := len(e.work[0].Clients); n != s {
			t.Fatalf("round %d: %d clients trained, want %d", r, n, s)
		}
		want := 0.0
		for _, c := range e.work[0].Clients {
			times[c.Client]++
			want += (float64(before[0]) + e.u[c.Client][0]) / 2 / float64(s)
		}
		if got := model(t, m, f)[0]; math.Abs(float64(got)-want) > 1e-4 { // float32 at up to 48
			t.Fatalf("round %d: %g, want the mean %g ± 1e-4 of the two", r, got, want)
		}
	}
	for i, n := range times {
		want := rounds / 2.0
		if i == 2 {
			want = 0
		}
		if math.Abs(float64(n)-want) > 110 { // four standard deviations, sqrt(3000)/2 = 27 each
			t.Errorf("client %d trained %d times of %d, want %g ± 110", i, n, rounds, want)
		}
	}
	e.work = nil
	if _, err := m.Round(t.Context(), at(rounds, f, 1, 2, 4)); err != nil || len(e.work[0].Clients) != 2 {
		t.Errorf("two there: %v, %v, want both trained", e.work, err)
	}
}

func TestFedAvgISRefuses(t *testing.T) {
	f, _ := toyFederation(8, 16)
	f.P[1] = 0
	m := start(t, "fedavg-is", f, Options{Preset: Paper})
	want := "algos: fedavg-is: round 0: client 1 is active with probability 0, want above 0 and at most 1"
	if _, err := m.Round(t.Context(), at(0, f, 1, 1)); err == nil || err.Error() != want {
		t.Errorf("p_i = 0: got %v, want %q", err, want)
	}
}
