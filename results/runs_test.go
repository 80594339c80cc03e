package results_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/resultstest"
)

func TestFindRuns(t *testing.T) {
	out := t.TempDir()
	resultstest.WriteRun(t, out, resultstest.Complete("fedawe-2", "mifa", 3, 0.1, 0.2, 0.3))
	resultstest.WriteRun(t, out, resultstest.SmallRun{
		Table: "fedawe-2", Method: "mifa", Seed: 4, Acc: []float64{0.1, 0.3}, Rounds: 2, Status: results.RunInterrupted,
	})
	killed := resultstest.WriteRun(t, out, resultstest.SmallRun{
		Table: "run", Method: "fedawe", Seed: 3, Acc: []float64{0.1, 0.2, 0.3},
	})
	must.OK(t, os.WriteFile(filepath.Join(killed, "more.csv"), []byte("x\n"), 0o666))
	runs, bad, err := results.FindRuns(t.Context(), out, filepath.Join(out, "run")) // overlapping
	if err != nil {
		t.Fatal(err)
	}
	resultstest.MustHold(t, bad)
	if len(runs) != 3 {
		t.Fatalf("%d runs, want 3", len(runs))
	}
	for i, want := range []struct {
		status results.RunStatus
		rounds int
	}{{results.RunComplete, 2}, {results.RunInterrupted, 1}, {results.RunUnfinished, 2}} {
		if runs[i].Status() != want.status || runs[i].Rounds() != want.rounds {
			t.Errorf("run %d: %s after %d rounds, want %s after %d",
				i, runs[i].Status(), runs[i].Rounds(), want.status, want.rounds)
		}
	}
	if fmt.Sprint(runs[2].Extra) != "[more.csv]" {
		t.Errorf("other files %v, want more.csv", runs[2].Extra)
	}
	rows := compare.ListRuns(runs, nil)
	if len(rows) != 2 || rows[0].Seeds != "3 4" || rows[0].Rounds != 1 || rows[0].Most != 2 ||
		rows[0].Status != "1 complete, 1 interrupted" || rows[1].Status != "unfinished" {
		t.Errorf("list %+v, want mifa's two seeds and the killed run", rows)
	}
	var text strings.Builder
	must.OK(t, compare.WriteList(&text, rows, math.MaxInt))
	want := "table      method   data      availability   seeds       rounds   status\n" +
		"fedawe-2   mifa     cifar10   sine             3 4   1 … 2 of 2   1 complete, 1 interrupted\n" +
		"run        fedawe   cifar10   sine               3            2   unfinished\n"
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	if _, _, err := results.FindRuns(t.Context(), filepath.Join(out, "none")); err == nil {
		t.Error("a folder that is not there: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := results.FindRuns(ctx, out); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, want the context's error", err)
	}
}

