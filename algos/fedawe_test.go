package algos

import (
	"math"
	"strings"
	"testing"
)

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
