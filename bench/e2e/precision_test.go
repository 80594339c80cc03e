package e2e

import (
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
			rows := curveRows(t, out)
			for _, r := range rows {
				if r["engine"] != info.Engine || r["precision"] != want {
					t.Errorf("curve.csv: %s %s, want %s %s", r["engine"], r["precision"], info.Engine, want)
				}
			}
			pass(t, "bench", "--data", "leaf", "--clients", "2", "--rounds", "1", "--warmup", "0", "--device", "cpu",
				"--precision", want, "--out", out)
			speeds, err := files.ReadCSVFile[results.BenchRow](filepath.Join(out, results.BenchFile), files.MostTable)
			if err != nil || len(speeds) != 1 || speeds[0].Precision != want || speeds[0].Engine != info.Engine {
				t.Errorf("bench.csv: %+v, %v, want a row of %s", speeds, err, want)
			}
		})
	}
}

// Seeds of two precisions, or of plain Go kernels and of AVX, are in no mean together, unless that is asked for, which
// is said wherever it stands.
func TestNumericsApart(t *testing.T) {
	type engine struct{ kernels, precision string }
	devices := pass(t, "devices").stdout
	numerics := func(e engine) string {
		if e.kernels == "generic" || strings.Contains(devices, "kernels generic ") {
			return "cpu-generic-" + e.precision
		}
		return "cpu-" + e.precision
	}
	for _, c := range []struct{ was, is engine }{
		{engine{"", "fp32"}, engine{"", "bf16"}},
		{engine{"", "bf16"}, engine{"", "fp32"}},
		{engine{"", "bf16"}, engine{"", "bf16x3"}},
		{engine{"generic", "fp32"}, engine{"", "fp32"}},
	} {
		was, is := numerics(c.was), numerics(c.is)
		t.Run(was+" and "+is, func(t *testing.T) {
			if was == is {
				t.Skip("one class of numbers alone on this processor")
			}
			line := func(out string, of engine, seeds string, more ...string) []string {
				t.Setenv("ROLLCALL_CPU", of.kernels)
				return smallSweep(out, append([]string{
					"--methods", "fedawe", "--precision", of.precision, "--seeds", seeds,
				}, more...)...)
			}
			out, other, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "into")
			pass(t, line(out, c.was, "3")...)
			o := rollcall(t, line(out, c.is, "3,4")...)
			if o.status != statusFailure || !strings.Contains(o.stderr, "numerics "+was+", want "+is) ||
				!strings.Contains(o.stderr, "--mixed accepts") {
				t.Errorf("sweep: status %d, %q, want 1, both numerics and --mixed", o.status, o.stderr)
			}
			o = pass(t, line(out, c.is, "3,4", "--mixed")...)
			precision := c.was.precision
			if precision != c.is.precision {
				precision = min(precision, c.is.precision) + results.And + max(precision, c.is.precision)
			}
			if row := summaryRow(t, out, "fedawe", "test_acc"); row["status"] != "mixed" ||
				row["numerics"] != "mixed" || row["precision"] != precision || row["n"] != "2" {
				t.Errorf("--mixed: %v, want a row that is mixed", row)
			}
			both := min(was, is) + results.And + max(was, is)
			if !strings.Contains(o.stdout, "[mixed: "+both) {
				t.Errorf("--mixed: %q, want what is mixed, %s", o.stdout, both)
			}
			if list := pass(t, "results", "list", out).stdout; strings.Count(list, "fedawe") < 2 {
				t.Errorf("list: %q, want the seeds apart", list)
			}

			pass(t, line(other, c.is, "4")...)
			alone := t.TempDir()
			pass(t, line(alone, c.was, "3")...)
			m := pass(t, "results", "merge", alone, other, "--out", into)
			if row := summaryRow(t, into, "fedawe", "test_acc"); row["n"] != "1" || row["status"] != "ok" ||
				!strings.Contains(m.stderr, "not alike") {
				t.Errorf("merge: %v, %q, want the seeds apart and a note", row, m.stderr)
			}

			same := t.TempDir()
			pass(t, line(same, c.is, "3")...)
			d := pass(t, "results", "diff", alone, same).stdout
			if !strings.Contains(d, "numerics "+was+" and "+is) || c.was.precision != c.is.precision &&
				!strings.Contains(d, "precision "+c.was.precision+" and "+c.is.precision) {
				t.Errorf("diff: %q, want the precisions and the numerics that differ", d)
			}
			o = rollcall(t, "results", "diff", out, alone)
			oneLineError(t, o, statusFailure, "but differ: numerics", "--mixed")

			pass(t, line(out, c.is, "3,4", "--again")...)
			if row := summaryRow(t, out, "fedawe", "test_acc"); row["n"] != "2" || row["status"] != "ok" ||
				row["numerics"] != is || row["precision"] != c.is.precision {
				t.Errorf("--again: %v, want two seeds of %s", row, is)
			}
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
		"--precision tf32: the CPU engine, which runs here (", "), has fp32, bf16 and bf16x3")
	pass(t, small(t.TempDir(), "--device", "auto", "--precision", "bf16x3")...)
}