// Each kind of damage is named, and what is left is used.
// Links to folders are followed at the levels of an output folder, and nothing is found twice.
func TestLinkedFolders(t *testing.T) {
	dir := t.TempDir()
	out, disk := filepath.Join(dir, "out"), filepath.Join(dir, "disk")
	run := func(out, table string, seed uint32) string {
		return resultstest.WriteRun(t, out, resultstest.Complete(table, "mifa", seed, 0.1, float64(seed)/10))
	}
	rel := func(path string) string { return must.Get(filepath.Rel(dir, path))(t) }
	here := rel(run(out, "here", 3))
	cell := filepath.Dir(strings.TrimPrefix(here, "out/here/"))
	run(disk, "table", 4)
	run(disk, "cells", 5)
	run(disk, "seeds", 6)
	run(disk, ".hidden", 7)
	for _, c := range []struct{ to, path string }{
		{"../disk/table", "a"},
		{"../../disk/cells/" + cell, "b/" + cell},
		{"../../../disk/seeds/" + cell + "/seed-6", "c/" + cell + "/seed-6"},
		{"here", "alias"},                        // found in its own place
		{"../disk/table", "again"},               // found already
		{".", "itself"},                          // the given folder, a loop
		{"../..", "here/above"},                  // a folder that has the given one in it, a loop
		{"/", "root"},                            // likewise
		{"../disk", "deep"},                      // its tables are found already, or hidden
		{"loop", "loop"},                         // to itself
		{"nothing", "dangling"},                  // no folder
		{"../disk/.hidden", ".hidden"},           // the name in the output folder is hidden
		{"../..", "here/" + cell + "/seed-3/up"}, // the folder of the table, met already
	} {
		path := filepath.Join(out, c.path)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.OK(t, os.Symlink(c.to, path))
	}
	must.OK(t, os.Symlink("out", filepath.Join(dir, "link")))
	all := func(top string) (want []string) {
		for _, place := range []string{
			"a/" + cell + "/seed-4", "b/" + cell + "/seed-5", "c/" + cell + "/seed-6", "here/" + cell + "/seed-3",
		} {
			want = append(want, filepath.Join(dir, top, filepath.FromSlash(place)))
		}
		return want
	}
	for _, c := range []struct {
		folders, want []string
	}{
		{[]string{"out"}, all("out")},
		{[]string{"link"}, all("link")},
		{[]string{"out", "link", "out/here", "out/a"}, all("out")}, // the same again
		{[]string{"out/a"}, all("out")[:1]},
		{[]string{"out/b/" + cell}, all("out")[1:2]},
		{[]string{"out/c/" + cell + "/seed-6"}, all("out")[2:3]},
	} {
		var folders []string
		for _, folder := range c.folders {
			folders = append(folders, filepath.Join(dir, folder))
		}
		got := must.Get(results.RunFolders(t.Context(), folders...))(t)
		if !slices.Equal(got, c.want) {
			t.Errorf("below %s\n%s\nwant\n%s", c.folders, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if begun := must.Get(results.BegunFolders(t.Context(), folders...))(t); !slices.Equal(begun, c.want) {
			t.Errorf("begun below %s\n%s\nwant\n%s", c.folders, strings.Join(begun, "\n"), strings.Join(c.want, "\n"))
		}
	}
	overwrite(t, filepath.Join(disk, "table", cell, "seed-4", results.CurveFile), "x\n")
	_, bad := must.Get2(results.FindRuns(t.Context(), out))(t)
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), filepath.Join(out, "a", cell, "seed-4", results.CurveFile)) {
		t.Errorf("damaged behind a link: %v, want its path through the link", bad)
	}
}

func TestFindBadRuns(t *testing.T) {
	row := func(round int, seed string) string {
		return "t,mifa,code,cifar10,cnn-cifar10,sine,100,0.1," + seed +
			fmt.Sprintf(",%d,0,0,,0.1,,0.2,0,,cpu-avx2,fp32,\n", round)
	}
	curve := func(add string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { filestest.Append(t, filepath.Join(dir, results.CurveFile), add) }
	}
	instead := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, name), text) }
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		rows   int // left; 0: no run
		want   string
	}{
		"half a line":   {curve("t,mifa,co"), 2, "curve.csv: line 4: 3 columns, want 21"},
		"another seed":  {curve(row(2, "9")), 2, "curve.csv: line 4: another run"},
		"round again":   {curve(row(1, "3")), 2, "curve.csv: line 4: round 1 after round 1"},
		"other columns": {instead(results.CurveFile, "table,method\nt,mifa\n"), 0, "curve.csv: line 1: no column"},
		"empty":         {instead(results.CurveFile, ""), 0, "curve.csv: line 1: empty"},
		"half run.json": {instead(results.RunFile, "{\n\"status\":\n"), 2, "run.json: line 2: unexpected EOF"},
		"another run's": {func(t *testing.T, dir string) {
			must.OK(t, results.WriteRunInfo(filepath.Join(dir, results.RunFile),
				results.RunInfo{Status: results.RunComplete, Settings: map[string]any{}, Seed: 77}, nil))
		}, 2, "run.json: seed 77, want 3"},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			c.damage(t, resultstest.WriteRun(t, out, resultstest.Complete("t", "mifa", 3, 0.1, 0.2)))
			runs, bad := must.Get2(results.FindRuns(t.Context(), out))(t)
			resultstest.MustHold(t, bad, c.want)
			if len(runs) != min(c.rows, 1) || len(runs) > 0 && len(runs[0].Curve) != c.rows {
				t.Errorf("%d runs, want %d with %d rows", len(runs), min(c.rows, 1), c.rows)
			}
		})
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// A run found in two tables' folders counts once; two that differ are named both.
func TestDuplicateRuns(t *testing.T) {
	out := t.TempDir()
	r := resultstest.Complete("fedawe-2", "mifa", 3, 0.1, 0.2)
	resultstest.WriteRun(t, out, r)
	r.Table, r.Version = "fedawe-8", "newer"
	resultstest.WriteRun(t, out, r)
	runs, bad, err := results.FindRuns(t.Context(), out)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v, want one", len(runs), err)
	}
	resultstest.MustHold(t, bad)
	r.Acc = []float64{0.1, 0.25}
	other := resultstest.WriteRun(t, out, r)
	runs, bad, err = results.FindRuns(t.Context(), out)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v, want the first", len(runs), err)
	}
	resultstest.MustHold(t, bad, filepath.Join(other, results.CurveFile)+
		": the same run, but they differ in line 3, round 1")
}

