package many

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/metrics"
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
	w.Preset, w.Seeds, w.Rounds = "paper", []uint32{5}, &rounds
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
		{"fedar-2", Wanted{Data: []string{"cifar10"}, Methods: []string{"fedar", "mifa"}}, 2 * 2 * 7},
		{"fedar-3", Wanted{}, 4 * 7},
	} {
		t.Run(c.id, func(t *testing.T) {
			of := must.Get(papers.TableByID(c.id))(t)
			w := small(c.w, 4, "4")
			w.Seeds, w.Given = []uint32{5, 6}, append(w.Given, settings.Given{{Name: "eval-every", Value: "1"}}...)
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

// ToN's figure 1c, small: the generated pictures, which have the shape of CIFAR-10, stand in for it. Every method
// starts from PyTorch's weights: the loss of the initial model is the one of those weights, and near ln 10, since they
// make small scores; Kaiming's do not.
func TestCAFedF1c(t *testing.T) {
	longtest.Only(t, "a figure of many runs, small")
	if testing.Short() {
		t.Skip("a net of three million parameters is not for -short")
	}
	set := standIn(t, 64, 40)
	for _, c := range []struct {
		preset  string
		methods []string // nil: all
		lines   int
		seeds   []uint32
	}{
		{"paper", nil, 5, []uint32{1, 2}},
		{"code-no-momentum", []string{"adafed", "ca-fed"}, 2, []uint32{1}},
		{"code", []string{"ca-fed"}, 1, []uint32{1}},
	} {
		t.Run(c.preset, func(t *testing.T) {
			f := must.Get(papers.FigureByID("cafed-f1c"))(t)
			rounds := 1
			w := Wanted{
				Methods: c.methods, Preset: c.preset, Seeds: c.seeds, Rounds: &rounds,
				Given: settings.Given{{Name: "clients", Value: "4"}, {Name: "eval-every", Value: "1"}},
			}
			must.OK(t, w.Figure(&f))
			m := must.Get(poolOn(t, set).Measure(t.Context(), &f, &w))(t)
			if len(m.Lines) != c.lines {
				t.Fatalf("%d lines, want %d", len(m.Lines), c.lines)
			}
			for _, line := range m.Lines {
				for _, curve := range line.Curves {
					first := curve[0]
					want := initialLoss(t, set, models.Torch, first.Seed)
					if got := first.TestLoss.Value; len(curve) != 2 || math.Abs(got-want) > 1e-6*want {
						t.Errorf("%s, seed %d: %d rows, initial loss %g, want 2 and %g as from PyTorch's weights",
							line.Method, first.Seed, len(curve), got, want)
					}
				}
			}
			d := must.Get(f.Draw(m))(t)
			// Only a figure with both methods has the paper's claim about them.
			if n := reflect.ValueOf(d.Rows).Len(); n != 2*c.lines || d.Says == nil {
				t.Errorf("%d rows, claims %v, want %d and the claim", n, d.Says, 2*c.lines)
			}
		})
	}
	torch, kaiming := initialLoss(t, set, models.Torch, 1), initialLoss(t, set, models.Kaiming, 1)
	if math.Abs(torch-math.Ln10) > 0.02 || math.Abs(kaiming-math.Ln10) < 0.05 {
		t.Errorf("initial losses %g of PyTorch's weights and %g of Kaiming's, want ln 10 = 2.303 of the first alone",
			torch, kaiming)
	}
}

// initialLoss returns the test loss of cnn-cafed's initial weights.
func initialLoss(t *testing.T, set *datasets.Set, init models.Init, seed uint32) float64 {
	t.Helper()
	model := must.Get(models.New("cnn-cafed"))(t)
	engine := must.Get(cpu.Open(model, set.Train, set.Test, cpu.Options{Batch: 32, Threads: 1}))(t)
	defer engine.Close() // nothing is written
	bank := must.Get(engine.NewBank(1))(t)
	row := nets.Row{Bank: bank}
	must.OK(t, engine.Load(row, model.Init(init, seed)))
	answers := must.Get(engine.Evaluate(t.Context(), []nets.EvalJob{{Row: row, Part: nets.Test}}))(t)
	return answers[0].Loss
}

// Cells that are one and the same run train it once, whichever begins; a reference is known before its column is
// summarised. The summary is the same, however many runs are made at once.
func TestAtOnceSharedRuns(t *testing.T) {
	column := papers.Column{Data: "leaf", Availability: "stationary"}
	var cells []Cell
	for _, method := range []string{"fedavg-active", "mifa", "mifa", "fedavg-active", "fedvarp", "mifa"} {
		s := must.Get(settings.Defaults(method, "code", "leaf"))(t)
		s.Clients, s.Rounds, s.LocalSteps, s.Batch, s.EvalEvery = 4, 4, 1, 4, 1
		cells = append(cells, Cell{Settings: s, Column: column})
	}
	of := papers.Sweep("pairs", "Pairs", nil, []uint32{1, 2, 3})
	paired := must.Get(papers.TableByID("fedar-2"))(t)
	of.Entries, of.Reference = paired.Entries, "fedavg-active"
	want := ""
	for _, pack := range []int{1, 2, 5} {
		machine := run.Machine{Device: "cpu", Threads: 1, Out: t.TempDir(), AtOnce: pack}
		for _, again := range []bool{false, true} {
			var log bytes.Buffer
			pool := NewPool(&log, machine, Keep{Keep: run.Keep{Again: again}})
			made := must.Get(pool.Table(t.Context(), &of, cells))(t)
			must.OK(t, pool.Close())
			if n := strings.Count(log.String(), ": round 0/4"); n != 9 {
				t.Errorf("pack %d, again %t: %d runs begun, want 3 methods × 3 seeds:\n%s", pack, again, n, &log)
			}
			if n := strings.Count(log.String(), "3 finished runs kept\n"); n != 3 && !again {
				t.Errorf("pack %d: %d cells kept, want the three that others made:\n%s", pack, n, log.String())
			}
			p := map[string]int{}
			for _, row := range made.Rows {
				if row.Method != "fedavg-active" && row.Mean.Valid {
					p[string(row.Metric)]++
				}
			}
			// Three cells of mifa and one of fedvarp are asked for, which is what p_holm corrects for.
			if p[string(metrics.PSeeds)] != 4 || p[string(metrics.PHolm)] != 4 {
				t.Errorf("pack %d, again %t: %v, want a p-value of each cell of mifa and fedvarp", pack, again, p)
			}
			text := string(must.Get(os.ReadFile(made.Path))(t))
			if want == "" {
				want = text
			}
			if text != want {
				t.Errorf("pack %d, again %t: summary.csv\n%s\nwant\n%s", pack, again, text, want)
			}
		}
	}
}
