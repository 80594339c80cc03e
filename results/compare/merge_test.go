package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/files/filestest"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// means is a summariser: a row of every cell.
func means(table string, runs []results.Run) (rows []results.SummaryRow, err error) {
	for _, c := range results.Cells(runs) {
		if curves := c.Complete(); len(curves) > 0 {
			e, err := results.OverSeeds(curves, results.ProtocolRounds, metrics.TestAcc)
			if err != nil {
				return nil, err
			}
			r := results.SummaryRow{Cell: c.Runs[0].Cell, Params: c.Params, Metric: metrics.TestAcc, Status: results.CellOK}
			r.Table = table
			r.Estimate(e)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// summarised writes the summary of a table from its runs.
func summarised(t *testing.T, out, table string) {
	t.Helper()
	runs, _, err := results.FindRuns(t.Context(), filepath.Join(out, table))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := means(table, runs)
	if err != nil {
		t.Fatal(err)
	}
	if err := results.WriteSummary(filepath.Join(out, table, results.SummaryFile), rows); err != nil {
		t.Fatal(err)
	}
}

func TestMerge(t *testing.T) {
	a, b, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
	run := func(out, method string, seed uint32, acc float64, status results.RunStatus) string {
		return resultstest.WriteRun(t, out, resultstest.Run{
			Table: "fedawe-2", Method: method, Seed: seed,
			Acc: []float64{0.1, acc}, Status: status, Version: filepath.Base(out),
		})
	}
	run(a, "mifa", 3, 0.2, results.RunComplete)
	run(b, "mifa", 3, 0.2, results.RunComplete) // the same numbers of another version
	run(b, "mifa", 4, 0.4, results.RunComplete)
	run(a, "fedau", 3, 0.15, results.RunInterrupted)
	whole := run(b, "fedau", 3, 0.3, results.RunComplete) // replaces the interrupted one
	if err := os.WriteFile(filepath.Join(whole, "decisions.csv"), []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	summarised(t, a, "fedawe-2")
	summarised(t, b, "fedawe-2")
	for _, out := range []string{a, b} {
		if err := results.AppendBench(filepath.Join(out, results.BenchFile),
			results.BenchRow{Version: filepath.Base(out)}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Merge(t.Context(), into, []string{a, b}, means)
	if err != nil {
		t.Fatal(err)
	}
	resultstest.MustHold(t, m.Bad)
	if m.Runs != 3 || m.Kept != 2 {
		t.Errorf("%d copied, %d twice, want 3 and 2", m.Runs, m.Kept)
	}
	rows, err := results.ReadSummary(filepath.Join(into, "fedawe-2", results.SummaryFile))
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %d rows, want fedau and mifa", err, len(rows))
	}
	// In the order of Table 2: fedau before mifa. mifa's mean is over both machines' seeds: (0.2 + 0.4) / 2.
	if rows[0].Method != "fedau" || rows[0].Mean.Value != 0.3 || rows[1].Method != "mifa" || rows[1].N != 2 ||
		rows[1].Mean != stats.Mean([]float64{0.2, 0.4}) {
		t.Errorf("%+v, want fedau 0.3 and mifa 0.3 of 2 seeds", rows)
	}
	runs, bad, err := results.FindRuns(t.Context(), into)
	resultstest.MustHold(t, bad)
	if err != nil || len(runs) != 3 || runs[0].Status() != results.RunComplete || len(runs[0].Extra) != 1 {
		t.Errorf("%v, %d runs %+v, want 3, fedau's complete with its other file", err, len(runs), runs)
	}
	if bench, err := files.ReadCSVFile[results.BenchRow](filepath.Join(into, results.BenchFile)); err != nil || len(bench) != 2 {
		t.Errorf("%v, %d speed measurements, want both", err, len(bench))
	}
	// Again, and in the other order: nothing changes.
	before, err := os.ReadFile(filepath.Join(into, "fedawe-2", results.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = Merge(t.Context(), into, []string{b, a}, means); err != nil || m.Runs != 0 {
		t.Errorf("again: %v, %d copied, want none", err, m.Runs)
	}
	if after, err := os.ReadFile(filepath.Join(into, "fedawe-2", results.SummaryFile)); err != nil ||
		string(after) != string(before) {
		t.Errorf("again: %v, the summary changed", err)
	}
}

// Two that differ are named, and nothing is written.
func TestMergeClashes(t *testing.T) {
	good := resultstest.Run{
		Table: "fedawe-2", Method: "mifa", Seed: 3, Acc: []float64{0.1, 0.2},
		Status: results.RunComplete, Checksum: "1",
	}
	for name, c := range map[string]struct {
		change func(r *resultstest.Run)
		file   string
	}{
		"numbers": {func(r *resultstest.Run) { r.Acc = []float64{0.1, 0.3} }, results.CurveFile},
		"length":  {func(r *resultstest.Run) { r.Acc = []float64{0.1, 0.2, 0.3} }, results.CurveFile},
		"data":    {func(r *resultstest.Run) { r.Checksum = "2" }, results.RunFile},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
			other := good
			c.change(&other)
			x, y := resultstest.WriteRun(t, a, good), resultstest.WriteRun(t, b, other)
			_, err := Merge(t.Context(), into, []string{a, b}, means)
			if err == nil || !strings.Contains(err.Error(), filepath.Join(x, c.file)) ||
				!strings.Contains(err.Error(), filepath.Join(y, c.file)) {
				t.Errorf("%v, want both %s named", err, c.file)
			}
			if _, err := os.Stat(into); err == nil {
				t.Error("something was written, want nothing")
			}
		})
	}
}

// Numbers without their runs are taken over: once, if they agree.
func TestMergeSummaries(t *testing.T) {
	row := results.SummaryRow{
		Cell:   results.Cell{Table: "fedawe-2", Method: "mifa", Data: "svhn", Availability: "sine"},
		Metric: metrics.TestAcc, N: 3, Mean: files.Some(0.5), Status: results.CellOK,
	}
	other := row
	other.Method = "fedau"
	a, b, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
	write := func(out string, rows ...results.SummaryRow) string {
		path := filepath.Join(out, "fedawe-2", results.SummaryFile)
		if err := results.WriteSummary(path, rows); err != nil {
			t.Fatal(err)
		}
		return path
	}
	failed := row
	failed.N, failed.Mean, failed.Status = 0, files.Optional{}, results.CellFailed
	write(a, failed)
	write(b, other, row)
	m, err := Merge(t.Context(), into, []string{a, b}, means)
	resultstest.MustHold(t, m.Bad)
	rows, readErr := results.ReadSummary(filepath.Join(into, "fedawe-2", results.SummaryFile))
	if err != nil || readErr != nil || len(rows) != 2 || rows[0].Method != "fedau" || rows[1].Status != results.CellOK {
		t.Errorf("%v, %v, %+v, want fedau and mifa, the latter not failed", err, readErr, rows)
	}
	differs := row
	differs.Mean = files.Some(0.6)
	x, y := write(a, row), write(b, other, differs)
	if _, err = Merge(t.Context(), filepath.Join(t.TempDir(), "all"), []string{a, b}, means); err == nil ||
		!strings.Contains(err.Error(), x+" line 2 and "+y+" line 3: the same number") {
		t.Errorf("%v, want both files and lines named", err)
	}
}

// A damaged run is left out and named; the others are merged.
func TestMergeBad(t *testing.T) {
	a, into := t.TempDir(), filepath.Join(t.TempDir(), "all")
	resultstest.WriteRun(t, a, resultstest.Run{
		Table: "run", Method: "mifa", Seed: 3, Acc: []float64{0.1, 0.2},
		Status: results.RunComplete,
	})
	bad := resultstest.WriteRun(t, a, resultstest.Run{
		Table: "run", Method: "mifa", Seed: 4, Acc: []float64{0.1, 0.2},
		Status: results.RunComplete,
	})
	filestest.Append(t, filepath.Join(bad, results.CurveFile), "run,mifa")
	m, err := Merge(t.Context(), into, []string{a}, means)
	if err != nil || m.Runs != 1 {
		t.Errorf("%v, %d runs, want one", err, m.Runs)
	}
	resultstest.MustHold(t, m.Bad, filepath.Join(bad, results.CurveFile)+": line 4")
	if _, err := os.Stat(filepath.Join(into, "run", results.SummaryFile)); err == nil {
		t.Error("single runs got a summary, want none")
	}
}
