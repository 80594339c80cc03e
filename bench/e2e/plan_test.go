package e2e

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
	"rollcall/results"
)

// inAllSec returns how long a plan says that all takes.
func inAllSec(t *testing.T, stdout string) (sec int) {
	t.Helper()
	found := regexp.MustCompile(`in all (?:(\d+) h ?)?(?:(\d+) min ?)?(?:(\d+) s)?`).FindStringSubmatch(stdout)
	if found == nil {
		t.Fatalf("stdout %q, want how long all takes", stdout)
	}
	for i, unit := range []int{3600, 60, 1} {
		n, _ := strconv.Atoi(found[i+1])
		sec += n * unit
	}
	return sec
}

// The newest measurement of this machine with the same net and batch is believed, and no other.
func TestPlanTakesMeasurements(t *testing.T) {
	out := t.TempDir()
	args := strings.Fields("sweep --methods fedavg-active --data synthetic --nets lenet5 --train-size 400 " +
		"--test-size 100 --clients 6 --rounds 3 --local-steps 2 --batch 8 --eval-every 1 --threads 1 " +
		"--device cpu --plan --out " + out)
	pass(t, "bench", "--data", "synthetic", "--net", "lenet5", "--clients", "1", "--rounds", "1", "--warmup", "0",
		"--device", "cpu", "--threads", "1", "--out", out)
	rows := must.Get(files.ReadCSVFile[results.BenchRow](filepath.Join(out, results.BenchFile), files.MostTable))(t)
	row := rows[0]
	row.Batch = 8
	plan := func(change func(r *results.BenchRow)) string {
		t.Helper()
		planted := row
		planted.ImagesPerSec, planted.EvalMS, planted.EvalImages = 1, files.Some(1000), 1
		change(&planted)
		must.OK(t, files.WriteCSVFile(filepath.Join(out, results.BenchFile), []results.BenchRow{planted}))
		return pass(t, args...).stdout
	}
	planted := plan(func(*results.BenchRow) {})
	if want := "(bench.csv, " + row.Time.Format(time.DateOnly); !strings.Contains(planted, want) {
		t.Fatalf("stdout %q, want %q in it", planted, want)
	}
	if !strings.Contains(planted, " on "+row.Engine+", fp32, 1 thread (") {
		t.Errorf("stdout %q, want engine, precision and threads", planted)
	}
	once := inAllSec(t, planted)
	ten := inAllSec(t, plan(func(r *results.BenchRow) { r.ImagesPerSec, r.EvalMS = 0.1, files.Some(10_000) }))
	if ratio := float64(ten) / float64(once); ratio < 9.5 || ratio > 10.5 {
		t.Errorf("a machine ten times as slow: %d s, want 10 times %d s", ten, once)
	}
	for name, change := range map[string]func(r *results.BenchRow){
		"another net":       func(r *results.BenchRow) { r.Net = "cnn-cifar10" },
		"another batch":     func(r *results.BenchRow) { r.Batch++ },
		"other threads":     func(r *results.BenchRow) { r.Threads++ },
		"another engine":    func(r *results.BenchRow) { r.Engine = "cpu-other" },
		"another precision": func(r *results.BenchRow) { r.Precision = "bf16" },
		"another device":    func(r *results.BenchRow) { r.Device = "another" },
	} {
		if got := plan(change); !strings.Contains(got, "(measured now: ") {
			t.Errorf("%s: stdout %q, want it measured", name, got)
		}
	}
	// A plan in another precision takes the rows of that precision alone.
	args = append(args, "--precision", "bf16")
	best := must.Get(kernels.Select(kernels.BF16))(t)
	for _, precision := range []string{"fp32", "bf16x3", "bf16"} {
		got := plan(func(r *results.BenchRow) { r.Engine, r.Precision = "cpu-"+best.Name(), precision })
		if taken := strings.Contains(got, "(bench.csv, "); taken != (precision == "bf16") ||
			!strings.Contains(got, " on cpu-"+best.Name()+", bf16, 1 thread (") {
			t.Errorf("a row of %s for a plan in bf16: taken %t, stdout %q", precision, taken, got)
		}
	}
}

// A table whose data cannot be had is planned on generated images, also one whose method looks at the test samples of
// each client, which generated images have none of.
func TestPlanWithoutData(t *testing.T) {
	longtest.Only(t, "tables whose data cannot be had")
	o := pass(t, "table", "cafed-1", "--plan", "--seeds", "3", "--rounds", "3", "--device", "cpu", "--out", t.TempDir())
	if !strings.Contains(o.stdout, "mnist") || !strings.Contains(o.stdout, "planned and measured on generated images") {
		t.Errorf("%s\nwant a plan of MNIST's runs on generated images", o.stdout)
	}
}

// A plan counts runs that go on from a checkpoint, unless all are to be made anew.
func TestPlanGoesOn(t *testing.T) {
	out := t.TempDir()
	args := smallSweep(out, "--methods", "fedavg-active", "--seeds", "3", "--rounds", "500")
	interrupt(t, "round 2/", args...)
	only(t, out, "*/*/seed-3/checkpoint-*.safetensors")
	for flag, want := range map[string]string{
		"--mixed": "1 run: 0 kept, 1 to resume, 0 to train\n",
		"--again": "1 run: 0 kept, 0 to resume, 1 to train\n",
	} {
		if o := pass(t, append(args, "--plan", flag)...); !strings.Contains(o.stdout, want) {
			t.Errorf("%s: stdout %q, want %q in it", flag, o.stdout, want)
		}
	}
}
