package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/lock"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

// doctored writes the runs below out anew as if they had come about otherwise, with checksums that are right.
func doctored(t *testing.T, out string, change func(info *results.RunInfo, row *results.CurveRow)) {
	t.Helper()
	runs, bad, err := results.FindRuns(t.Context(), out)
	if err != nil || len(bad) > 0 || len(runs) == 0 {
		t.Fatalf("%d runs, %v, %v, want some", len(runs), bad, err)
	}
	for _, r := range runs {
		for i := range r.Curve {
			change(r.Info, &r.Curve[i])
		}
		must.OK(t, results.WriteCurve(filepath.Join(r.Dir, results.CurveFile), r.Curve))
		resultstest.Sign(t, r.Dir, *r.Info)
	}
}

// A finished run of another version, made on another machine by an engine with the same numbers, is kept, which is said
// in a line. See [TestDamage] for runs that were computed by other code, on other engines or from other data, and
// [TestNumericsApart] for --mixed.
func TestOtherVersionKept(t *testing.T) {
	out := t.TempDir()
	pass(t, smallRun(out)...)
	before := contents(t, only(t, out, curvePath))
	doctored(t, out, func(info *results.RunInfo, row *results.CurveRow) {
		info.Version, row.Version, info.Device = "v0.1", "v0.1", "another"
		info.Engine, row.Engine = "cpu-avx512", "cpu-avx512"
	})
	o := pass(t, smallRun(out)...)
	if !strings.Contains(o.stdout, "kept, finished before") || !strings.Contains(o.stderr,
		"finished runs of rollcall v0.1 are kept, this is devel (--again trains them again)") {
		t.Errorf("%q, %q, want the run kept, and its version named", o.stdout, o.stderr)
	}
	if now := contents(t, only(t, out, curvePath)); now == before || !strings.Contains(now, "v0.1") {
		t.Errorf("%s\nwant the curve of v0.1", now)
	}
}

// Runs that commit 24feb20 wrote, of schema 1, can be looked at, marked as unverified. They are not kept, and in no
// mean with runs of now: testdata/before holds what `run` and `sweep` of that commit left, the processor's name aside.
func TestRunsOfBefore(t *testing.T) {
	out := t.TempDir()
	must.OK(t, os.CopyFS(out, os.DirFS("testdata/before")))
	o := rollcall(t, "results", "verify", out)
	if o.status != statusFailure || strings.Count(o.stderr, "run.json of schema 1, want 2: unverified") != 3 {
		t.Errorf("verify: status %d, %q, want three runs that are unverified", o.status, o.stderr)
	}
	o = pass(t, strings.Fields("run --method ca-fed --data leaf --availability markov --clients 4 --rounds 2 "+
		"--eval-every 1 --prior 1000000 --device cpu --out "+out)...)
	if strings.Contains(o.stdout, "kept") {
		t.Errorf("run: %q, want the run of before left alone", o.stdout)
	}
	o = pass(t, strings.Fields("sweep --methods fedar,fedawe --availability uniform --data binary --clients 4 "+
		"--rounds 2 --eval-every 1 --like fedavg-active --fedar-t0 none --seeds 3,4 --device cpu --out "+out)...)
	if strings.Contains(o.stderr, "kept") {
		t.Errorf("sweep: %q, want the runs of before left alone", o.stderr)
	}
	rows := summaryRows(t, out, "sweep")
	counts := map[string]int{}
	for _, row := range rows {
		counts[row["status"]+" of "+row["n"]]++
	}
	if want := map[string]int{"ok of 2": 4, "unverified of 1": 4}; !maps.Equal(counts, want) {
		t.Errorf("summary.csv: %v, want the runs of before in rows of their own: %v", counts, want)
	}
	if list := pass(t, "results", "list", out).stdout; strings.Count(list, "[unverified]") != 3 ||
		strings.Count(list, "complete") != 6 {
		t.Errorf("results list:\n%s\nwant six cells that are complete, three of them unverified", list)
	}
	if text := pass(t, "results", "export", "sweep", out).stdout; !strings.Contains(text, "unverified") {
		t.Errorf("results export:\n%s\nwant the runs of before marked", text)
	}
	pass(t, "report", out)
	// What can be told of a damaged one is told.
	curve := only(t, out, "run/ca-fed_leaf_markov_8604aeecc7/seed-3/curve.csv")
	text := strings.TrimSuffix(contents(t, curve), "\n")
	must.OK(t, os.WriteFile(curve, []byte(text[:strings.LastIndex(text, "\n")+1]), 0o666))
	o = rollcall(t, "results", "verify", out)
	if o.status != statusFailure || !strings.Contains(o.stderr, curve+": ends with round 1, want round 2") {
		t.Errorf("without its last row: status %d, %q, want it named", o.status, o.stderr)
	}
}

