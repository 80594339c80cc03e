package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
	"rollcall/results"
)

// A run says in which precision it multiplies, on the terminal and in every file.
func TestPrecisionOfRun(t *testing.T) {
	for flag, want := range map[string]string{"": "fp32", "fp32": "fp32", "bf16": "bf16", "bf16x3": "bf16x3"} {
		t.Run("--precision="+flag, func(t *testing.T) {
			best := must.Get(kernels.Select(kernels.Precision(want)))(t)
			out, more := t.TempDir(), []string{"--threads", "2"}
			if flag != "" {
				more = append(more, "--precision", flag)
			}
			o := pass(t, small(out, more...)...)
			line := "device: cpu-" + best.Name() + ", " + kernels.Model() + ", " + want + ", 2 threads"
			if !strings.Contains(o.stderr, line) {
				t.Errorf("stderr %q, want %q in it", o.stderr, line)
			}
			info := must.Get(results.ReadRunInfo(only(t, out, "run/*/seed-*/run.json")))(t)
			if info.Engine != "cpu-"+best.Name() || info.Precision != want ||
				!regexp.MustCompile(`^cpu-(generic-)?`+want+`\b`).MatchString(info.Numerics) {
				t.Errorf("run.json: %s, %s, %s, want %s", info.Engine, info.Precision, info.Numerics, want)
			}
			_, rows := table(t, contents(t, only(t, out, curvePath)))
			for _, r := range rows {
				if r["engine"] != info.Engine || r["precision"] != want {
					t.Errorf("curve.csv: %s %s, want %s %s", r["engine"], r["precision"], info.Engine, want)
				}
			}
			pass(t, "bench", "--data", "leaf", "--clients", "2", "--rounds", "1", "--warmup", "0", "--device", "cpu",
				"--precision", want, "--out", out)
			speeds, err := files.ReadCSVFile[results.BenchRow](filepath.Join(out, results.BenchFile))
			if err != nil || len(speeds) != 1 || speeds[0].Precision != want || speeds[0].Engine != info.Engine {
				t.Errorf("bench.csv: %+v, %v, want a row of %s", speeds, err, want)
			}
		})
	}
}

// Seeds of two precisions are in no mean together, unless that is asked for, which is said wherever it stands.
func TestPrecisionsApart(t *testing.T) {
	class := func(precision string) string {
		best := pass(t, "devices").stdout
		if strings.Contains(best, "kernels generic ") {
			return "cpu-generic-" + precision
		}
		return "cpu-" + precision
	}
	for _, c := range []struct{ was, is string }{{"fp32", "bf16"}, {"bf16", "fp32"}, {"bf16", "bf16x3"}} {
		t.Run(c.was+" and "+c.is, func(t *testing.T) {
			out, other := t.TempDir(), t.TempDir()
			seeds := func(precision, list string, more ...string) []string {
				return append([]string{"--methods", "fedawe", "--precision", precision, "--seeds", list}, more...)
			}
			pass(t, attackSweep(out, seeds(c.was, "3")...)...)
			o := rollcall(t, attackSweep(out, seeds(c.is, "3,4")...)...)
			if o.status != statusFailure ||
				!strings.Contains(o.stderr, "numerics "+class(c.was)+", want "+class(c.is)) ||
				!strings.Contains(o.stderr, "--mixed takes") {
				t.Errorf("sweep: status %d, %q, want 1, both numerics and --mixed", o.status, o.stderr)
			}
			o = pass(t, attackSweep(out, seeds(c.is, "3,4", "--mixed")...)...)
			both := min(c.was, c.is) + results.And + max(c.was, c.is)
			if row := attackRow(t, out, "fedawe", "test_acc"); row["status"] != "mixed" || row["numerics"] != "mixed" ||
				row["precision"] != both || row["n"] != "2" {
				t.Errorf("--mixed: %v, want a row that is mixed", row)
			}
			if !strings.Contains(o.stdout, "[mixed: ") {
				t.Errorf("--mixed: %q, want what is mixed", o.stdout)
			}

			pass(t, attackSweep(other, seeds(c.is, "4")...)...)
			into := filepath.Join(t.TempDir(), "into")
			alone := t.TempDir()
			pass(t, attackSweep(alone, seeds(c.was, "3")...)...)
			m := pass(t, "results", "merge", alone, other, "--out", into)
			if row := attackRow(t, into, "fedawe", "test_acc"); row["n"] != "1" || row["status"] != "ok" ||
				!strings.Contains(m.stderr, "not alike") {
				t.Errorf("merge: %v, %q, want the seeds apart and a note", row, m.stderr)
			}

			same := t.TempDir()
			pass(t, attackSweep(same, seeds(c.is, "3")...)...)
			d := pass(t, "results", "diff", alone, same).stdout
			if !strings.Contains(d, "precision "+c.was+" and "+c.is) ||
				!strings.Contains(d, "numerics "+class(c.was)+" and "+class(c.is)) {
				t.Errorf("diff: %q, want the precisions and the numerics that differ", d)
			}
			oneLineError(t, rollcall(t, "results", "diff", out, alone), statusFailure, "but differ: numerics")

			pass(t, attackSweep(out, seeds(c.is, "3,4", "--again")...)...)
			if row := attackRow(t, out, "fedawe", "test_acc"); row["n"] != "2" || row["status"] != "ok" ||
				row["numerics"] != class(c.is) || row["precision"] != c.is {
				t.Errorf("--again: %v, want two seeds of %s", row, c.is)
			}
		})
	}
}

