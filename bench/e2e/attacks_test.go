//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The attacks on what the program promises, and the tests that hold their outcome:
//
//	a copied seed, and 100 other corruptions of a run's files           TestAttackCorruptions, TestAttackCopiedSeeds
//	a mean over seeds of other numerics, data or revisions              TestAttackUnlikeSeeds
//	paths in what is read; other files in a folder that is merged       TestAttackMerge
//	a link as output folder                                             TestAttackLinkedFolder
//	a narrower command; two at once                                     TestAttackNarrowerSweep, TestAttackAtOnce
//	an intermediate curve that cannot be written; temporary files       bench/run: TestCurveFile and others there
//	memory that is not there; a crash                                   TestMemoryIsNoUsageError
//	a terminal that goes away, Ctrl-C, a polite kill                    TestSignals, TestRunInterruptedAndResumed
//	a pipe, a device, a folder in place of a file                       TestAttackCorruptions
//	a download without end, a hostile server or archive                 datasets: TestDownloadFails,
//	                                                                    TestCINIC10Hostile, …
//	kill -9 at random in run, sweep, table, figure, report, merge       TestKilledRunsGoOn
//	the output folder gone, a file, read-only; a closed or full stdout  TestAttackVanished, TestReadOnlyOut,
//	                                                                    TestScript/full_disk
//	threads, packing, order of lists                                    TestRunDoesNotDependOnThreads, TestAtOnce,
//	                                                                    TestAttackOrder
//	huge and odd numbers on flags                                       TestAttackNumbers
//	formulas, HTML and paths as names of methods and data               TestAttackNames
//	the history of measurements                                         results/track: FuzzRead, TestTwoWriters,
//	                                                                    TestReadBad

// attackSweep are the arguments of a sweep of a tenth of a second.
func attackSweep(out string, more ...string) []string {
	args := []string{
		"sweep", "--data", "binary", "--clients", "4", "--rounds", "4", "--eval-every", "1", "--device", "cpu",
		"--threads", "1", "--out", out,
	}
	return append(args, more...)
}

// attackRow returns a row of a table's summary.
func attackRow(t *testing.T, out, method, metric string) map[string]string {
	t.Helper()
	_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
	for _, r := range rows {
		if r["method"] == method && r["metric"] == metric {
			return r
		}
	}
	t.Fatalf("no %s of %s in %v", metric, method, rows)
	return nil
}

// Copies of seed 3 as seeds 4 and 5 are no seeds: the sweep refuses them, and makes them where it may replace them.
func TestAttackCopiedSeeds(t *testing.T) {
	want, out := t.TempDir(), t.TempDir()
	three := []string{"--methods", "fedawe", "--seeds", "3,4,5"}
	pass(t, attackSweep(want, three...)...)
	pass(t, attackSweep(out, "--methods", "fedawe", "--seeds", "3")...)
	seed := only(t, out, "sweep/*/seed-3")
	for _, name := range []string{"seed-4", "seed-5"} {
		copyTree(t, seed, filepath.Join(filepath.Dir(seed), name))
	}
	o := rollcall(t, attackSweep(out, three...)...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "seed 3, want 4 as the folder says; 4 rounds") {
		t.Errorf("status %d, %q, want 1 and the copy named", o.status, o.stderr)
	}
	pass(t, attackSweep(out, append(three, "--replace")...)...)
	for _, seed := range []string{"seed-4", "seed-5"} {
		must.OK(t, os.RemoveAll(filepath.Join(filepath.Dir(only(t, out, "sweep/*/seed-3")), seed, ".old")))
	}
	sameTree(t, "copied seeds", timelessTree(t, out), timelessTree(t, want))
}

// Seeds of plain Go kernels and of AVX are in no mean together, unless that is asked for, which is said wherever it
// stands.
func TestAttackUnlikeSeeds(t *testing.T) {
	if kernels := pass(t, "devices").stdout; !strings.Contains(kernels, "avx2") {
		t.Skip("one class of numbers alone on this processor")
	}
	out, other := t.TempDir(), t.TempDir()
	seeds := func(list string, more ...string) []string {
		return append([]string{"--methods", "fedawe", "--seeds", list}, more...)
	}
	t.Setenv("ROLLCALL_CPU", "generic")
	pass(t, attackSweep(out, seeds("3")...)...)
	pass(t, attackSweep(other, seeds("3")...)...)
	t.Setenv("ROLLCALL_CPU", "")

	o := rollcall(t, attackSweep(out, seeds("3,4")...)...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "cpu-generic-fp32") ||
		!strings.Contains(o.stderr, "--mixed takes") {
		t.Errorf("sweep: status %d, %q, want 1, both numerics and --mixed", o.status, o.stderr)
	}
	o = pass(t, attackSweep(out, seeds("3,4", "--mixed")...)...)
	if row := attackRow(t, out, "fedawe", "test_acc"); row["status"] != "mixed" || row["numerics"] != "mixed" ||
		row["n"] != "2" {
		t.Errorf("--mixed: %v, want a row that is mixed", row)
	}
	if !strings.Contains(o.stdout, "cpu-fp32 and cpu-generic-fp32") {
		t.Errorf("--mixed: %q, want what is mixed", o.stdout)
	}
	if list := pass(t, "results", "list", out).stdout; strings.Count(list, "fedawe") < 2 {
		t.Errorf("list: %q, want the seeds apart", list)
	}

	pass(t, attackSweep(other, seeds("4", "--again")...)...)
	into := filepath.Join(t.TempDir(), "into")
	m := pass(t, "results", "merge", out, "--out", into)
	if row := attackRow(t, into, "fedawe", "test_acc"); row["n"] != "1" || row["status"] != "ok" ||
		!strings.Contains(m.stderr, "not alike") {
		t.Errorf("merge: %v, %q, want the seeds apart and a note", row, m.stderr)
	}
	alone := t.TempDir()
	pass(t, attackSweep(alone, seeds("3")...)...)
	d := pass(t, "results", "diff", alone, filepath.Dir(only(t, other, "sweep/*/seed-3")), "--mixed")
	if !strings.Contains(d.stdout, "numerics cpu-fp32 and cpu-generic-fp32") {
		t.Errorf("diff: %q, want the numerics that differ", d.stdout)
	}
	oneLineError(t, rollcall(t, "results", "diff", out, alone), statusFailure, "but differ: numerics", "--mixed")

	pass(t, attackSweep(out, seeds("3,4", "--again")...)...)
	if row := attackRow(t, out, "fedawe", "test_acc"); row["n"] != "2" || row["status"] != "ok" ||
		row["numerics"] != "cpu-fp32" {
		t.Errorf("--again: %v, want two seeds that are alike", row)
	}
}

