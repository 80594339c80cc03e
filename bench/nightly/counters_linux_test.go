package nightly

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"rollcall/bench/run/conditions"
	"rollcall/nets/cpu/kernels/reference"
)

// A sample with counters has the counts of a call, beside the times that it has without them. The events are two that
// Linux counts on every machine: page faults, of which there are hardly any, and ns on a processor.
func TestSampleCounts(t *testing.T) {
	faults := conditions.Event{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS}
	clock := conditions.Event{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK}
	counters, err := conditions.OpenCounters(clock, faults)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		t.Skip("left out:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer counters.Close()
	b := &Bench{repeat: map[string]parts{}, counters: counters}
	m := metric{"kernel/burn", "µs", 2, reference.New("generic", 1)}
	if err := b.short(t.Context(), m, burn); err != nil {
		t.Fatal(err)
	}
	if len(b.values) < 2 || b.values[0].Metric != "kernel/burn" || b.values[1].Metric != "instructions/kernel/burn" {
		t.Fatalf("got %+v, want kernel/burn and its counts", b.values)
	}
	times, counts := b.values[0], b.values[1]
	// Both are of one of the two things that a call does. The mean of the parts is on a processor for at least as long
	// as the fastest ones take (a tenth less: the clocks differ), and the process for not much longer than all take.
	least, most := 0.9e3*times.Processor[0], 1.5e3*times.Wall[0]
	if len(counts.Wall) != 1 || counts.Unit != "count" || counts.Processor != nil || counts.Reference != nil ||
		counts.Wall[0] < least || counts.Wall[0] > most {
		t.Errorf("got %+v, want one count of %g … %g ns, without a reference", counts, least, most)
	}
}