// A run that was interrupted in one precision does not go on in another, whether run.json says so, the curve or the
// checkpoint, and is found again where it was replaced.
func TestPrecisionOfCheckpoints(t *testing.T) {
	for _, remove := range []string{"", results.RunFile, "*.[cj]s*"} {
		t.Run("without "+remove, func(t *testing.T) {
			whole, out := t.TempDir(), t.TempDir()
			pass(t, againRun(whole, "--precision", "bf16")...)
			o := interrupted(t, "round 3/6", againRun(out, "--precision", "fp32")...)
			if o.status != statusInterrupted {
				t.Fatalf("status %d, want 130\n%s", o.status, o.stderr)
			}
			dir := filepath.Dir(only(t, out, curvePath))
			for _, path := range must.Get(filepath.Glob(filepath.Join(dir, cmp.Or(remove, "none"))))(t) {
				must.OK(t, os.RemoveAll(path))
			}
			o = rollcall(t, againRun(out, "--precision", "bf16")...)
			if o.status != statusFailure ||
				!regexp.MustCompile(`numerics cpu-\S*fp32, want cpu-\S*bf16; 3 rounds, `).MatchString(o.stderr) {
				t.Errorf("status %d, %q, want it refused, since the numbers are of fp32", o.status, o.stderr)
			}
			pass(t, againRun(out, "--precision", "bf16", "--replace")...)
			o = pass(t, againRun(out, "--precision", "fp32")...)
			if !strings.Contains(o.stderr, ": taken back from .old") ||
				!strings.Contains(o.stderr, "goes on from round 3") {
				t.Errorf("fp32 again: %q, want it resumed", o.stderr)
			}
			o = pass(t, againRun(out, "--precision", "bf16")...)
			if !strings.Contains(o.stdout, ": kept, ") {
				t.Errorf("bf16 again: %q, want it kept", o.stdout)
			}
			for _, aside := range must.Get(filepath.Glob(filepath.Join(dir, ".old*")))(t) {
				must.OK(t, os.RemoveAll(aside))
			}
			sameTree(t, "bf16", timelessTree(t, out), timelessTree(t, whole))
		})
	}
}

// The kernels that ROLLCALL_CPU names serve the precision that is asked for, or the command ends before it reads data.
func TestForcedKernels(t *testing.T) {
	longtest.Only(t, "a run with each set of kernels in each precision")
	list := pass(t, "devices").stdout
	for _, name := range []string{"generic", "avx2", "avx512"} {
		if !strings.Contains(list, name) {
			continue
		}
		t.Setenv("ROLLCALL_CPU", name)
		for _, precision := range []string{"fp32", "bf16", "bf16x3"} {
			o := pass(t, small(t.TempDir(), "--precision", precision)...)
			if !strings.Contains(o.stderr, "device: cpu-"+name+", ") {
				t.Errorf("ROLLCALL_CPU=%s --precision %s: %q, want these kernels", name, precision, o.stderr)
			}
		}
	}
	t.Setenv("ROLLCALL_CPU", "amx")
	for _, more := range [][]string{nil, {"--precision", "fp32"}} {
		// CIFAR-10 is not there: looking for it would be another error.
		line := append([]string{"run", "--data", "cifar10", "--device", "cpu", "--out", t.TempDir()}, more...)
		oneLineError(t, rollcall(t, line...), statusFailure,
			"ROLLCALL_CPU=amx: multiplies with --precision bf16 or bf16x3 alone")
	}
}

// auto names the reason for which the CPU runs beside what its engine has.
func TestPrecisionOfAuto(t *testing.T) {
	if list := pass(t, "devices").stdout; strings.Contains(list, ": usable\n") {
		t.Skip("a card would run")
	}
	oneLineError(t, rollcall(t, small(t.TempDir(), "--device", "auto", "--precision", "tf32")...), statusUsage,
		"--precision tf32: the CPU engine, which runs here (auto: ", "), has fp32, bf16 and bf16x3")
	pass(t, small(t.TempDir(), "--device", "auto", "--precision", "bf16x3")...)
}
