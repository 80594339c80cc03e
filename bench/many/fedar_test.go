package many

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// standIn returns so many generated pictures under the name of CIFAR-10, whose shape they have: its official files
// cannot be small.
func standIn(t *testing.T, train, test int) *datasets.Set {
	t.Helper()
	options := datasets.Options{Seed: 1, TrainSize: train, TestSize: test}
	set := must.Get(datasets.Open(t.Context(), "synthetic", options))(t)
	set.Name = "cifar10"
	return set
}

// poolOn returns a pool that has a data set open.
func poolOn(t *testing.T, set *datasets.Set) *Pool {
	t.Helper()
	p := NewPool(t.Output(),
		run.Machine{Device: "cpu", Threads: runtime.GOMAXPROCS(0), AtOnce: 1, Out: t.TempDir()}, Keep{})
	t.Cleanup(func() { p.Close() }) // the runs' errors are looked at
	p.Sessions[0].Lend(set)
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

// FedAR's tables, small: every method has a number for every entry, but FedAR no p-value against itself.
func TestSmallFedARTables(t *testing.T) {
	for _, c := range []struct {
		id   string
		w    Wanted
		rows int // methods × columns × entries
	}{
		{"fedar-2", Wanted{Data: []string{"cifar10"}, Methods: []string{"fedar", "mifa"}}, 2 * 2 * 5},
		{"fedar-3", Wanted{}, 4 * 7},
	} {
		t.Run(c.id, func(t *testing.T) {
			of := must.Get(papers.TableByID(c.id))(t)
			w := small(c.w, 4, "4")
			w.Seeds, w.Given = []uint{5, 6}, append(w.Given, settings.Given{{Name: "eval-every", Value: "1"}}...)
			cells := must.Get(Cells(&of, &w))(t)
			done, err := poolOn(t, standIn(t, 240, 240)).Table(t.Context(), &of, cells)
			if err != nil || done.Failed+done.Diverged > 0 || len(done.Rows) != c.rows {
				t.Fatalf("%v, %d cells failed, %d diverged, %d rows, want %d",
					err, done.Failed, done.Diverged, len(done.Rows), c.rows)
			}
			for _, r := range done.Rows {
				none := r.Method == "fedar" && strings.HasPrefix(string(r.Metric), "p_")
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

// FedAR's figures, small: rows for every line, and a drawing. Figure 5 has up to 120 clients of two classes: 24
// pictures of each class to train on and to test with are the fewest.
func TestSmallFedARFigures(t *testing.T) {
	longtest.Only(t, "every figure of the paper, small")
	two := []string{"fedar", "mifa"}
	for _, c := range []struct {
		id      string
		w       Wanted
		rounds  int
		clients string // empty: the figure has its own
		rows    int
	}{
		// Seven levels of staleness.
		{"fedar-f1", Wanted{}, 7, "2", 7 * 2},
		// Two p_min, rounds 0 and 2.
		{"fedar-f2", Wanted{Data: []string{"cifar10"}, Methods: two}, 2, "4", 2 * 2 * 2},
		// Four methods, 25 bins.
		{"fedar-f3", Wanted{}, 2, "4", 4 * 25},
		// Five p_min and five numbers of clients, loss and accuracy.
		{"fedar-f4", Wanted{Methods: two}, 1, "4", 5 * 2 * 2},
		{"fedar-f5", Wanted{Methods: two[:1]}, 1, "", 5 * 2},
	} {
		t.Run(c.id, func(t *testing.T) {
			if c.id == "fedar-f5" && testing.Short() {
				t.Skip("500 clients are not for -short")
			}
			f := must.Get(papers.FigureByID(c.id))(t)
			w := small(c.w, c.rounds, c.clients)
			must.OK(t, w.Figure(&f))
			m := must.Get(poolOn(t, standIn(t, 240, 240)).Measure(t.Context(), &f, &w))(t)
			d := must.Get(f.Draw(m))(t)
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
