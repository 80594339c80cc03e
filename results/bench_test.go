package results

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/results/files"
	"rollcall/results/files/filestest"
)

func testBench() BenchRow {
	r := BenchRow{
		Time: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Version: "v0.1", Data: "cifar10", Net: "cnn-cifar10",
		Availability: "stationary", Clients: 100, Active: 37.25, LocalSteps: 10, Batch: 128, Warmup: 2,
		Threads: 2, Engine: "cpu-avx512", Precision: "fp32", Device: "Some CPU @ 2 GHz", ClientStepsPerSec: 20.5,
		ImagesPerSec: 2624, GFLOPs: 54.94, ClientStepMS: 48.78, EvalImages: 10000, EvalMS: files.Some(1234.5),
		PeakMemMiB: files.Some(812.5), TestAcc: files.Some(0.2345), Seed: 3,
	}
	r.RoundTimes([]time.Duration{
		18200 * time.Millisecond, 18 * time.Second, 19 * time.Second,
		18100 * time.Millisecond, 18300500 * time.Microsecond,
	})
	return r
}

func TestBenchRoundTimes(t *testing.T) {
	r := testBench()
	// Sorted: 18000, 18100, 18200, 18300.5, 19000 ms; p10 lies at 0.4, p90 at 3.6.
	if r.Rounds != 5 || !filestest.Near(r.RoundMSMedian, 18200) || !filestest.Near(r.RoundMSP10, 18040) ||
		!filestest.Near(r.RoundMSP90, 18720.2) {
		t.Errorf("got %d rounds, median %v, p10 %v, p90 %v, want 5, 18200, 18040, 18720.2",
			r.Rounds, r.RoundMSMedian, r.RoundMSP10, r.RoundMSP90)
	}
}

func TestAppendBench(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", BenchFile)
	first, second := testBench(), testBench()
	second.Time = second.Time.Add(time.Hour)
	second.EvalMS, second.PeakMemMiB, second.TestAcc = files.Optional{}, files.Optional{}, files.Optional{}
	given := second
	given.Time = given.Time.Add(999 * time.Millisecond)
	for _, r := range []BenchRow{first, given} {
		if err := AppendBench(path, r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := benchHeader + "\n" +
		"2025-03-01T12:00:00Z,v0.1,cifar10,cnn-cifar10,stationary,100,37.25,10,128,5,2,2,cpu-avx512,fp32,Some CPU @ " +
		"2 GHz,20.5,2624,54.94,18200,18040,18720.2,48.78,10000,1234.5,812.5,0.2345,3\n" +
		"2025-03-01T13:00:00Z,v0.1,cifar10,cnn-cifar10,stationary,100,37.25,10,128,5,2,2,cpu-avx512,fp32,Some CPU @ " +
		"2 GHz,20.5,2624,54.94,18200,18040,18720.2,48.78,10000,,,,3\n"
	if string(text) != want {
		t.Errorf("file:\ngot\n%s\nwant\n%s", text, want)
	}
	back, err := files.ReadCSVFile[BenchRow](path)
	if err != nil || !reflect.DeepEqual(back, []BenchRow{first, second}) {
		t.Errorf("read back: got %+v, %v, want %+v", back, err, []BenchRow{first, second})
	}
}

func TestAppendBenchRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"another CSV", curveHeader + "\n", `line 1: unknown column "table", want ` + benchHeader},
		{
			"older columns", strings.TrimSuffix(benchHeader, ",seed") + "\n",
			`line 1: no column "seed", want ` + benchHeader,
		},
		{"empty", "", "empty, want the header " + benchHeader},
		{
			"time", benchHeader + "\nyesterday" + strings.Repeat(",", strings.Count(benchHeader, ",")) + "\n",
			"line 2: column time: ",
		},
	} {
		path := filepath.Join(t.TempDir(), BenchFile)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := AppendBench(path, testBench())
		if want := "results: " + path + ": " + test.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", test.name, err, want)
		}
		if got, _ := os.ReadFile(path); string(got) != test.text {
			t.Errorf("%s: the file was changed to %q", test.name, got)
		}
	}
}

