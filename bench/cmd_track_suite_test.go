package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/nets"
	"rollcall/results/track"
)

// tinySuite is a night of seconds.
func tinySuite() nightly.Suite {
	s := nightly.StandardSuite()
	s.Clients, s.Steps, s.Batch, s.Train, s.Test, s.Passes = 2, 1, 4, 64, 16, 2
	s.Samples = 10
	return s
}

// TestTrackSuite measures a small night on the CPU, whatever it is.
func TestTrackSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of training, and -short is for the race detector")
	}
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	b := &nightly.Bench{Suite: tinySuite(), Machine: run.Machine{Device: "cpu", Threads: 2, Out: dir}, Stderr: &stderr}
	err := (&app{&stdout, &stderr}).trackRun(t.Context(), trackFlags{history: dir, rule: track.DefaultRule(), nights: 1, format: "text"}, b)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	h, bad := track.Read(only(t, dir, "*.csv"))
	if len(bad) > 0 || len(h.Nights) != 1 {
		t.Fatalf("history: got %v, %v, want one night", h, bad)
	}
	want := strings.Fields(`round/cifar10 step/cifar10 eval/cifar10 server/combine server/norm round/svhn step/svhn eval/svhn round/cinic10 step/cinic10
		eval/cinic10 kernel/conv1_forward kernel/conv2_forward kernel/conv2_backward kernel/fc1_forward kernel/fc1_backward kernel/gather kernel/dropout
		kernel/softmax kernel/update`)
	values := h.Nights[0].Values
	if len(values) != len(want) {
		t.Errorf("metrics: got %d, want %d", len(values), len(want))
	}
	for i, v := range values {
		if i < len(want) && v.Metric != want[i] || len(v.Samples) != 10 || !(v.Value() > 0) {
			t.Errorf("metric %d: got %+v, want %s with 10 samples", i, v, want[min(i, len(want)-1)])
		}
	}
	if m := h.Machine; m.Suite != "N2-E1-B4-train64-test16/1" || m.Threads != 2 || !strings.HasPrefix(m.Engine, "cpu-") || m.Precision != "fp32" || m.Device == "" || m.CPUs < 1 {
		t.Errorf("machine: got %+v", m)
	}
}

// Ctrl-C in the middle of a night leaves the history as it was.
func TestTrackInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	b := &nightly.Bench{Suite: tinySuite(), Machine: run.Machine{Device: "cpu", Threads: 1, Out: dir}, Stderr: cancelOn{"pass 1", cancel}}
	var out bytes.Buffer
	err := (&app{&out, &out}).trackRun(ctx, trackFlags{history: dir, rule: track.DefaultRule(), nights: 1, format: "text"}, b)
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

// fakeProfiler times two kernels, one of which was never launched.
type fakeProfiler struct{ on, rounds int }

func (f *fakeProfiler) Profile(on bool) error {
	f.on += run.Count01(on)
	return nil
}

func (f *fakeProfiler) Kernels() []nets.KernelTime {
	return []nets.KernelTime{{Kernel: "conv2d_forward", Launches: 4, Time: 6 * time.Millisecond}, {Kernel: "never"}}
}

func TestTrackProfiled(t *testing.T) {
	b := &nightly.Bench{At: map[string]int{}}
	f := &fakeProfiler{}
	for range 2 {
		if err := b.Profiled(t.Context(), f, func() error { f.rounds++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := []track.Measurement{{Metric: "kernel/conv2d_forward", Unit: "µs", Samples: []float64{1500, 1500}}}
	if f.rounds != 2 || f.on != 2 || !reflect.DeepEqual(b.Values, want) {
		t.Errorf("got %d rounds, %d profiles, %v, want 2, 2, %v", f.rounds, f.on, b.Values, want)
	}
	broken := errors.New("launch failed")
	if err := b.Profiled(t.Context(), f, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a round that fails: got %v, want %v", err, broken)
	}
}

func TestSuiteName(t *testing.T) {
	s := nightly.StandardSuite()
	s.Samples, s.Passes = 30, 3
	if got := s.Name(); got != "standard/1" {
		t.Errorf("more samples: got %s, want standard/1", got)
	}
	s.Clients = 8
	if got := s.Name(); got != "N8-E5-B128-train8192-test2048/1" {
		t.Errorf("fewer clients: got %s, want N8-E5-B128-train8192-test2048/1", got)
	}
}

func TestMachineClocks(t *testing.T) {
	dir := t.TempDir()
	if got := nightly.CpuClocks(dir); got != "" {
		t.Errorf("nothing known: got %q, want nothing", got)
	}
	for name, text := range map[string]string{
		"cpu0/cpufreq/cpuinfo_min_freq": "800000\n", "cpu0/cpufreq/cpuinfo_max_freq": "3500000\n", "cpu0/cpufreq/scaling_governor": "performance\n",
		"intel_pstate/no_turbo": "1\n", "cpuinfo": "cpu MHz\t\t: 2000.4\ncpu MHz\t\t: 3000.0\nmodel name: x\n",
		"nvidia": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:29:21 UTC 2025\nGCC version: 12.2.0\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := nightly.CpuClocks(dir), "800-3500 MHz performance no boost"; got != want {
		t.Errorf("clocks: got %q, want %q", got, want)
	}
	if got := nightly.CpuMHz(filepath.Join(dir, "cpuinfo")); got != 2500 {
		t.Errorf("mean clock: got %v, want 2500", got)
	}
	if got := nightly.DriverModule(filepath.Join(dir, "nvidia")); got != "580.65.06" {
		t.Errorf("driver: got %q, want 580.65.06", got)
	}
	lines := "NVIDIA H200, 1980 MHz, 3201 MHz, 700.00 W\nNVIDIA A100, 1410 MHz, 1593 MHz, 400.00 W\nNVIDIA H200, 1980 MHz, 3201 MHz, 700.00 W\n"
	if got, want := nightly.LimitsOf(lines, "NVIDIA H200"), "1980 MHz 3201 MHz 700.00 W"; got != want {
		t.Errorf("card: got %q, want %q", got, want)
	}
}
