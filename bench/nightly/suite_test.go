package nightly

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/results/track"
)

// fakeProfiler times two kernels, one of which was never launched.
type fakeProfiler struct{ on, rounds int }

func (f *fakeProfiler) Profile(on bool) error {
	if on {
		f.on++
	}
	return nil
}

func (f *fakeProfiler) Kernels() []nets.KernelTime {
	return []nets.KernelTime{{Kernel: "conv2d_forward", Launches: 4, Time: 6 * time.Millisecond}, {Kernel: "never"}}
}

func TestTrackProfiled(t *testing.T) {
	b := &Bench{}
	f := &fakeProfiler{}
	for range 2 {
		must.OK(t, b.profiled(t.Context(), f, func() error { f.rounds++; return nil }))
	}
	want := []track.Measurement{{Metric: "kernel/conv2d_forward", Unit: "µs", Wall: []float64{1500, 1500}}}
	if f.rounds != 2 || f.on != 2 || !reflect.DeepEqual(b.values, want) {
		t.Errorf("got %d rounds, %d profiles, %v, want 2, 2, %v", f.rounds, f.on, b.values, want)
	}
	broken := errors.New("launch failed")
	if err := b.profiled(t.Context(), f, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a round that fails: got %v, want %v", err, broken)
	}
}

func TestSuiteName(t *testing.T) {
	s := StandardSuite()
	s.Samples, s.Passes = 30, 3
	if got := s.Name(); got != "standard/2" {
		t.Errorf("more samples: got %s, want standard/2", got)
	}
	s.Clients = 8
	if got := s.Name(); got != "N8-E5-B128-train8192-test512/2" {
		t.Errorf("fewer clients: got %s, want N8-E5-B128-train8192-test512/2", got)
	}
}

func TestMachineClocks(t *testing.T) {
	dir := t.TempDir()
	if got := cpuClocks(dir); got != "" {
		t.Errorf("nothing known: got %q, want nothing", got)
	}
	for name, text := range map[string]string{
		"cpu0/cpufreq/cpuinfo_min_freq": "800000\n", "cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
		"cpu0/cpufreq/scaling_governor": "performance\n",
		"intel_pstate/no_turbo":         "1\n", "cpuinfo": "cpu MHz\t\t: 2000.4\ncpu MHz\t\t: 3000.0\nmodel name: x\n",
		"nvidia": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:29:21 UTC 2025\n" +
			"GCC version: 12.2.0\n",
	} {
		path := filepath.Join(dir, name)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if got, want := cpuClocks(dir), "800-3500 MHz performance no boost"; got != want {
		t.Errorf("clocks: got %q, want %q", got, want)
	}
	if got := cpuMHz(filepath.Join(dir, "cpuinfo")); got != 2500 {
		t.Errorf("mean clock: got %v, want 2500", got)
	}
	if got := driverModule(filepath.Join(dir, "nvidia")); got != "580.65.06" {
		t.Errorf("driver: got %q, want 580.65.06", got)
	}
	lines := "NVIDIA H200, 1980 MHz, 3201 MHz, 700.00 W\nNVIDIA A100, 1410 MHz, 1593 MHz, 400.00 W\nNVIDIA H200, " +
		"1980 MHz, 3201 MHz, 700.00 W\n"
	if got, want := limitsOf(lines, "NVIDIA H200"), "1980 MHz 3201 MHz 700.00 W"; got != want {
		t.Errorf("card: got %q, want %q", got, want)
	}
}