// The runs in results/replay are what they say, are finished, and are those of the summary beside them.
func TestReplayKept(t *testing.T) {
	for _, id := range slices.Concat(papers.TableNames(), papers.FigureNames()) {
		dir := filepath.Join("../..", "results/replay", id)
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		all, bad, err := results.FindRuns(t.Context(), dir)
		if err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		// A folder has the runs of one reading.
		folders, byFolder := results.Grouped(all, func(r results.Run) string {
			return filepath.Dir(filepath.Dir(r.Dir))
		})
		for _, folder := range folders {
			keptIn(t, folder, byFolder[folder])
		}
	}
}

// keptIn checks the runs in a folder against each other's files and the summary beside them, if there is one.
func keptIn(t *testing.T, folder string, runs []results.Run) {
	t.Helper()
	pass(t, "results", "verify", folder)
	for _, r := range runs {
		if r.Status() != results.RunComplete && r.Status() != results.RunDiverged {
			t.Errorf("%s: %s, want complete or diverged", r.Dir, r.Status())
		}
	}
	kept, err := os.ReadFile(filepath.Join(folder, results.SummaryFile))
	if os.IsNotExist(err) {
		return // a figure
	}
	copied := t.TempDir()
	must.OK(t, os.CopyFS(copied, os.DirFS(folder)))
	pass(t, "results", "summarise", runs[0].Table, copied)
	if contents(t, filepath.Join(copied, results.SummaryFile)) != string(kept) {
		t.Errorf("%s: %s is not the summary of the runs beside it", folder, results.SummaryFile)
	}
}

// Tables keep the runs that earlier programs made, and train nothing: no setting that came since has moved a folder.
// The runs of fedar-3 are in results/replay, and tests have no data to train it on. testdata/kept is what version
// cd4dae9 left with ROLLCALL_CPU=generic, without the summary.
func TestReplayTaken(t *testing.T) {
	for _, c := range []struct{ from, table, line string }{
		{"testdata/kept", "cafed-1", "--data binary --seeds 3 --rounds 3"},
		{"../../results/replay", "fedar-3", ""},
	} {
		out := t.TempDir()
		dir := filepath.Join(out, c.table)
		must.OK(t, os.CopyFS(dir, os.DirFS(filepath.Join(c.from, c.table))))
		state := func() map[string]string {
			files := map[string]string{}
			for _, path := range filesBelow(t, dir) {
				if name := filepath.Base(path); name != results.SummaryFile && name != lock.File {
					files[path] = contents(t, path)
				}
			}
			return files
		}
		was := state()
		line := "table " + c.table + " " + c.line + " --mixed --device cpu --out " + out // kept on any processor
		o := rollcall(t, strings.Fields(line)...)
		if strings.Contains(o.stderr, "revision") {
			t.Logf("%s: left out: %s", c.table, o.stderr) // the numbers have changed since, and all are made anew
			continue
		}
		if o.status != statusOK || len(was) < 10 || !maps.Equal(was, state()) {
			t.Errorf("%s: status %d, %d files before, %d after, want the same\n%s",
				line, o.status, len(was), len(state()), o.stderr)
		}
		pass(t, "results", "verify", out)
	}
}