// merge takes known files of runs to places that it makes up itself, or nothing at all.
func TestAttackMerge(t *testing.T) {
	top := t.TempDir()
	source, into := filepath.Join(top, "a/b/source"), filepath.Join(top, "a/b/into")
	pass(t, attackSweep(source, "--methods", "fedawe,mifa")...)
	run := only(t, source, "sweep/fedawe_*/seed-3")
	summary := filepath.Join(source, "sweep", results.SummaryFile)
	spoilt := strings.ReplaceAll(contents(t, summary), "\nsweep,", "\n../../PWN,")
	for path, text := range map[string]string{
		summary:                                  spoilt,
		filepath.Join(run, "id_rsa"):             "secret",
		filepath.Join(run, ".rollcall-ABC.tmp"):  "half",
		filepath.Join(run, "other.csv"):          "a,b\n",
		filepath.Join(source, "sweep", "x.html"): "x",
	} {
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	before := filesBelow(t, top)
	o := pass(t, "results", "merge", source, "--out", into)
	var copied []string
	for _, path := range filesBelow(t, top) {
		if !slices.Contains(before, path) {
			name, err := filepath.Rel(into, path)
			if err != nil || !filepath.IsLocal(name) {
				t.Errorf("%s: written outside of --out", path)
			}
			copied = append(copied, filepath.Base(name))
		}
	}
	slices.Sort(copied)
	if got := strings.Join(copied, " "); got != "curve.csv curve.csv run.json run.json summary.csv" {
		t.Errorf("copied %s, want two runs and their summary\n%s", got, o.stderr)
	}
	if text := contents(t, filepath.Join(into, "sweep", results.SummaryFile)); strings.Contains(text, "PWN") {
		t.Errorf("summary %q, want the runs' own table", text)
	}

	nothing := func(name, want string, args ...string) {
		t.Helper()
		before := filesBelow(t, top)
		o := rollcall(t, append([]string{"results", "merge"}, args...)...)
		if o.status != statusFailure || !strings.Contains(o.stderr, want) || !slices.Equal(filesBelow(t, top), before) {
			t.Errorf("%s: status %d, %q, want 1, %q, and nothing written", name, o.status, o.stderr, want)
		}
	}
	none := filepath.Join(top, "none")
	nothing("a table's folder", "want TABLE/CELL/seed-N", filepath.Join(source, "sweep"), "--out", none)
	nothing("a run's folder", "want TABLE/CELL/seed-N", run, "--out", none)
	nothing("out below the source", "beside one another", source, "--out", filepath.Join(source, "merged"))
	nothing("the source below out", "beside one another", source, "--out", filepath.Dir(source))
	nothing("no folder", "no such file", filepath.Join(top, "nowhere"), "--out", none)
}

// A link as an output folder is the folder.
func TestAttackLinkedFolder(t *testing.T) {
	top := t.TempDir()
	real, link := filepath.Join(top, "scratch"), filepath.Join(top, "out")
	pass(t, attackSweep(real, "--methods", "fedawe")...)
	must.OK(t, os.Symlink(real, link))
	for _, line := range []string{
		"results list LINK", "results verify LINK", "results diff LINK LINK",
		"results merge LINK --out TOP/merged", "report LINK --to TOP/report",
	} {
		words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(line, "LINK", link), "TOP", top))
		if o := pass(t, words...); !strings.Contains(o.stdout, "fedawe") && !strings.Contains(o.stdout, "1 run") {
			t.Errorf("%s: %q, want the run", line, o.stdout)
		}
	}
	if o := pass(t, attackSweep(link, "--methods", "fedawe")...); !strings.Contains(o.stderr, "1 finished run kept") {
		t.Errorf("sweep: %q, want the run kept", o.stderr)
	}
}

// A narrower command leaves the rows of the others in summary.csv, also if it is interrupted.
func TestAttackNarrowerSweep(t *testing.T) {
	out := t.TempDir()
	pass(t, attackSweep(out, "--methods", "fedawe,mifa")...)
	path := filepath.Join(out, "sweep", results.SummaryFile)
	sorted := func() string {
		lines := strings.Split(contents(t, path), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	want := sorted()
	pass(t, attackSweep(out, "--methods", "fedawe")...)
	if got := sorted(); got != want {
		t.Errorf("narrower:\n%s\nwant\n%s", got, want)
	}
	o := interrupted(t, "round 1/100000", attackSweep(out, "--methods", "fedvarp", "--rounds", "100000")...)
	if o.status != statusInterrupted {
		t.Fatalf("status %d, want 130\n%s", o.status, o.stderr)
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(sorted(), line) {
			t.Errorf("interrupted: %q is gone", line)
		}
	}
}
