package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results/track"
)

// tinySuite is a night of seconds.
func tinySuite() nightly.Suite {
	s := nightly.StandardSuite()
	s.Clients, s.Steps, s.Batch, s.Train, s.Test, s.Passes = 2, 1, 4, 64, 16, 2
	s.Samples = 10
	return s
}

// TestTrackSuite measures a small night on the CPU, whatever it is, in two precisions: each has a history of its own.
func TestTrackSuite(t *testing.T) {
	longtest.Only(t, "the whole suite of the night, in two precisions")
	if testing.Short() {
		t.Skip("some seconds of training, and -short is for the race detector")
	}
	dir := t.TempDir()
	for _, precision := range []string{"", "bf16"} {
		var stdout, stderr bytes.Buffer
		b := &nightly.Bench{
			Suite: tinySuite(), Stderr: &stderr,
			Machine: run.Machine{Device: "cpu", Precision: precision, Threads: 2, Out: dir},
		}
		err := (&app{&stdout, &stderr}).trackRun(t.Context(), trackFlags{
			history: dir, rule: track.DefaultRule(), nights: 1, format: "text",
		}, b)
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		found, err := filepath.Glob(filepath.Join(dir, "*_"+cmp.Or(precision, "fp32")+"_*.csv"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%q, %v, want one history", found, err)
		}
		checkNight(t, found[0], cmp.Or(precision, "fp32"))
	}
	if all := must.Get(os.ReadDir(dir))(t); len(all) != 3 {
		t.Errorf("%q, want two histories and the lock", all)
	}
}

// checkNight checks the history of one small night on the CPU.
func checkNight(t *testing.T, path, precision string) {
	t.Helper()
	h, bad := track.Read(path)
	if len(bad) > 0 || len(h.Nights) != 1 {
		t.Fatalf("history: got %v, %v, want one night", h, bad)
	}
	want := strings.Fields(`
		round/cifar10 step/cifar10 eval/cifar10 server/combine server/norm
		round/svhn step/svhn eval/svhn round/cinic10 step/cinic10 eval/cinic10
		kernel/conv1_forward kernel/conv2_forward kernel/conv2_backward kernel/fc1_forward kernel/fc1_backward
		kernel/gather kernel/dropout kernel/softmax kernel/update`)
	values := h.Nights[0].Values
	if len(values) != len(want) {
		t.Errorf("metrics: got %d, want %d", len(values), len(want))
	}
	for i, v := range values {
		if i < len(want) && v.Metric != want[i] || len(v.Wall) != 10 || len(v.Processor) != 10 ||
			len(v.Reference) != 10 {
			t.Errorf("metric %d: got %+v, want %s with 10 samples and references", i, v, want[min(i, len(want)-1)])
		}
	}
	if m := h.Machine; m.Suite != "N2-E1-B4-train64-test16/2" || m.Threads != 2 ||
		!strings.HasPrefix(m.Engine, "cpu-") || m.Precision != precision || m.Device == "" || m.CPUs < 1 {
		t.Errorf("machine: got %+v", m)
	}
}

// Ctrl-C in the middle of a night leaves the history as it was.
func TestTrackInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	b := &nightly.Bench{
		Suite: tinySuite(), Machine: run.Machine{Device: "cpu", Threads: 1, Out: dir},
		Stderr: cancelOn{"pass 1", cancel},
	}
	var out bytes.Buffer
	err := (&app{&out, &out}).trackRun(ctx, trackFlags{
		history: dir, rule: track.DefaultRule(), nights: 1, format: "text",
	}, b)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.csv")); len(files) != 0 {
		t.Errorf("history: got %v, want none", files)
	}
}

// cancelOn cancels when it is told something.
type cancelOn struct {
	word   string
	cancel func()
}

func (c cancelOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.word) {
		c.cancel()
	}
	return len(p), nil
}
