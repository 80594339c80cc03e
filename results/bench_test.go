package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// testBench is a measurement of five rounds of 370, 370, 380, 360 and 375 client-steps of 128 images, at 2.5 GFLOP: 20
// client-steps a second, but 370/18 in the second round. Sorted, the rounds took 18000, 18000, 18500, 18750 and
// 19000 ms; the p10 of five lies at 0.4, and the p90 at 3.6: of the speeds it is 0.4·20 + 0.6·370/18.
func testBench() BenchRow {
	r, _ := testRounds()
	return r
}

// testRounds is testBench with its rounds.
func testRounds() (r BenchRow, rounds []BenchRound) {
	r = BenchRow{
		Time: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Version: "v0.1", Data: "cifar10", Net: "cnn-cifar10",
		Availability: "stationary", Clients: 100, Active: 37.25, LocalSteps: 10, Batch: 128, Warmup: 2,
		Threads: 2, Engine: "cpu-avx512", Precision: "fp32", Device: "Some CPU @ 2 GHz", EvalImages: 10000,
		EvalMS: files.Some(1234.5), PeakMemMiB: files.Some(812.5), TestAcc: files.Some(0.2345), Seed: 3,
		Steal: files.Some(0.015625), Others: files.Some(0.125), LoadAverage: files.Some(1.25), CardUsers: files.Some(0),
	}
	for i, steps := range []int{370, 370, 380, 360, 375} {
		wall := []time.Duration{18500, 18000, 19000, 18000, 18750}[i] * time.Millisecond // 20, 20.6, 20, 20, 20 steps/s
		rounds = append(rounds, BenchRound{
			Wall: wall, Processor: 2 * time.Duration(steps) * 50 * time.Millisecond, Steps: steps, Images: 128 * steps,
			FLOP: 2.5e9 * float64(steps), Reference: float64(100+i) * 1e9, ReferenceFLOP: 50e6,
		})
	}
	r.SetRounds(rounds)
	return r, rounds
}

