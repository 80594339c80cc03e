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

// What was computed by other code, on other engines or from other data is not taken for what would be computed now.
func TestKeptRuns(t *testing.T) {
	revision := func(of func(r *results.Revisions) *int) func(*results.RunInfo, *results.CurveRow) {
		return func(info *results.RunInfo, _ *results.CurveRow) { *of(&info.Revisions) = 77 }
	}
	for name, c := range map[string]struct {
		change func(info *results.RunInfo, row *results.CurveRow)
		said   string
		status int
	}{
		"as it is": {func(*results.RunInfo, *results.CurveRow) {}, "1 finished run kept", statusOK},
		"another version": {
			func(info *results.RunInfo, row *results.CurveRow) { info.Version, row.Version = "v0.1", "v0.1" },
			"finished runs of rollcall v0.1 are kept, this is devel (--again makes them again)", statusOK,
		},
		"another device": {
			func(info *results.RunInfo, row *results.CurveRow) {
				info.Device, info.Engine, row.Engine = "another", "cpu-avx512", "cpu-avx512"
			},
			"1 finished run kept", statusOK,
		},
		"method": {
			revision(func(r *results.Revisions) *int { return &r.Method }),
			"method revision 77, want 2; 2 rounds, ", statusFailure,
		},
		"process": {
			revision(func(r *results.Revisions) *int { return &r.Process }),
			"process revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"data": {
			revision(func(r *results.Revisions) *int { return &r.Data }),
			"data revision 77, want 2; 2 rounds, ", statusFailure,
		},
		"net": {
			revision(func(r *results.Revisions) *int { return &r.Net }),
			"net revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"engine": {
			revision(func(r *results.Revisions) *int { return &r.Engine }),
			"engine revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"numerics": {
			func(info *results.RunInfo, row *results.CurveRow) {
				info.Numerics, info.Engine, row.Engine = "cuda-sm90-tf32", "cuda-sm90", "cuda-sm90"
			},
			"seed 3: numerics cuda-sm90-tf32, want cpu-", statusFailure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := []string{
				"sweep", "--methods", "mifa", "--data", "leaf", "--clients", "4", "--rounds", "2", "--eval-every", "1",
				"--local-steps", "1", "--batch", "4", "--seeds", "3", "--device", "cpu", "--out", out,
			}
			pass(t, line...)
			path := only(t, out, "sweep/*/seed-3/run.json")
			want := timelessTree(t, filepath.Dir(path))
			doctored(t, out, c.change)
			pass(t, "results", "verify", out)
			before := contents(t, path)
			o := rollcall(t, line...)
			if o.status != c.status || !strings.Contains(o.stderr, c.said) {
				t.Errorf("status %d, %q, want %d and %q", o.status, o.stderr, c.status, c.said)
			}
			if contents(t, path) != before {
				t.Error("the run was changed, want it left alone")
			}
			if c.status == statusOK {
				return
			}
			rows := summaryRows(t, out, "sweep")
			if r := rows[0]; r["status"] != string(results.CellRefused) || !strings.Contains(r["error"], c.said) ||
				!strings.Contains(o.stderr, ": 1 run refused, whose folders stay as they are: --replace moves") {
				t.Errorf("%v, %q, want why the run is refused, and the ways out", r, o.stderr)
			}
			if mixed := rollcall(t, append(line, "--mixed", "--seeds", "4")...); name != "numerics" {
				if mixed.status != statusFailure || !strings.Contains(mixed.stderr, c.said) {
					t.Errorf("--mixed: status %d, %q, want it refused", mixed.status, mixed.stderr)
				}
			} else {
				isMixed(t, out, mixed)
			}
			pass(t, append(line, "--replace")...)
			aside := filepath.Join(filepath.Dir(path), ".old")
			if got := contents(t, filepath.Join(aside, results.RunFile)); got != before {
				t.Errorf("--replace: aside is %s, want the old run", got)
			}
			must.OK(t, os.RemoveAll(aside))
			sameTree(t, "--replace", timelessTree(t, filepath.Dir(path)), want)
		})
	}
}

// isMixed holds a sweep over two seeds of other numerics to saying so.
func isMixed(t *testing.T, out string, mixed outcome) {
	t.Helper()
	if mixed.status != statusOK || !strings.Contains(mixed.stdout, "[mixed: cpu-") ||
		!strings.Contains(mixed.stdout, "and cuda-sm90-tf32]") {
		t.Errorf("--mixed: status %d, %s\nwant what is mixed", mixed.status, mixed.stdout)
	}
	rows := summaryRows(t, out, "sweep")
	for _, r := range rows {
		if r["status"] != "mixed" || r["n"] != "2" || r["numerics"] != "mixed" ||
			!strings.HasSuffix(r["engine"], results.And+"cuda-sm90") {
			t.Errorf("%v, want two seeds, mixed", r)
		}
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
	o = pass(t, "run", "--method", "ca-fed", "--data", "leaf", "--availability", "markov", "--clients", "4",
		"--rounds", "2", "--eval-every", "1", "--prior", "1000000", "--device", "cpu", "--out", out)
	if strings.Contains(o.stdout, "kept") {
		t.Errorf("run: %q, want the run of before left alone", o.stdout)
	}
	o = pass(t, "sweep", "--methods", "fedar,fedawe", "--availability", "uniform", "--data", "binary", "--clients", "4",
		"--rounds", "2", "--eval-every", "1", "--like", "fedavg-active", "--fedar-t0", "none", "--seeds", "3,4",
		"--device", "cpu", "--out", out)
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
