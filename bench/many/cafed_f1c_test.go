package many

import (
	"math"
	"reflect"
	"testing"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/models"
	"rollcall/results/papers"
)

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
		seeds   []uint
	}{
		{"paper", nil, 5, []uint{1, 2}},
		{"code-no-momentum", []string{"adafed", "ca-fed"}, 2, []uint{1}},
		{"code", []string{"ca-fed"}, 1, []uint{1}},
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