// savedRun writes a complete run with a model and one of clients, and what is none.
func savedRun(t *testing.T, out string) (dir string) {
	t.Helper()
	r := resultstest.Complete("run", "fedawe", 3, 0.1, 0.2)
	dir = resultstest.WriteRun(t, out, r)
	for _, name := range []string{results.ModelFile, results.ClientModelFile(7), "mine.safetensors"} {
		overwrite(t, filepath.Join(dir, name), "bytes of "+name)
	}
	info := must.Get(results.ReadRunInfo(filepath.Join(dir, results.RunFile)))(t)
	resultstest.Sign(t, dir, info)
	return dir
}

// Models are held to the checksums in run.json, in both directions. One that is not as it was written, or that the run
// has not written, is no fault of the run, and counts as not written.
func TestModelChecksums(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(dir string) error
		want []string
	}{
		{"as written", func(string) error { return nil }, nil},
		{"another file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "mine.safetensors"), nil, 0o666)
		}, nil},
		{"changed", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, results.ModelFile), []byte("Bytes of model.safetensors"), 0o666)
		}, []string{"model.safetensors: checksum sha256:"}},
		{"removed", func(dir string) error {
			return os.Remove(filepath.Join(dir, "model-client-7.safetensors"))
		}, []string{"model-client-7.safetensors: no such file"}},
		{"added", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model-client-8.safetensors"), nil, 0o666)
		}, []string{"model-client-8.safetensors: no checksum in run.json"}},
		{"a folder", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, results.ModelFile)),
				os.Mkdir(filepath.Join(dir, results.ModelFile), 0o777))
		}, []string{"model.safetensors: a folder, want a file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := savedRun(t, t.TempDir())
			must.OK(t, c.do(dir))
			run, bad := results.ReadRunFolder(dir)
			if bad != nil || run.Damaged {
				t.Errorf("%v, damaged %t, want a sound run", bad, run.Damaged)
			}
			var beside []error
			for _, f := range run.Beside {
				beside = append(beside, f.Err)
				if run.Wrote(f.Name) || f.Foreign != (c.name == "added") {
					t.Errorf("%+v: written %t, want it not, and foreign if it was added", f, run.Wrote(f.Name))
				}
			}
			resultstest.MustHold(t, beside, c.want...)
		})
	}
}

// Models go where the run goes, and nothing else that lies beside it.
func TestModelsAreCopied(t *testing.T) {
	run, bad := results.ReadRunFolder(savedRun(t, t.TempDir()))
	resultstest.MustHold(t, bad)
	for name, copied := range map[string]func(to string) error{
		"copied":  func(to string) error { return results.CopyRun(&run, to) },
		"adopted": func(to string) error { _, err := results.Adopt(&run, to, "fedawe-2"); return err },
	} {
		to := filepath.Join(t.TempDir(), filepath.Base(filepath.Dir(run.Dir)), "seed-3")
		must.OK(t, copied(to))
		_, bad := results.ReadRunFolder(to)
		resultstest.MustHold(t, bad)
		models, err := results.ModelFiles(to)
		if err != nil || fmt.Sprint(models) != "[model-client-7.safetensors model.safetensors]" {
			t.Errorf("%s: models %v, %v, want both", name, models, err)
		}
		if _, err := os.Stat(filepath.Join(to, "mine.safetensors")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: mine.safetensors: %v, want it left behind", name, err)
		}
	}
}
