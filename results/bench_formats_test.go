package results

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// The format is the one of golang.org/design/14313-benchmark-format; benchstat itself was seen to read this output.
func TestGobench(t *testing.T) {
	r, rounds := testRounds()
	rounds = rounds[:3]
	rounds[1] = BenchRound{
		Wall: 16 * time.Second, Processor: 40 * time.Second, Steps: 400, Images: 51200, FLOP: 1e12, Reference: 100e9,
		ReferenceFLOP: 50e6, Instructions: 400e6, Cycles: 200e6,
	}
	rounds[2] = BenchRound{Wall: time.Millisecond, Reference: 2e9, ReferenceFLOP: 50e6} // nobody was active
	r.Device = "Some CPU\n@ 2 GHz"
	r.Net = "my net/2"
	want := "goos: " + runtime.GOOS + "\ngoarch: " + runtime.GOARCH + "\npkg: rollcall\ncpu: Some CPU @ 2 GHz\n"
	for _, unit := range []string{
		"client-steps/s", "images/s", "FLOP/s", "reference-FLOP/s", "reference-share", "test-acc",
	} {
		want += "Unit " + unit + " better=higher\n"
	}
	const of = "/data=cifar10/net=my_net_2/availability=stationary/clients=100/steps=10/batch=128/" +
		"engine=cpu-avx512/precision=fp32-2\t1\t"
	for _, line := range [][]string{
		{
			"Round", "1.85e+10 ns/op", "5e+07 ns/client-step", "20 client-steps/s", "2560 images/s", "5e+10 FLOP/s",
			"1e+08 processor-ns/client-step", "200 loops/client-step", "1e+11 reference-FLOP/s",
			"0.25 reference-share",
		},
		{
			"Round", "1.6e+10 ns/op", "4e+07 ns/client-step", "25 client-steps/s", "3200 images/s",
			"6.25e+10 FLOP/s", "1e+08 processor-ns/client-step", "200 loops/client-step",
			"1e+06 instructions/client-step", "500000 cycles/client-step", "1e+11 reference-FLOP/s",
			"0.25 reference-share",
		},
		{"Round", "1e+06 ns/op", "2e+09 reference-FLOP/s"},
		{"Evaluation", "1.2345e+09 ns/eval", "0.2345 test-acc"},
		{"Run", "8.51968e+08 peak-B", "0.015625 steal", "0.125 others", "1.25 load-average", "0 card-users"},
	} {
		want += "Benchmark" + line[0] + of + strings.Join(line[1:], "\t") + "\n"
	}
	var b bytes.Buffer
	must.OK(t, r.Gobench(&b, rounds))
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	r.Engine, r.Device, r.EvalMS, r.TestAcc = "cuda-sm90", "H200", files.Optional{}, files.Optional{}
	must.OK(t, r.Gobench(&b, rounds))
	if got := b.String(); !strings.Contains(got, "\ngpu: H200\n") || strings.Contains(got, "cpu:") ||
		strings.Contains(got, "BenchmarkEvaluation") {
		t.Errorf("on a GPU, not evaluated: got\n%s\nwant a line gpu: H200, none with cpu:, no evaluation", got)
	}
}

// The document has a sample of each round and metric, and reads back as it was written.
func TestBenchReport(t *testing.T) {
	r, rounds := testRounds()
	rounds = append(rounds[:2:2], BenchRound{Wall: time.Second}) // nobody was active in the last one
	rounds[1].Instructions = 370e6
	report := r.Report(rounds)
	want := []BenchMetric{
		{"round", "ms", []float64{18500, 18000, 1000}},
		{"step", "ms", []float64{50, 1e3 * 18 / 370.}},
		{"step_processor", "ms", []float64{100, 100}},
		{"step_loops", "loops", []float64{200, 202}}, // 0.1 s of processor time; the loop took 0.5 and 50/101 ms
		{"step_instructions", "instructions", []float64{1e6}},
		{"eval", "µs", []float64{123.45}},
		{"peak_memory", "MiB", []float64{812.5}},
	}
	if !reflect.DeepEqual(report.Metrics, want) {
		t.Errorf("got  %+v\nwant %+v", report.Metrics, want)
	}
	var b bytes.Buffer
	must.OK(t, report.JSON(&b))
	var back BenchReport
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || !reflect.DeepEqual(back, report) {
		t.Errorf("%s\nread back: %+v, %v, want %+v", b.String(), back, err, report)
	}
	for _, part := range []string{
		`"schema": 1,`, `"time": "2025-03-01T12:00:00Z"`, `"others": 0.125`, `"test_acc": 0.2345`,
		`"engine": "cpu-avx512"`, `"local_steps": 10`,
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %s in\n%s", part, b.String())
		}
	}
	b.Reset()
	must.OK(t, BenchRow{}.Report(nil).JSON(&b))
	for _, part := range []string{"others", "test_acc", "eval"} {
		if strings.Contains(b.String(), part) {
			t.Errorf("%s in\n%s\nwant nothing that is not known", part, b.String())
		}
	}
}