// The first rounds of kept runs come out again, row by row, on any processor of their class.
func TestReplayKeptAgain(t *testing.T) {
	longtest.Only(t, "two runs of ten rounds of real data; the goldens hold the engines to their bytes every time")
	data := cifar10(t)
	for _, c := range []struct{ table, reading, method, flags string }{
		{"fedar-2", "", "fedar", "--column p-min=0.1 --methods fedar"},
		{"fedawe-2", "numpy", "fedawe", "--availability sine --methods fedawe --draws numpy"},
	} {
		dir := filepath.Join("../..", "results/replay", c.table, c.reading)
		kept, _ := must.Get2(results.FindRuns(t.Context(), dir))(t)
		i := slices.IndexFunc(kept, func(r results.Run) bool { return r.Method == c.method && r.Seed == 3 })
		if i < 0 {
			t.Errorf("%s: no run of %s with seed 3 is kept", c.table, c.method)
			continue
		}
		out := t.TempDir()
		args := "table " + c.table + " --data cifar10 --seeds 3 --rounds 10 --device cpu " + c.flags
		pass(t, append(strings.Fields(args), "--data-dir", data, "--out", out)...)
		again, _, err := results.FindRuns(t.Context(), out)
		if err != nil || len(again) != 1 {
			t.Fatalf("%s: %d runs, %v, want one", c.table, len(again), err)
		}
		like, wanted := again[0].Likeness(), kept[i].Likeness()
		like.Settings = wanted.Settings // they differ in the number of rounds
		if like != wanted {
			t.Logf("%s: left out: %q", c.table, like.Unlike(wanted))
			continue
		}
		for _, row := range again[0].Curve {
			at := slices.IndexFunc(kept[i].Curve, func(r results.CurveRow) bool { return r.Round == row.Round })
			if at < 0 {
				continue
			}
			want := kept[i].Curve[at]
			want.ElapsedSec, want.Params = row.ElapsedSec, row.Params
			want.Engine, want.Version = row.Engine, row.Version
			if row != want {
				t.Errorf("%s: row %+v\nkept %+v", c.table, row, want)
			}
		}
	}
}

// The run that stays aside while it is made anew is seen by no other command; it goes when the new one is complete.
func TestAgainKeepsTheOldAside(t *testing.T) {
	out := t.TempDir()
	pass(t, smallRun(out, "--rounds", "6")...)
	seed := filepath.Dir(only(t, out, curvePath))
	want := timelessTree(t, out)
	interrupt(t, "round 3/6", smallRun(out, "--rounds", "6", "--again")...)
	old, err := results.ReadRunInfo(filepath.Join(seed, ".old", results.RunFile))
	if err != nil || old.Status != results.RunComplete {
		t.Errorf("%s, %v, want the complete run aside", old.Status, err)
	}
	if o := pass(t, "results", "list", out); strings.Count(o.stdout, "mifa") != 1 ||
		!strings.Contains(o.stdout, "interrupted") {
		t.Errorf("list: %q, want the interrupted run alone", o.stdout)
	}
	if o := pass(t, "results", "verify", out); !strings.Contains(o.stdout, "1 run") {
		t.Errorf("verify: %q, want one run", o.stdout)
	}
	for _, line := range []string{"results merge OUT --out TO", "report OUT --to TO"} {
		to := t.TempDir()
		rollcall(t, strings.Fields(strings.NewReplacer("OUT", out, "TO", to).Replace(line))...) // there may be no run
		for path, text := range contentsBelow(t, to, "") {
			if strings.Contains(path+text, ".old") || strings.Contains(path, "checkpoint-") {
				t.Errorf("%s: wrote %s, want nothing of the run that is aside", line, path)
			}
		}
	}
	if o := pass(t, smallRun(out, "--rounds", "6")...); !strings.Contains(o.stderr, "resumes from round 3") {
		t.Errorf("stderr %q, want it to go on", o.stderr)
	}
	sameTree(t, "again", timelessTree(t, out), want)
}

// What a killed command left to tidy up is tidied up by the repeated one, kept checkpoints too unless they are asked
// for again.
func TestKeptRunIsTidied(t *testing.T) {
	out := t.TempDir()
	interrupt(t, "round 2/6", smallRun(out, "--rounds", "6")...)
	interrupt(t, "round 4/6", smallRun(out, "--rounds", "6")...)
	pass(t, smallRun(out, "--rounds", "6", "--keep-checkpoints")...)
	seed := filepath.Dir(only(t, out, curvePath))
	for _, aside := range []string{".old", ".old-7"} { // with a part of what the run has
		must.OK(t, os.MkdirAll(filepath.Join(seed, aside), 0o777))
		must.OK(t, os.Link(filepath.Join(seed, results.CurveFile), filepath.Join(seed, aside, results.CurveFile)))
	}
	pass(t, smallRun(out, "--rounds", "6", "--keep-checkpoints")...)
	if kept := must.Get(filepath.Glob(filepath.Join(seed, "checkpoint-*")))(t); len(kept) != 2 {
		t.Errorf("checkpoints %q, want 2 kept", kept)
	}
	if o := pass(t, smallRun(out, "--rounds", "6")...); !strings.Contains(o.stdout, "kept, finished before") {
		t.Errorf("stdout %q, want the run kept", o.stdout)
	}
	entries, err := os.ReadDir(seed)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v, want %s, %s and %s alone", entries, err, lock.File, results.CurveFile, results.RunFile)
	}
}
