package e2e

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// bench in its formats, on the data set it falls back to without CIFAR-10.
func TestBenchFallsBack(t *testing.T) {
	longtest.Only(t, "minutes of bench in every format")
	out := t.TempDir()
	args := []string{
		"bench", "--data", "cifar10", "--clients", "2", "--rounds", "1", "--warmup", "0", "--out", out, "--format",
	}
	said := map[string]string{}
	for _, format := range []string{"text", "csv", "json", "gobench"} {
		o := pass(t, append(args, format)...)
		said[format] = o.stdout
		// A machine that does other work has lines about that besides.
		if got := strings.Count(o.stderr, "running on synthetic data instead\n"); got != 1 {
			t.Errorf("stderr %q, want one line about the other data", o.stderr)
		}
	}
	if !strings.Contains(said["text"], "client-steps/s") || !strings.Contains(said["gobench"], " ns/op\t") ||
		!strings.Contains(said["gobench"], "\nBenchmarkRound/data=synthetic/") {
		t.Errorf("text: %s\ngobench: %s", said["text"], said["gobench"])
	}
	rows, err := files.ReadCSVFile[results.BenchRow](filepath.Join(out, results.BenchFile), files.MostTable)
	if err != nil || len(rows) != 4 {
		t.Fatalf("bench.csv: %d rows, %v, want one of each command", len(rows), err)
	}
	var report results.BenchReport
	if err := json.Unmarshal([]byte(said["json"]), &report); err != nil || report.Settings.Data != "synthetic" ||
		len(report.Metrics) < 5 || len(report.Metrics[0].Samples) != 1 {
		t.Errorf("--format json: %v, %+v", err, report)
	}
	for _, r := range rows {
		if r.Data != "synthetic" || r.ClientStepsPerSec <= 0 || r.Rounds != 1 ||
			r.EvalImages != 10000 || !r.TestAcc.Valid {
			t.Errorf("row %+v", r)
		}
		const perImage = 20942592e-9 // GFLOP of cnn-cifar10, see TestOperations in nets; the CSV has rounded numbers
		if got := r.GFLOPs / r.ImagesPerSec; math.Abs(got-perImage) > 1e-6*perImage {
			t.Errorf("%g GFLOP per image, want %g within a millionth", got, perImage)
		}
	}
	if again, err := files.ReadCSV[results.BenchRow](strings.NewReader(said["csv"]), "stdout"); err != nil ||
		len(again) != 1 || again[0] != rows[1] {
		t.Errorf("--format csv: %+v, %v, want the row appended to bench.csv: %+v", again, err, rows[1])
	}
}

// bench trains from the weights of a file, and evaluates unless it is told not to.
func TestBenchInitFrom(t *testing.T) {
	out := t.TempDir()
	bench := func(more ...string) results.BenchRow {
		args := append(strings.Fields("bench --data leaf --clients 4 --rounds 1 --warmup 0 --device cpu --format csv"),
			"--out", t.TempDir())
		text := pass(t, append(args, more...)...).stdout
		rows := must.Get(files.ReadCSV[results.BenchRow](strings.NewReader(text), "stdout"))(t)
		return rows[0]
	}
	pass(t, append(strings.Fields("run --method fedavg-active --data leaf --clients 4 --rounds 2 --device cpu "+
		"--save-model --out"), out)...)
	saved := only(t, out, "run/*/seed-3/"+results.ModelFile)
	drawn, given := bench(), bench("--init-from", saved)
	if !drawn.TestAcc.Valid || !given.TestAcc.Valid || drawn.TestAcc == given.TestAcc {
		t.Errorf("test accuracy %v from drawn weights, %v from %s, want two that differ", drawn.TestAcc, given.TestAcc,
			saved)
	}
	if row := bench("--no-eval"); row.TestAcc.Valid || row.EvalMS.Valid || row.EvalImages != 0 {
		t.Errorf("--no-eval: test_acc %v, eval_ms %v of %d images, want none", row.TestAcc, row.EvalMS,
			row.EvalImages)
	}
	oneLineError(t, rollcall(t, "bench", "--data", "synthetic", "--init-from", saved, "--out", out), statusFailure,
		"--init-from "+saved)
}
