package run

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/results"
)

// A row of the speeds is warned about by its own load, users of the card and spread.
func TestSpeedWarnings(t *testing.T) {
	row := results.BenchRow{
		LoadAverage: files.Some(3.2), CardUsers: files.Some(1),
		StepsPerSecP10: files.Some(10), StepsPerSecP90: files.Some(18),
	}
	b := SpeedTest{Machine: Machine{Threads: 2}}
	got := b.Warnings(&row)
	if len(got) != 3 || !strings.HasPrefix(got[0], "load average 3.2 exceeds 2 threads: ") ||
		!strings.HasPrefix(got[2], "p90/p10 of the rounds' client-steps/s is 1.8, more than 1.5: ") {
		t.Errorf("%q, want the load, the process on the card and the spread", got)
	}
}

// Phases add up to the rounds, copies of plans apart from training; kernels have the rates of their sums.
func TestProfilePrint(t *testing.T) {
	p := &Phases{
		train: 30 * time.Millisecond, combine: 6 * time.Millisecond, evaluation: 5 * time.Millisecond,
		evalImages: 10_000, writing: 1500 * time.Microsecond,
		kernels: []nets.KernelTime{
			{Kernel: "conv_forward_tf32", Launches: 40, Time: 8 * time.Millisecond, FLOP: 1.6e12, Bytes: 12e9},
			{Kernel: "upload", Launches: 4, Time: 2 * time.Millisecond, Bytes: 50e6},
			{Kernel: "never"},
		},
	}
	var text bytes.Buffer
	must.OK(t, p.Print(&text, 4, 40*time.Millisecond))
	var got []string
	for line := range strings.Lines(text.String()) {
		if fields := strings.Fields(line); len(fields) > 0 {
			got = append(got, strings.Join(fields, " "))
		}
	}
	want := []string{
		"phase ms per round % of rounds",
		"plans 1.000 10.0", // 40 − 30 − 6 ms in 4 rounds
		"upload 0.500 5.0",
		"train 7.000 70.0",
		"combine 1.500 15.0",
		"outside the rounds ms per evaluation",
		"evaluate 10000 test images 5.000",
		"write curve.csv of 200 rows 1.500",
		"kernel launches µs each ms per round % of kernels TFLOP/s GB/s",
		"conv_forward_tf32 40 200.0 2.000 80.0 200.0 1500.0",
		"upload 4 500.0 0.500 20.0 – 25.0",
		"never 0 0.0 0.000 0.0 – –",
		"all 44 227.3 2.500 100.0 160.0 1205.0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed\n%s\nwant, spaces aside,\n%s", text.String(), strings.Join(want, "\n"))
	}
	if len(p.kernels) != 3 {
		t.Errorf("%d kernels behind the printing, want 3", len(p.kernels))
	}
}

// Writing is timed with a curve as long as a paper's, and leaves nothing behind.
func TestProfileWrite(t *testing.T) {
	dir := t.TempDir()
	p := &Phases{}
	must.OK(t, p.write(dir, results.CurveRow{Setup: results.Setup{Method: "fedavg-active"}}))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 || p.writing <= 0 {
		t.Errorf("%v for writing, %d files left, %v, want some, none, no error", p.writing, len(left), err)
	}
}
