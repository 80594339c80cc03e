package many

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// All cells of a sweep start from the weights, and the path stands in no cell's own settings.
func TestSweepInitFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	model := must.Get(models.New("lenet5"))(t)
	must.OK(t, files.WriteFile(path, func(out io.Writer) error {
		return safetensors.Write(out, nil, settings.Tensors(model, model.Init(models.Torch, 1)))
	}))
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

// In CA-Fed's preset each of the five methods trains alike by itself and in a sweep, whichever of them it is like.
func TestSweepLikeCAFed(t *testing.T) {
	methods := []string{"unbiased", "more-available", "adafed", "f3ast", "ca-fed"}
	for _, like := range methods {
		w := Sweep{
			Name: "s", Like: like, Methods: methods, Data: []string{"leaf", "binary", "mnist", "cifar10"},
			Availability: []string{"markov"}, Seeds: []uint32{3},
			Given: settings.Given{{Name: "preset", Value: "code-no-momentum"}},
		}
		_, cells, err := w.Cells()
		if err != nil || len(cells) != 20 {
			t.Fatalf("like %s: %d cells, %v, want 20", like, len(cells), err)
		}
		for _, c := range cells {
			alone := must.Get(settings.Defaults(c.Settings.Method, "code-no-momentum", c.Settings.Data))(t)
			alone.Availability = "markov"
			if results.Hash(c.Settings) != results.Hash(alone) {
				t.Errorf("like %s: %s on %s with %s, want the defaults of a run", like, c.Settings.Method,
					c.Settings.Data, c.Settings.Params())
			}
		}
	}
}

// crossedCells returns the cells of a crossed sweep under stationary availability.
func crossedCells(q int, seeds []uint32, given settings.Given, methods ...string) ([]Cell, error) {
	w := Sweep{
		Name: "sweep", Like: "fedawe", Methods: methods, Data: []string{"leaf"},
		Availability: []string{"stationary"}, Seeds: seeds, Crossed: &q, Given: given,
	}
	_, cells, err := w.Cells()
	return cells, err
}

// Any two seeds of two parts of the draws meet in exactly one run of a method, whatever the number of seeds.
func TestCrossed(t *testing.T) {
	for _, q := range []int{5, 7, 11, 13, 17, 19, 23, 29, 31} {
		cells := must.Get(crossedCells(q, []uint32{3}, nil, "mifa", "fedavg-active"))(t)
		if len(cells) != 2*q*q {
			t.Fatalf("%d seeds: %d runs, want %d", q, len(cells), 2*q*q)
		}
		folders, met := map[string]bool{}, map[string]int{}
		for _, c := range cells {
			folders[results.Hash(c.Settings)] = true
			seeds := c.Settings.Params().Only(settings.SeedNames()...)
			if c.Column.Set != seeds || len(seeds.Names()) != 5 {
				t.Fatalf("column %q, seeds %q, want five of them in both", c.Column.Set, seeds)
			}
			for i, a := range seeds.Names() {
				for _, b := range seeds.Names()[:i] {
					met[fmt.Sprint(c.Settings.Method, a, seeds.Get(a), b, seeds.Get(b))]++
				}
			}
			for _, value := range seeds.All() {
				var seed int
				if _, err := fmt.Sscan(value, &seed); err != nil || seed < 3 || seed >= 3+q {
					t.Fatalf("seed %q, want 3 … %d", value, 2+q)
				}
			}
		}
		if len(folders) != len(cells) {
			t.Errorf("%d seeds: %d folders, want one for each of %d runs", q, len(folders), len(cells))
		}
		if want := 2 * 10 * q * q; len(met) != want { // 10 pairs of parts, each run has one pair of seeds of each
			t.Errorf("%d seeds: %d pairs of seeds meet, want all %d", q, len(met), want)
		}
		for pair, n := range met {
			if n != 1 {
				t.Fatalf("%d seeds: %s meet %d times, want once", q, pair, n)
			}
		}
	}
}

// A seed that is given is the same in all runs, and the others are crossed.
func TestCrossedButGiven(t *testing.T) {
	sets := slices.Concat(given("seed-init", "7"), given("p", "0.5"))
	cells := must.Get(crossedCells(5, []uint32{100}, sets, "mifa"))(t)
	met := map[results.Params]bool{}
	for _, c := range cells {
		seeds := c.Settings.Params().Only(settings.SeedNames()...)
		if seeds.Get("seed-init") != "7" || seeds.Get("seed-phi") != "" {
			t.Fatalf("seeds %q, want 7 of the weights and none of φ, which nobody reads", seeds)
		}
		met[seeds.Only("seed-split", "seed-availability")] = true
	}
	if len(cells) != 25 || len(met) != 25 {
		t.Errorf("%d runs with %d pairs of split and availability, want 25", len(cells), len(met))
	}
	// Without --crossed, a run of which all seeds are given has one seed at most.
	w := Sweep{
		Name: "sweep", Like: "fedawe", Methods: []string{"mifa"}, Data: []string{"leaf"},
		Availability: []string{"stationary"}, Seeds: []uint32{3},
	}
	for _, name := range settings.SeedNames() {
		w.Given = append(w.Given, given(name, "7")...)
	}
	if _, _, err := w.Cells(); err != nil {
		t.Errorf("all seeds given and one of --seeds: %v, want no error", err)
	}
}
