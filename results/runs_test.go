package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testRun says what [writeRun] writes.
type testRun struct {
	table, method string
	seed          uint32
	acc           []float64 // test accuracy of round 0, 1, …
	params        string
	version       string
	status        RunStatus // none: no run.json
	checksum      string
}

// writeRun writes a run's folder below out, and returns it.
func writeRun(t *testing.T, out string, r testRun) string {
	t.Helper()
	cell := Cell{Table: r.table, Method: r.method, Preset: "code", Data: "cifar10", Net: "cnn-cifar10", Availability: "sine", Clients: 100, Alpha: Some(0.1)}
	settings := map[string]any{"method": r.method, "params": r.params}
	dir := filepath.Join(out, r.table, r.method+"_cifar10_sine_"+Hash(settings), fmt.Sprintf("seed-%d", r.seed))
	var rows []CurveRow
	for i, acc := range r.acc {
		rows = append(rows, CurveRow{Cell: cell, Seed: r.seed, Round: i, TestAcc: Some(acc), TrainAcc: Some(acc / 2), Params: r.params, Version: r.version, Engine: "cpu-avx2", Precision: "fp32"})
	}
	if err := WriteCurve(filepath.Join(dir, CurveFile), rows); err != nil {
		t.Fatal(err)
	}
	if r.status != "" {
		info := RunInfo{Status: r.status, Rounds: len(r.acc) - 1, Settings: settings, Seed: r.seed, DataChecksum: "sha256:" + r.checksum, Device: "a machine"}
		if err := WriteRunInfo(filepath.Join(dir, RunFile), info); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(old, text...), 0o666); err != nil {
		t.Fatal(err)
	}
}

// mustHold checks that errors are as many as parts, and each holds its part.
func mustHold(t *testing.T, bad []error, parts ...string) {
	t.Helper()
	if len(bad) != len(parts) {
		t.Errorf("%d complaints %v, want %d", len(bad), bad, len(parts))
		return
	}
	for i, part := range parts {
		if !strings.Contains(bad[i].Error(), part) {
			t.Errorf("complaint %q, want %q in it", bad[i], part)
		}
	}
}

func TestFindRuns(t *testing.T) {
	out := t.TempDir()
	writeRun(t, out, testRun{table: "fedawe-2", method: "mifa", seed: 3, acc: []float64{0.1, 0.2}, status: RunComplete})
	writeRun(t, out, testRun{table: "fedawe-2", method: "mifa", seed: 4, acc: []float64{0.1, 0.3, 0.4}, status: RunInterrupted})
	killed := writeRun(t, out, testRun{table: "run", method: "fedawe", seed: 3, acc: []float64{0.1, 0.2, 0.3}})
	if err := os.WriteFile(filepath.Join(killed, "more.csv"), []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	runs, bad, err := FindRuns(t.Context(), out, filepath.Join(out, "run")) // overlapping
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, bad)
	if len(runs) != 3 {
		t.Fatalf("%d runs, want 3", len(runs))
	}
	for i, want := range []struct {
		status RunStatus
		rounds int
	}{{RunComplete, 1}, {RunInterrupted, 2}, {RunUnfinished, 2}} {
		if runs[i].Status() != want.status || runs[i].Rounds() != want.rounds {
			t.Errorf("run %d: %s after %d rounds, want %s after %d", i, runs[i].Status(), runs[i].Rounds(), want.status, want.rounds)
		}
	}
	if fmt.Sprint(runs[2].Extra) != "[more.csv]" {
		t.Errorf("other files %v, want more.csv", runs[2].Extra)
	}
	rows := ListRuns(runs)
	if len(rows) != 2 || rows[0].Seeds != "3 4" || rows[0].Rounds != 1 || rows[0].Most != 2 || rows[0].Status != "1 complete, 1 interrupted" || rows[1].Status != "unfinished" {
		t.Errorf("list %+v, want mifa's two seeds and the killed run", rows)
	}
	var text strings.Builder
	if err := WriteList(&text, rows); err != nil {
		t.Fatal(err)
	}
	if want := "table      method   data      availability   seeds   rounds   status\n" +
		"fedawe-2   mifa     cifar10   sine             3 4    1 … 2   1 complete, 1 interrupted\n" +
		"run        fedawe   cifar10   sine               3        2   unfinished\n"; text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	if _, _, err := FindRuns(t.Context(), filepath.Join(out, "none")); err == nil {
		t.Error("a folder that is not there: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := FindRuns(ctx, out); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, want the context's error", err)
	}
}

// Each kind of damage is named, and what is left is used.
func TestFindBadRuns(t *testing.T) {
	row := func(round int, seed string) string {
		return "t,mifa,code,cifar10,cnn-cifar10,sine,100,0.1," + seed + fmt.Sprintf(",%d,0,0,,0.1,,0.2,0,,cpu-avx2,fp32,\n", round)
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		runs   int
		rows   int
		want   []string
	}{
		"half a line":   {func(t *testing.T, dir string) { appendTo(t, filepath.Join(dir, CurveFile), "t,mifa,co") }, 1, 2, []string{"curve.csv: line 4: 3 columns, want 21"}},
		"another seed":  {func(t *testing.T, dir string) { appendTo(t, filepath.Join(dir, CurveFile), row(2, "9")) }, 1, 2, []string{"curve.csv: line 4: another run"}},
		"round again":   {func(t *testing.T, dir string) { appendTo(t, filepath.Join(dir, CurveFile), row(1, "3")) }, 1, 2, []string{"curve.csv: line 4: round 1 after round 1"}},
		"other columns": {func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, CurveFile), "table,method\nt,mifa\n") }, 0, 0, []string{"curve.csv: line 1: no column"}},
		"empty":         {func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, CurveFile), "") }, 0, 0, []string{"curve.csv: line 1: empty"}},
		"half run.json": {func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, RunFile), "{\n\"status\":\n") }, 1, 2, []string{"run.json: line 2: unexpected EOF"}},
		"another run's": {func(t *testing.T, dir string) {
			if err := WriteRunInfo(filepath.Join(dir, RunFile), RunInfo{Status: RunComplete, Settings: map[string]any{}, Seed: 77}); err != nil {
				t.Fatal(err)
			}
		}, 1, 2, []string{"run.json: seed 77, want 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			dir := writeRun(t, out, testRun{table: "t", method: "mifa", seed: 3, acc: []float64{0.1, 0.2}, status: RunComplete})
			c.damage(t, dir)
			runs, bad, err := FindRuns(t.Context(), out)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, bad, c.want...)
			if len(runs) != c.runs || len(runs) > 0 && len(runs[0].Curve) != c.rows {
				t.Errorf("%d runs, want %d with %d rows", len(runs), c.runs, c.rows)
			}
		})
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A run found in two tables' folders counts once; two that differ are named both.
func TestDuplicateRuns(t *testing.T) {
	out := t.TempDir()
	r := testRun{table: "fedawe-2", method: "mifa", seed: 3, acc: []float64{0.1, 0.2}, status: RunComplete}
	writeRun(t, out, r)
	r.table, r.version = "fedawe-8", "newer"
	writeRun(t, out, r)
	runs, bad, err := FindRuns(t.Context(), out)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v, want one", len(runs), err)
	}
	mustHold(t, bad)
	r.acc = []float64{0.1, 0.25}
	other := writeRun(t, out, r)
	runs, bad, err = FindRuns(t.Context(), out)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v, want the first", len(runs), err)
	}
	mustHold(t, bad, filepath.Join(other, CurveFile)+": the same run, but they differ in line 3, round 1")
}
