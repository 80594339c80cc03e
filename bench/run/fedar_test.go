package run

import (
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// standIn returns a pool whose data set of that name is generated pictures, which have the shape of CIFAR-10: its
// official files cannot be small.
func standIn(t *testing.T, name string) *Pool {
	t.Helper()
	set, err := datasets.Open(t.Context(), "synthetic", datasets.Options{Seed: 1, TrainSize: 240, TestSize: 60})
	if err != nil {
		t.Fatal(err)
	}
	set.Name = name
	p := NewPool(io.Discard,
		Machine{Device: "cpu", Threads: runtime.GOMAXPROCS(0), AtOnce: 1, Out: t.TempDir()}, Keep{})
	t.Cleanup(func() { p.Close() }) //nolint:errcheck // the runs' errors are looked at
	// A user too many, so that the set stays open.
	p.Sessions[0].shared.sets = []*openSet{{name: name, set: set, users: 1}}
	return p
}

// small returns w with so many rounds, one seed and, unless they are empty, so many clients.
func small(w Wanted, rounds int, clients string) Wanted {
	w.Preset, w.Seeds, w.Rounds = "paper", []uint{5}, &rounds
	if clients != "" {
		w.Given = settings.Given{{Name: "clients", Value: clients}}
	}
	return w
}

// FedAR's tables, small: every method has all entries. Of one seed there is no p-value by seeds, and none of FedAR
// against itself.
func TestSmallFedARTables(t *testing.T) {
	for _, c := range []struct {
		id   string
		w    Wanted
		rows int // methods × columns × entries
	}{
		{"fedar-2", Wanted{Data: []string{"cifar10"}, Methods: []string{"fedar", "mifa"}}, 2 * 2 * 4},
		{"fedar-3", Wanted{}, 4 * 7},
	} {
		t.Run(c.id, func(t *testing.T) {
			of, err := papers.TableByID(c.id)
			if err != nil {
				t.Fatal(err)
			}
			w := small(c.w, 2, "4")
			cells, err := Cells(&of, &w)
			if err != nil {
				t.Fatal(err)
			}
			done, err := standIn(t, "cifar10").Table(t.Context(), &of, cells)
			if err != nil || done.Failed+done.Diverged > 0 || len(done.Rows) != c.rows {
				t.Fatalf("%v, %d cells failed, %d diverged, %d rows, want %d",
					err, done.Failed, done.Diverged, len(done.Rows), c.rows)
			}
			for _, r := range done.Rows {
				none := r.Metric == metrics.PSeeds || r.Metric == metrics.PRounds && r.Method == "fedar"
				if r.Status != results.CellOK || r.Mean.Valid == none {
					t.Errorf("%+v: want a number: %t", r, !none)
				}
			}
			// The command reads what it prints and keeps from this file.
			kept, err := results.ReadSummary(done.Path)
			if err != nil || len(kept) != c.rows {
				t.Errorf("%s: %d rows, %v, want %d", done.Path, len(kept), err, c.rows)
			}
		})
	}
}

// FedAR's figures, small: rows for every line, and a drawing.
func TestSmallFedARFigures(t *testing.T) {
	two := []string{"fedar", "mifa"}
	for _, c := range []struct {
		id      string
		w       Wanted
		rounds  int
		clients string // empty: the figure has its own
		rows    int
	}{
		{"fedar-f1", Wanted{}, 7, "2", 7 * 2},                                            // seven levels of staleness
		{"fedar-f2", Wanted{Data: []string{"cifar10"}, Methods: two}, 2, "4", 2 * 2 * 3}, // two p_min, rounds 0 to 2
		{"fedar-f3", Wanted{}, 2, "4", 4 * 25},                                           // four methods, 25 bins
		{"fedar-f4", Wanted{Methods: two}, 1, "4", 5 * 2 * 2},                            // five p_min, loss and accuracy
		{"fedar-f5", Wanted{Methods: two[:1]}, 1, "", 5 * 2},
	} {
		t.Run(c.id, func(t *testing.T) {
			f, err := papers.FigureByID(c.id)
			if err != nil {
				t.Fatal(err)
			}
			w := small(c.w, c.rounds, c.clients)
			if err := w.Figure(&f); err != nil {
				t.Fatal(err)
			}
			m, err := standIn(t, "cifar10").Measure(t.Context(), &f, &w)
			if err != nil {
				t.Fatal(err)
			}
			d, err := f.Draw(m)
			if err != nil {
				t.Fatal(err)
			}
			if n := reflect.ValueOf(d.Rows).Len(); n != c.rows {
				t.Errorf("%d rows, want %d", n, c.rows)
			}
			var svg strings.Builder
			if err := d.Figure.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "<path") {
				t.Errorf("%v in %d bytes, want a drawing", err, svg.Len())
			}
		})
	}
}