func TestBenchText(t *testing.T) {
	var b bytes.Buffer
	if err := testBench().Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `rollcall       v0.1, 2025-03-01T12:00:00Z
workload       cifar10, cnn-cifar10, stationary, 37.25 of 100 clients active, 10 local steps of 128 images, seed 3
rounds         5 measured after 2 of warm-up
machine        Some CPU @ 2 GHz, 2 threads, cpu-avx512, fp32
speed          20.50 client-steps/s  2624 images/s  54.94 GFLOP/s
client-step    48.78 ms
round          18200 ms median  18040 ms p10  18720 ms p90
evaluation     1234 ms          10000 images
peak memory    812.5 MiB
test accuracy  23.45 %
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	r := testBench()
	r.EvalMS, r.PeakMemMiB, r.TestAcc = files.Optional{}, files.Optional{}, files.Optional{}
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "evaluation") || strings.Contains(got, "memory") ||
		strings.Contains(got, "accuracy") {
		t.Errorf("nothing evaluated: got\n%s\nwant no line about it", got)
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.000", 36.1: "36.10", 999.96: "1000.0", 12345.6: "12346", 0.0012345: "0.001234",
		-5.5: "-5.500", 1e-12: "0.000000000",
	} {
		if got := short(x); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}

// The format is the one of golang.org/design/14313-benchmark-format; benchstat itself was seen to read this output.
func TestGobench(t *testing.T) {
	r := testBench()
	r.Device = "Some CPU\n@ 2 GHz"
	r.Net = "my net/2"
	var b bytes.Buffer
	if err := r.Gobench(&b); err != nil {
		t.Fatal(err)
	}
	config := regexp.MustCompile(`^[a-z][^\sA-Z]*: `)
	values := map[string]float64{}
	lines := map[string]string{}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Benchmark"):
			fields := strings.Fields(line)
			if want := "BenchmarkRound/data=cifar10/net=my_net_2/availability=stationary/clients=100/steps=10/" +
				"batch=128/engine=cpu-avx512/precision=fp32-2"; fields[0] != want {
				t.Errorf("name: got %s, want %s", fields[0], want)
			}
			if fields[1] != "5" || len(fields)%2 != 0 {
				t.Errorf("line %q: want 5 iterations, then pairs of value and unit", line)
			}
			for i := 2; i+1 < len(fields); i += 2 {
				x, err := strconv.ParseFloat(fields[i], 64)
				if err != nil {
					t.Errorf("value of %s: %v", fields[i+1], err)
				}
				values[fields[i+1]] = x
			}
		case strings.HasPrefix(line, "Unit "):
			if !regexp.MustCompile(`^Unit \S+ better=higher$`).MatchString(line) {
				t.Errorf("line %q, want Unit name better=higher", line)
			}
		case config.MatchString(line):
			key, value, _ := strings.Cut(line, ": ")
			lines[key] = value
		default:
			t.Errorf("line %q is neither configuration, unit nor result", line)
		}
	}
	if lines["cpu"] != "Some CPU @ 2 GHz" || lines["pkg"] != "rollcall" || lines["goos"] == "" ||
		lines["goarch"] == "" {
		t.Errorf("configuration: got %v, want goos, goarch, pkg and cpu", lines)
	}
	want := map[string]float64{
		"ns/op": 1.82e10, "p10-ns/op": 1.804e10, "p90-ns/op": 1.87202e10, "ns/client-step": 48.78e6,
		"client-steps/s": 20.5, "images/s": 2624, "FLOP/s": 54.94e9, "ns/eval": 1234.5e6,
		"peak-B": 812.5 * 1024 * 1024, "test-acc": 0.2345,
	}
	for unit, x := range want {
		// products of a float and a power of ten: a rounding
		if got, found := values[unit]; !found || !filestest.Near(got, x) {
			t.Errorf("%s: got %v, %v, want %v", unit, got, found, x)
		}
	}
	if len(values) != len(want) {
		t.Errorf("units: got %v, want those of %v", values, want)
	}

	b.Reset()
	r.Engine, r.Device = "cuda-sm90", "H200"
	if err := r.Gobench(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "\ngpu: H200\n") || strings.Contains(got, "cpu:") {
		t.Errorf("on a GPU: got\n%s\nwant a line gpu: H200 and none with cpu:", got)
	}
}
