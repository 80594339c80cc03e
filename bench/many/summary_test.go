package many

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/run"
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

// onWrite does something once, when something is said.
type onWrite struct {
	bytes.Buffer
	do func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return w.Buffer.Write(p)
}

// A run that another process finishes while the summary is made is in it: the other's own summary may be the one that
// this one replaces.
func TestSummaryOfRunsThatEndMeanwhile(t *testing.T) {
	out := t.TempDir()
	finishedRun(t, out, 3)
	damaged := finishedRun(t, out, 4)
	must.OK(t, os.WriteFile(filepath.Join(damaged, results.RunFile), nil, 0o666))
	// when the damaged one is told: the others have been read then
	log := &onWrite{do: func() { finishedRun(t, out, 5) }}
	p := &Pool{Sessions: []*run.Session{{Machine: run.Machine{Out: out}}}, Stderr: log}
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