// A card has no reference, some systems no processor time, and a round without active clients no client-step.
func TestSetRoundsUnknown(t *testing.T) {
	var r BenchRow
	r.SetRounds([]BenchRound{
		{Wall: time.Second, Steps: 10, Images: 20, FLOP: 3e9}, {Wall: time.Millisecond, Reference: 2e9},
	})
	want := BenchRow{
		Rounds: 2, ClientStepsPerSec: 10, ImagesPerSec: 20, GFLOPs: 3, ClientStepMS: 100,
		RoundMSMedian: r.RoundMSMedian, RoundMSP10: r.RoundMSP10, RoundMSP90: r.RoundMSP90,
		StepsPerSecP10: files.Some(10), StepsPerSecP90: files.Some(10), ReferenceGFLOPs: files.Some(2),
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	r = BenchRow{}
	r.SetRounds(nil)
	if !reflect.DeepEqual(r, BenchRow{}) {
		t.Errorf("no round: got %+v, want nothing", r)
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
		must.OK(t, AppendBench(path, r))
	}
	text := must.Get(os.ReadFile(path))(t)
	const conditions = ",20,20.333333333333336,100,102,0.24509803921568626,0.015625,0.125,1.25,0"
	want := benchHeader + "\n" +
		"2025-03-01T12:00:00Z,v0.1,cifar10,cnn-cifar10,stationary,100,37.25,10,128,5,2,2,cpu-avx512,fp32,Some CPU @ " +
		"2 GHz,20,2560,50,18500,18000,18900,50,10000,1234.5,812.5,0.2345,3" + conditions + "\n" +
		"2025-03-01T13:00:00Z,v0.1,cifar10,cnn-cifar10,stationary,100,37.25,10,128,5,2,2,cpu-avx512,fp32,Some CPU @ " +
		"2 GHz,20,2560,50,18500,18000,18900,50,10000,,,,3" + conditions + "\n"
	if string(text) != want {
		t.Errorf("file:\ngot\n%s\nwant\n%s", text, want)
	}
	if names := filestest.FileNames(t, filepath.Dir(path)); names != BenchFile {
		t.Errorf("left %s, want %s alone", names, BenchFile)
	}
	back, err := files.ReadCSVFile[BenchRow](path, files.MostTable)
	if err != nil || !reflect.DeepEqual(back, []BenchRow{first, second}) {
		t.Errorf("read back: got %+v, %v, want %+v", back, err, []BenchRow{first, second})
	}
}

// No row is lost of those that are appended at the same moment.
func TestAppendBenchAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", BenchFile)
	const n = 20
	errs := make(chan error, n)
	for i := range n {
		go func() {
			row := testBench()
			row.Seed = uint32(i)
			errs <- AppendBench(path, row)
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	rows := must.Get(files.ReadCSVFile[BenchRow](path, files.MostTable))(t)
	seeds := map[uint32]bool{}
	for _, r := range rows {
		seeds[r.Seed] = true
	}
	if len(rows) != n || len(seeds) != n {
		t.Errorf("%d rows of %d seeds, want %d", len(rows), len(seeds), n)
	}
}

// A lock whose folder is left by a killed process is taken, and one that cannot be taken is an error with the path.
func TestAppendBenchLock(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(lock string) error
		want string
	}{
		"folder": {func(lock string) error { return os.Mkdir(lock, 0o777) }, ""},
		"file":   {func(lock string) error { return os.WriteFile(lock, nil, 0o666) }, "not a directory"},
		"inner link": {func(lock string) error {
			return errors.Join(os.Mkdir(lock, 0o777), os.Symlink("/dev/null", filepath.Join(lock, ".lock")))
		}, "a link, want a file"},
		"dead holder": {func(lock string) error {
			return errors.Join(os.Mkdir(lock, 0o777), os.WriteFile(filepath.Join(lock, ".lock"), []byte("{}\n"), 0o666))
		}, ""},
	} {
		path := filepath.Join(t.TempDir(), BenchFile)
		must.OK(t, c.put(filepath.Join(filepath.Dir(path), ".bench.csv.lock")))
		err := AppendBench(path, testBench())
		said := fmt.Sprint(err)
		ok := strings.HasPrefix(said, "results: "+path+": ") && strings.Contains(said, c.want)
		if ok != (c.want != "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A file of before the conditions keeps its rows, with cells that are empty, and gets the new columns.
func TestAppendBenchOlder(t *testing.T) {
	path := filepath.Join(t.TempDir(), BenchFile)
	const old = "2025-03-01T12:00:00Z,v0.1,cifar10,cnn-cifar10,stationary,100,37.25,10,128,5,2,2,cpu-avx512,fp32," +
		"Some CPU,20,2560,50,18500,18000,18900,50,10000,,,,3"
	text := strings.TrimSuffix(benchHeader, benchConditions) + "\n" + old + "\n"
	must.OK(t, os.WriteFile(path, []byte(text), 0o600))
	must.OK(t, AppendBench(path, testBench()))
	got, err := os.ReadFile(path)
	empty := strings.Repeat(",", strings.Count(benchConditions, ","))
	if want := benchHeader + "\n" + old + empty + "\n"; err != nil || !strings.HasPrefix(string(got), want) ||
		strings.Count(string(got), "\n") != 3 {
		t.Errorf("got\n%s%v\nwant\n%sand the new row", got, err, want)
	}
}

func TestAppendBenchRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"another CSV", curveHeader + "\n", `line 1: unknown column "table", want ` + benchHeader},
		{
			"older columns", strings.Replace(benchHeader, ",seed", "", 1) + "\n",
			`line 1: no column "seed", want ` + benchHeader,
		},
		{"empty", "", "empty, want the header " + benchHeader},
		{
			"time", benchHeader + "\nyesterday" + strings.Repeat(",", strings.Count(benchHeader, ",")) + "\n",
			"line 2: column time: ",
		},
	} {
		path := filepath.Join(t.TempDir(), BenchFile)
		must.OK(t, os.WriteFile(path, []byte(test.text), 0o600))
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
	must.OK(t, testBench().Text(&b))
	want := `rollcall        v0.1, 2025-03-01T12:00:00Z
workload        cifar10, cnn-cifar10, stationary, 37.25 of 100 clients active, 10 local steps of 128 images, seed 3
rounds          5 measured after 2 of warm-up
machine         Some CPU @ 2 GHz, 2 threads, cpu-avx512, fp32
speed           20.00 client-steps/s  2560 images/s  50.00 GFLOP/s
client-steps/s  20.00 median          20.00 p10      20.33 p90
client-step     50.00 ms              100.0 ms of processor time
round           18500 ms median       18000 ms p10  18900 ms p90
evaluation      1234 ms               10000 images
peak memory     812.5 MiB
test accuracy   23.45 %
reference       102.0 GFLOP/s a thread in the reference loop, training reaches 24.5 % of it
other programs  load average 1.25 before, 12.5 % of the processors meanwhile, 1.6 % stolen, 0 others on the card
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	r := testBench()
	r.EvalMS, r.PeakMemMiB, r.TestAcc = files.Optional{}, files.Optional{}, files.Optional{}
	must.OK(t, r.Text(&b))
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
