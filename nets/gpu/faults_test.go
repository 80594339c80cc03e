//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
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
	m := must.Get(models.New("linear-mnist"))(t)
	err := func() error {
		e, err := openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), nil, Options{Batch: 2})
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
					Start: nets.Row{Bank: b}, End: nets.Row{Bank: b, Index: 1}, Plan: crowd.Plan(0, 2, 2, 2),
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

// A cancelled context ends training and evaluation between two waves. The engine can then be used again and closed.
func TestCancel(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{MaxClients: 1})
	c := newRound(t, g, m, 3, 2, nil)
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
	must.Get(g.Train(t.Context(), c.work))(t)
}

// Under AddressSanitizer, with every buffer an allocation of its own, the engine reads and writes nothing beside a
// buffer.
func TestSanitized(t *testing.T) {
	longtest.Only(t, "AddressSanitizer on the emulator")
	if testing.Short() || os.Getenv("ROLLCALL_GPU_ARENA") == "guard" {
		t.Skip("left out: short, or sanitized already")
	}
	out, err := gputest.Child(t, "kernels", true,
		"^(TestTrainAgainstCPU|TestWaves|TestEvaluate|TestRows)$/"+
			"(^lenet5$|lenet5_E=1_|lenet5_bf16|^linear-mnist_E=1)").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTrainAgainstCPU/lenet5_E=1_B=5") {
		t.Errorf("%v\n%s", err, out)
	}
}
