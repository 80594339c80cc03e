//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

// faulty is the environment variable that tells a child process which fault it tests. The emulator reads its faults
// from the environment too, and so every fault needs a process of its own.
const faulty = "ROLLCALL_TEST_FAULT"

// child runs a test again in a new process, with additional environment variables, and returns its output.
func child(t *testing.T, test, fault string, env ...string) string {
	t.Helper()
	out, err := gputest.Child(t, "kernels", false, "^"+test+"$", append(env, faulty+"="+fault)...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// Each fault of the driver, the card or a kernel is an error of one line that says what is wrong.
func TestFaults(t *testing.T) {
	want := map[string]struct{ env, text string }{
		"driver":     {"ROLLCALL_EMULATOR_DRIVER=11080", "11.8"},
		"capability": {"ROLLCALL_EMULATOR_CAPABILITY=7.5", "7.5"},
		"none":       {"ROLLCALL_EMULATOR_DEVICES=0", "no "},
		"jit":        {"ROLLCALL_EMULATOR_FAIL_JIT=1", "PTX"},
		"launch":     {"ROLLCALL_EMULATOR_FAIL_LAUNCH=3", "launch"},
		"lost":       {"ROLLCALL_EMULATOR_LOSE_DEVICE=5", "after"},
		"library":    {"ROLLCALL_LIBCUDA=/nowhere/libcuda.so.1", "/nowhere/libcuda.so.1"},
	}
	fault := os.Getenv(faulty)
	if fault == "" {
		for name, c := range want {
			t.Run(name, func(t *testing.T) { child(t, "TestFaults", name, c.env) })
		}
		return
	}
	m := must(nets.NewModel("linear-mnist"))(t)
	err := func() error {
		e, err := openEngine(m, samplesFor(m, trainSamples, 1), nil, Options{Batch: 2})
		if err != nil {
			return err
		}
		defer func() {
			closed := make(chan error, 1)
			go func() { closed <- e.Close() }()
			select {
			case <-closed:
			case <-time.After(20 * time.Second):
				t.Error("Close hangs")
			}
		}()
		for range 20 {
			b, err := e.NewBank(2)
			if err != nil {
				return err
			}
			if _, err := e.Train(t.Context(),
				nets.LocalWork{LR: 1, Clients: []nets.ClientWork{{
					Start: nets.Row{Bank: b}, End: nets.Row{Bank: b, Index: 1}, Plan: planOf(0, 2, 2, 2),
				}}}); err != nil {
				return err
			}
			b.Free()
		}
		return nil
	}()
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want[fault].text) ||
		!strings.HasPrefix(err.Error(), "gpu: ") {
		t.Errorf("%s: error %q, want one line that begins with gpu: and names %q", fault, err, want[fault].text)
	}
	if fault == "lost" && !errors.Is(err, driver.ErrDeviceLost) {
		t.Errorf("%v is not known as the loss of the device", err)
	}
	t.Log(err)
}

// If memory is short, fewer clients are trained at once, with the same bytes as a result. The user is told once.
func TestShortOfMemory(t *testing.T) {
	const batch, clients, steps = 256, 24, 1
	fault := os.Getenv(faulty)
	m := must(nets.NewModel("linear-mnist"))(t)
	train := samplesFor(m, trainSamples, 1)
	o := Options{Batch: batch, EvalBatch: 2}
	if fault == "" {
		roomy := estimate(t, m, train, nil, o, clients, steps, 2*clients)
		tight := estimate(t, m, train, nil, o, 8, steps, 2*clients)
		if tight > roomy*3/4 {
			t.Fatalf("room for 8 clients takes %s, for %d %s: the test needs more between them",
				driver.Size(tight), clients, driver.Size(roomy))
		}
		child(t, t.Name(), "memory", fmt.Sprintf("ROLLCALL_EMULATOR_MEMORY=%d",
			(tight+roomy)/2+ringBytes), "ROLLCALL_GPU_ARENA=")
		return
	}
	var notices []string
	o.Notice = func(_, s string) { notices = append(notices, s) }
	result := func(o Options) (rows [][]float32) {
		e := must(openEngine(m, train, nil, o))(t)
		defer func() { ok(t, e.Close()) }()
		b := must(e.NewBank(2 * clients))(t)
		work := nets.LocalWork{LR: 0x1p-4}
		for i := range clients {
			start := nets.Row{Bank: b, Index: i}
			ok(t, e.Load(start, m.Init(nets.Kaiming, uint32(i))))
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: i, Start: start,
				End: nets.Row{Bank: b, Index: clients + i}, Plan: planOf(i, steps, batch, batch),
			})
		}
		for range 3 {
			must(e.Train(t.Context(), work))(t)
		}
		for i := range clients {
			rows = append(rows, load(t, e, work.Clients[i].End))
		}
		return rows
	}
	got := result(o)
	if len(notices) != 1 || !strings.Contains(notices[0], "out of memory") ||
		!strings.Contains(notices[0], "at most 12 clients at once") {
		t.Errorf("notices %q, want one that says out of memory and at most 12 clients at once", notices)
	}
	o.MaxClients, o.Notice = 5, nil
	for i, want := range result(o) {
		if !slices.Equal(got[i], want) {
			t.Errorf("client %d: short of memory and in waves of 5 differ", i)
		}
	}
}

