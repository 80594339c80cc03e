package nightly

import (
	"errors"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels/reference"
)

// burn takes some µs of processor time.
func burn() error {
	x := 1.0
	for range 20000 {
		x = x*0.999 + 0.1
	}
	if x < 0 { // never
		return errors.New("below 0")
	}
	return nil
}

// A metric with a loop has its processor time and the loop's beside every sample, a metric without one the wall time.
func TestSample(t *testing.T) {
	b := &Bench{repeat: map[string]parts{}}
	m := metric{"kernel/burn", "µs", 1, reference.New("generic", 1)}
	calls := 0
	for range 2 {
		must.OK(t, b.short(t.Context(), m, func() error { calls++; return burn() }))
	}
	m.name, m.loop = "kernel/none", nil
	must.OK(t, b.sample(t.Context(), m, parts{3, 2}, burn))
	if len(b.values) != 2 {
		t.Fatalf("got %+v, want two metrics", b.values)
	}
	v, p := b.values[0], b.repeat["kernel/burn"]
	if len(v.Wall) != 2 || len(v.Processor) != 2 || len(v.Reference) != 2 || p.count < leastParts ||
		calls < 2*p.calls*p.count {
		t.Errorf("got %+v of %+v, %d calls, want two samples", v, p, calls)
	}
	if none := b.values[1]; len(none.Wall) != 1 || none.Processor != nil || none.Reference != nil {
		t.Errorf("without a loop: got %+v, want wall time alone", none)
	}
}
