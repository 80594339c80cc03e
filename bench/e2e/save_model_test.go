package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// A saved model is held to its checksum, goes along with a merge, and another run starts from it.
func TestSaveModel(t *testing.T) {
	out, all := t.TempDir(), t.TempDir()
	lenet := func(more ...string) []string { return small(out, append([]string{"--net", "lenet5"}, more...)...) }
	pass(t, lenet("--save-model")...)
	if o := pass(t, lenet("--save-model")...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("second time: %q, want the run kept", o.stdout)
	}
	if o := pass(t, lenet("--save-model=all")...); strings.Contains(o.stdout, "kept") {
		t.Errorf("with the clients' models: %q, want the run made again", o.stdout)
	}
	only(t, out, "run/*/seed-3/model-client-0.safetensors")
	pass(t, "results", "verify", out)
	pass(t, "results", "merge", out, "--out", filepath.Join(all, "all"))
	pass(t, "results", "verify", all)
	saved := only(t, all, "all/run/*/seed-3/"+results.ModelFile)

	last := func(path string) map[string]string {
		_, rows := table(t, contents(t, path))
		return rows[len(rows)-1]
	}(only(t, out, curvePath))
	second := t.TempDir()
	pass(t, small(second, "--net", "lenet5", "--init-from", saved)...)
	rows := curveRows(t, second)
	if got, want := rows[0]["test_loss"], last["test_loss"]; got != want {
		t.Errorf("round 0 of the run from %s: test loss %s, want %s", saved, got, want)
	}

	damaged := only(t, out, "run/*/seed-3/"+results.ModelFile)
	must.OK(t, os.Truncate(damaged, 1000))
	o := rollcall(t, "results", "verify", out)
	if o.status != statusFailure || !strings.Contains(o.stderr+o.stdout, damaged+": checksum") {
		t.Errorf("cut off: status %d, %q, want %d and %s named", o.status, o.stderr, statusFailure, damaged)
	}
	oneLineError(t, rollcall(t, small(second, "--net", "lenet5", "--init-from", damaged)...), statusFailure,
		damaged, "want")
	oneLineError(t, rollcall(t, lenet("--save-model=all", "--method", "mifa")...),
		statusUsage, "--save-model=all: of no use with --method mifa")
	oneLineError(t, rollcall(t, lenet("--save-model=both")...), statusUsage,
		`--save-model "both": unknown, want one of one, all`)
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
	if row := bench("--evaluate=false"); row.TestAcc.Valid || row.EvalMS.Valid || row.EvalImages != 0 {
		t.Errorf("--evaluate=false: test_acc %v, eval_ms %v of %d images, want none", row.TestAcc, row.EvalMS,
			row.EvalImages)
	}
	oneLineError(t, rollcall(t, "bench", "--data", "synthetic", "--init-from", saved, "--out", out), statusFailure,
		"--init-from "+saved)
}