// The engine takes as much memory on the card after many rounds as after one.
func TestMemoryStaysFlat(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{EvalBatch: 4})
	b := must(g.NewBank(4))(t)
	row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
	ok(t, g.Load(row(0), m.Init(nets.Kaiming, 1)))
	round := func(i int) {
		extra := must(g.NewBank(1 + i%3))(t)
		defer extra.Free()
		work := nets.LocalWork{LR: 0x1p-6, Round: i}
		for c := range 1 + i%3 {
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: c, Start: row(0), End: row(1 + c), Plan: planOf(c, 1+i%2, 2, 2),
			})
		}
		must(g.Train(t.Context(), work))(t)
		ok(t, g.Combine(row(0), []float64{0.5, 0.5}, []nets.Row{row(0), row(1)}))
		if i%50 == 0 {
			must(g.Evaluate(t.Context(), []nets.EvalJob{{Row: row(0), Part: nets.Test}}))(t)
		}
	}
	rounds := 300
	if gputest.Real() {
		rounds = 10_000
	}
	for i := range 60 {
		round(i)
	}
	before := used(t, g)
	for i := range rounds {
		round(i)
	}
	if after := used(t, g); after != before {
		t.Errorf("%d rounds took the memory in use from %d to %d bytes", rounds, before, after)
	}
}

// A cancelled context ends training and evaluation between two waves. The engine can then be used again and closed.
func TestCancel(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{MaxClients: 1})
	c := newCrowd(t, g, m, 3, 2, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		time.Sleep(20 * time.Millisecond)
		cancel()
	}()
	var err error
	for err == nil {
		_, err = g.Train(ctx, c.work)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
	must(g.Train(t.Context(), c.work))(t)
}

// Under AddressSanitizer, with every buffer an allocation of its own, the engine reads and writes nothing beside a
// buffer.
func TestSanitized(t *testing.T) {
	if testing.Short() || os.Getenv("ROLLCALL_GPU_ARENA") == "guard" {
		t.Skip("left out: short, or sanitized already")
	}
	out, err := gputest.Child(t, "kernels", true,
		"^(TestTrainAgainstCPU|TestReducedPrecision|TestEvaluate|TestRows)$/"+
			"(^lenet5$|lenet5_E=1_|lenet5_bf16|^linear-mnist_E=1)").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTrainAgainstCPU/lenet5_E=1_B=5") {
		t.Errorf("%v\n%s", err, out)
	}
}
