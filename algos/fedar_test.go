package algos

import (
	"math"
	"testing"

	"rollcall/internal/must"
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
		must.Get(m.Round(t.Context(), at(r, f, 1, 0, 1, 3, 4)))(t)
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
