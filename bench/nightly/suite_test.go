package nightly

import (
	"encoding/csv"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels/reference"
	"rollcall/nets/gpu"
	"rollcall/results/track"
)

// fakeProfiler times a kernel, a copy, and a kernel that was never launched.
type fakeProfiler struct{ on, rounds int }

func (f *fakeProfiler) Profile(on bool) error {
	if on {
		f.on++
	}
	return nil
}

func (f *fakeProfiler) Kernels() []nets.KernelTime {
	return []nets.KernelTime{
		{Kernel: "sgd", Launches: 4, Time: 6 * time.Millisecond},
		{Kernel: "upload", Launches: 1, Time: time.Millisecond},
		{Kernel: "never"},
	}
}

func TestTrackProfiled(t *testing.T) {
	b := &Bench{}
	f := &fakeProfiler{}
	for range 2 {
		must.OK(t, b.profiled(t.Context(), f, "cuda-sm90", func() error { f.rounds++; return nil }))
	}
	registers, instructions, _ := gpu.MachineCode("cuda-sm90", "sgd")
	twice := func(x float64) []float64 { return []float64{x, x} }
	want := []track.Measurement{
		{Metric: "kernel/sgd", Unit: "µs", Wall: twice(1500)},
		{Metric: "registers/sgd", Unit: "registers", Wall: twice(float64(registers))},
		{Metric: "instructions/sgd", Unit: "instructions", Wall: twice(float64(instructions))},
		{Metric: "kernel/upload", Unit: "µs", Wall: twice(1000)},
	}
	if f.rounds != 2 || f.on != 2 || !reflect.DeepEqual(b.values, want) {
		t.Errorf("got %d rounds, %d profiles, %v, want 2, 2, %v", f.rounds, f.on, b.values, want)
	}
	broken := errors.New("launch failed")
	if err := b.profiled(t.Context(), f, "", func() error { return broken }); !errors.Is(err, broken) {
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

func TestWarnings(t *testing.T) {
	calm := track.Measurement{Metric: "round/cifar10", Unit: "ms", Wall: []float64{100, 101, 102}}
	wide := track.Measurement{Metric: "step/cifar10", Unit: "ms", Wall: []float64{100, 150, 200}}
	count := track.Measurement{Metric: "cycles/eval/cifar10", Unit: "count", Wall: []float64{100, 300, 500}}
	wider := track.Measurement{Metric: "eval/cifar10", Unit: "ms", Wall: []float64{100, 250, 400}}
	of := func(c track.Conditions, v ...track.Measurement) track.Night {
		return track.Night{Conditions: c, Values: v}
	}
	for _, test := range []struct {
		name  string
		night track.Night
		want  []string
	}{
		{"nothing known", of(track.Conditions{}), nil},
		{"all is well", of(track.Conditions{Load: files.Some(2), CardUsers: files.Some(0)}, calm, count), nil},
		{
			"one metric", of(track.Conditions{}, calm, wide),
			[]string{"p90/p10 of the wall times of step/cifar10 is 1.7, more than 1.5: "}, // 190/110
		},
		{
			"all at once", of(track.Conditions{Load: files.Some(3), CardUsers: files.Some(2)}, wide, calm, wider),
			[]string{
				"load average 3.0 exceeds 2 threads: ", "2 other processes compute on the card",
				"p90/p10 of the wall times of eval/cifar10, the worst of 2 metrics, is 2.8, more than 1.5: ", // 370/130
			},
		},
	} {
		got := Warnings(track.Machine{Threads: 2}, test.night)
		if len(got) != len(test.want) {
			t.Errorf("%s: got %q, want %d lines", test.name, got, len(test.want))
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got %q, want %q", test.name, got[i], want)
			}
		}
	}
}

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

var (
	noiseFile = flag.String("noise", "", "file that TestRecordNoise appends a night to; empty: the test is skipped")
	noiseLoad = flag.String("load", "quiet", "name of what else runs meanwhile")
)

// TestRecordNoise records a night on this machine, for the rates that package track computes from many:
//
//	go test ./bench/nightly -run TestRecordNoise -count 1 -noise FILE
//
// Every night is a process of its own, as it is with `rollcall track run`. It takes half a minute, with a metric of
// every kind: fewer clients in a round, and one net. A row is a night's samples of one metric.
func TestRecordNoise(t *testing.T) {
	if *noiseFile == "" {
		t.Skip("-noise: no file")
	}
	s := StandardSuite()
	s.Data, s.Clients = []string{"cifar10"}, 8
	b := &Bench{Suite: s, Machine: run.Machine{Device: "cpu", Threads: 2, Out: t.TempDir()}, Stderr: t.Output()}
	night := strconv.FormatInt(time.Now().Unix(), 10)
	values := must.Get(b.Measure(t.Context()))(t)
	f := must.Get(os.OpenFile(*noiseFile, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))(t)
	out := csv.NewWriter(f)
	if must.Get(f.Stat())(t).Size() == 0 {
		_ = out.Write([]string{"night", "load", "metric", "unit", "wall", "processor", "reference"})
	}
	list := func(x []float64) string {
		words := make([]string, len(x))
		for i := range x {
			words[i] = strconv.FormatFloat(x[i], 'g', 5, 64)
		}
		return strings.Join(words, " ")
	}
	for _, v := range values {
		_ = out.Write([]string{night, *noiseLoad, v.Metric, v.Unit, list(v.Wall), list(v.Processor), list(v.Reference)})
	}
	out.Flush()
	must.OK(t, errors.Join(out.Error(), f.Close()))
}
