package many

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/must"
	"rollcall/results"
)

// All cells of a sweep start from the weights, and the path stands in no cell's own settings.
func TestSweepInitFrom(t *testing.T) {
	out := t.TempDir()
	x := run.Experiment{
		Dir: filepath.Join(out, "run"), Seed: 3, SaveModel: run.SaveOne,
		Settings: settingstest.Tiny(t, "data=synthetic", "net=lenet5", "train-size=80", "test-size=20", "rounds=1"),
	}
	session := &run.Session{Machine: run.Machine{Device: "cpu", Threads: 1, Out: out}, Stderr: io.Discard}
	defer session.Close() // nothing is written
	must.Get(x.Do(t.Context(), session, run.Keep{}, progress.New(io.Discard).Run("", progress.Work{})))(t)
	path := filepath.Join(x.Dir, results.ModelFile)
	w := Sweep{
		Name: "s", Like: "fedawe", Methods: []string{"mifa", "fedar"}, Data: []string{"synthetic"},
		Nets: []string{"lenet5"}, Availability: []string{"sine"}, Seeds: []uint32{3},
		Given: settings.Given{{Name: "init-from", Value: path}},
	}
	table, cells, err := w.Cells()
	if err != nil || len(cells) != 2 {
		t.Fatalf("%d cells, %v, want two", len(cells), err)
	}
	for _, c := range cells {
		if len(c.Settings.InitSum) != 64 || c.Settings.InitSum != cells[0].Settings.InitSum {
			t.Errorf("%s: checksum %q, want that of %s", c.Settings.Method, c.Settings.InitSum, path)
		}
	}
	for _, column := range table.Columns {
		if base := column.Base; !slices.Contains(base.Names(), "init-from") || base.Get("init-from") != "" {
			t.Errorf("settings alike in all: %s, want init-from among them, without the path", base)
		}
	}
}
