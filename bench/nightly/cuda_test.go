//go:build gpu && linux && cgo

package nightly

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/gputest"
	"rollcall/results/track"
)

// A night on a card has the registers and the instructions of every kernel that it times, as often as the kernel's
// times. It counts nothing of the processor, and says nothing of that.
func TestCUDANight(t *testing.T) {
	const kernels, variable = "../../nets/gpu/kernels", "ROLLCALL_TEST_NIGHT"
	if !gputest.Real() && os.Getenv(variable) == "" {
		longtest.Only(t, "a night on the emulator")
		out, err := gputest.Child(t, kernels, false, "^TestCUDANight$", variable+"=1").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestCUDANight") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if why := gputest.Hold(); why != "" {
		t.Skip("left out:", why)
	}
	var said bytes.Buffer
	b := &Bench{
		Suite: Suite{
			Data: []string{"cifar10"}, Clients: 1, Steps: 1, Batch: 1, Train: 10, Test: 2, Samples: 2, Passes: 1,
		},
		Machine: run.Machine{Device: "cuda:0", Threads: 1, Out: t.TempDir()}, Stderr: &said,
	}
	values := must.Get(b.Measure(t.Context()))(t)
	if text := said.String(); strings.Contains(text, "left out") {
		t.Errorf("said %q, want nothing of counts", text)
	}
	byName := map[string]track.Measurement{}
	for _, v := range values {
		byName[v.Metric] = v
	}
	engine := must.Get(gpu.Cards())(t)[0].Engine()
	timed, copies := 0, 0
	for _, v := range values {
		kernel, ok := strings.CutPrefix(v.Metric, "kernel/")
		if !ok {
			continue
		}
		if slices.Contains([]string{"upload", "memset", "download"}, kernel) {
			copies++
			continue
		}
		timed++
		registers, instructions, ok := gpu.MachineCode(engine, kernel)
		if !ok || len(v.Wall) != b.Suite.Samples {
			t.Errorf("%+v on %s: want %d samples, and the kernel in the table", v, engine, b.Suite.Samples)
		}
		for _, want := range []track.Measurement{
			{Metric: "registers/" + kernel, Unit: "registers", Wall: []float64{float64(registers)}},
			{Metric: "instructions/" + kernel, Unit: "instructions", Wall: []float64{float64(instructions)}},
		} {
			want.Wall = slices.Repeat(want.Wall, b.Suite.Samples)
			if got := byName[want.Metric]; got.Unit != want.Unit || !slices.Equal(got.Wall, want.Wall) ||
				got.Processor != nil || got.Reference != nil {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
	// The others are a round, a step, an evaluation, and two of the server.
	if timed < 10 || len(values) != 3*timed+copies+5 {
		t.Errorf("%d metrics of %d kernels and %d copies: want 10 kernels at least, with 3 metrics each, and 5 others",
			len(values), timed, copies)
	}
}
