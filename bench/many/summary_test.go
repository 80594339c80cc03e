package many

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// finishedRun writes a run of no training.
func finishedRun(t *testing.T, out string, seed uint32) (dir string) {
	t.Helper()
	settings := map[string]any{
		"method": "mifa", "preset": "code", "data": "leaf", "net": "n", "availability": "sine", "clients": 4,
		"rounds": 1, "eval-every": 1, "eval-train": true,
	}
	cell := results.Setup{
		Table: "t", Method: "mifa", Preset: "code", Data: "leaf", Net: "n", Availability: "sine", Clients: 4,
	}
	dir = filepath.Join(out, "t", results.CellFolder(cell, results.Hash(settings)), fmt.Sprintf("seed-%d", seed))
	var rows []results.CurveRow
	for round := range 2 {
		x := files.Some(float64(round)/4 + float64(seed)/100)
		rows = append(rows, results.CurveRow{
			Setup: cell, Seed: seed, Round: round, TrainLoss: x, TrainAcc: x, TestLoss: x, TestAcc: x,
		})
	}
	must.OK(t, results.WriteCurve(filepath.Join(dir, results.CurveFile), rows))
	info := results.RunInfo{Status: results.RunComplete, Rounds: 1, Settings: settings, Seed: seed}
	must.OK(t, results.WriteRunInfo(filepath.Join(dir, results.RunFile), info, nil))
	return dir
}

// A run that another process finishes meanwhile is in the summary, which may replace that of the other process.
func TestSummaryOfRunsThatEndMeanwhile(t *testing.T) {
	out := t.TempDir()
	finishedRun(t, out, 3)
	damaged := finishedRun(t, out, 4)
	must.OK(t, os.WriteFile(filepath.Join(damaged, results.RunFile), nil, 0o666))
	var log strings.Builder
	// When the damaged one is named, the others have been read.
	named := onText{&log, damaged, func() { finishedRun(t, out, 5) }}
	p := &Pool{Sessions: []*run.Session{{Machine: run.Machine{Out: out}}}, Stderr: named}
	table := papers.Sweep("t", "", nil, nil)
	must.OK(t, p.summary(&table, nil).write(t.Context()))
	rows, err := results.ReadSummary(filepath.Join(out, "t", results.SummaryFile))
	if err != nil || len(rows) != 2 || rows[0].N != 2 {
		t.Errorf("%+v, %v, want two metrics of seeds 3 and 5", rows, err)
	}
	if !strings.Contains(log.String(), results.RunFile) {
		t.Errorf("%q, want the damaged run named", log.String())
	}
}

// onText calls a function when a text is written.
type onText struct {
	io.Writer
	text string
	do   func()
}

func (w onText) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.do()
	}
	return w.Writer.Write(p)
}

// A table whose summary cannot be written for a while goes on.
func TestSummaryGoesOn(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "sweep", results.SummaryFile)
	must.OK(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o777)) // a folder, which nobody replaces
	var log strings.Builder
	p := NewPool(onText{&log, "the table continues", func() { _ = os.RemoveAll(path) }},
		run.Machine{Device: "cpu", Threads: 1, Out: out, AtOnce: 1}, Keep{})
	defer func() { _ = p.Close() }()
	table := papers.Sweep("sweep", "", []string{"fedawe", "mifa"}, []uint32{3})
	var cells []Cell
	for _, method := range []string{"fedawe", "mifa"} {
		s := settingstest.Tiny(t, "method="+method)
		cells = append(cells, Cell{Settings: s, Column: papers.Column{Data: "leaf"}})
	}
	done, err := p.Table(t.Context(), &table, cells)
	if err != nil || done.Failed > 0 {
		t.Fatalf("%v, %d failed, want none\n%s", err, done.Failed, &log)
	}
	rows, err := results.ReadSummary(path)
	if err != nil || len(rows) != 4 {
		t.Errorf("%d rows, %v, want those of two metrics of two cells\n%s", len(rows), err, &log)
	}
	if strings.Count(log.String(), "the table continues") != 1 {
		t.Errorf("log %q, want the trouble once", &log)
	}
}
