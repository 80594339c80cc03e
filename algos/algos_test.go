package algos

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	want := []string{
		"fedavg-active", "fedavg-all", "fedavg-known", "fedau", "f3ast", "fedawe", "mifa", "mifa-wait", "fedvarp",
		"unbiased", "more-available", "adafed", "ca-fed", "fedar", "fedavg-is", "fedavg-s", "scaffold",
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
}

// η_0/sqrt(t/10 + 1): 1 at t = 0, 1/2 at t = 30, 1/√1.5 at t = 5 (t/10 is not rounded).
func TestDecayedLR(t *testing.T) {
	for round, want := range map[int]float64{0: 0.1, 30: 0.05, 5: 0.1 / math.Sqrt(1.5), 1999: 0.1 / math.Sqrt(200.9)} {
		if got := DecayedLR(0.1, round); math.Abs(got-want) > 1e-16 { // one float64 rounding of 0.1
			t.Errorf("round %d: %.17g, want %.17g ± 1e-16", round, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	f, e := toyFederation(8, 16)
	_, err := New("fedsgd", f, make([]float32, 2), Options{Preset: Code})
	if err == nil || !strings.HasPrefix(err.Error(), `algos: method "fedsgd": unknown, want one of fedavg-active, `) ||
		e.rows() != 0 {
		t.Errorf("unknown method: got %v and %d rows, want none", err, e.rows())
	}
}
