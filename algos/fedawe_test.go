package algos

import (
	"math"
	"strings"
	"testing"
)

// FedAWE keeps clients with the same model in one row. This is Algorithm 1 as it stands, N models apart, in float64.
//
// Tolerance 1e-3 of the largest model seen: echoes of up to 12 rounds at Δ = (u − x)/2 overshoot, which multiplies the
// float32 rounding (6e-8) of a round some times over, and 200 rounds follow each other.
func TestFedAWEAgainstSeparateModels(t *testing.T) {
	for name, value := range map[string]string{"no clip": "none", "clip 3": "3"} {
		t.Run(name, func(t *testing.T) {
			u := []float64{8, 16, -8, 0, 3, 5, -2}
			f, e := toyFederation(u...)
			f.P = []float64{0.9, 0.5, 0.7, 0.3, 0.6, 0.4, 0.2}
			o := withValues(Paper, "fedawe-clip", value)
			limit := fedaweClip.Optional(o)
			m := start(t, "fedawe", f, o)
			x, tau := make([]float64, len(u)), make([]int, len(u)) // in units of (3, 4)
			for i := range tau {
				tau[i] = -1
			}
			largest := 1.0
			for _, r := range trace(f, 200) {
				r.ServerLR, r.LR = 0.8, 0.1
				if _, err := m.Round(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				start, update := 0.0, 0.0
				for _, i := range r.Active {
					start += x[i] / float64(len(r.Active))
					update += float64(r.T-tau[i]) * 0.1 * (u[i] - x[i]) / float64(len(r.Active))
				}
				if limit != nil {
					update *= min(1, *limit/(5*math.Abs(update)))
				}
				for _, i := range r.Active {
					x[i], tau[i] = start+0.8*update, r.T
				}
				mean := 0.0
				for _, xi := range x {
					mean += xi / float64(len(u))
				}
				largest = max(largest, math.Abs(mean))
				if got := model(t, m, f); !near(got, mean, 1e-3*largest) {
					t.Fatalf("round %d, active %v: model %v, want %v ± %g",
						r.T, r.Active, got, scaled(mean), 1e-3*largest)
				}
			}
			if n := e.rows(); n > 2*f.N+3 {
				t.Errorf("%d rows, want at most %d", n, 2*f.N+3)
			}
		})
	}
}

// An update that overflows float32 has an infinite norm; clipping it to 0 would hide it.
func TestFedAWEInfiniteUpdate(t *testing.T) {
	f, _ := toyFederation(1e38)
	r := at(0, f, 1, 0)
	r.LR = 10
	_, err := start(t, "fedawe", f, Options{Preset: Code}).Round(t.Context(), r)
	const want = "algos: fedawe: round 0: norm of the update is +Inf, want a finite number"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestFedAvgKnownNeedsProbabilities(t *testing.T) {
	for _, p := range []float64{0, -0.5, 1.5, math.NaN()} {
		f, e := toyFederation(8, 16)
		r := at(0, f, 1, 1)
		r.P = []float64{0.5, p}
		_, err := start(t, "fedavg-known", f, Options{Preset: Code}).Round(t.Context(), r)
		if err == nil ||
			!strings.HasPrefix(err.Error(), "algos: fedavg-known: round 0: client 1 is active with probability ") {
			t.Errorf("p = %g: got %v, want an error that names the client", p, err)
		}
		if len(e.work) != 0 {
			t.Errorf("p = %g: trained before it was refused", p)
		}
	}
}
