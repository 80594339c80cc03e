package algos

import (
	"math"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// unequal returns a federation of five clients whose importances differ, with its engine.
func unequal() (Federation, *toy) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.Importance = []float64{0.4, 0.3, 0.15, 0.1, 0.05}
	return f, e
}

// statistic returns the running statistic of the model that a method would have evaluated.
func statistic(t checker, m Method, e *toy) float64 {
	t.Helper()
	row := must.Get(m.Model())(t)
	return float64(*e.running(row))
}

// averaged returns Σ α_i b_i / Σ α_i over clients.
func averaged(f Federation, clients []int, b func(i int) float64) float64 {
	sum, total := 0.0, 0.0
	for _, i := range clients {
		sum, total = sum+f.Importance[i]*b(i), total+f.Importance[i]
	}
	return sum / total
}

// nearStatistic reports whether two running statistics, of at most 400, are equal but for the rounding of float32: of
// five products and their sum in each of 40 rounds, of which later rounds forget the half.
func nearStatistic(got, want float64) bool { return math.Abs(got-want) <= 2e-4 }

// After every round, the running statistics of the model are the mean over the clients whose update has just entered
// it, weighted by their importance. Nothing else that a method does touches them: not weights that do not sum to 1, not
// η_g, not momentum, not a memory. Where there is no step, or nobody takes part, they stay. (Of [OwnModels] see
// TestBuffersOfFedAWE.)
func runningStatistics(t checker, name string, o Options) {
	if Has(name, OwnModels) {
		return
	}
	f, e := unequal()
	m := start(t, name, f, o)
	w0 := model(t, m, f)
	want, moved, steps := 0.0, 0, false // mifa-wait makes no step until all clients were active
	for _, r := range trace(f, 40) {
		r.ServerLR = 1.5
		must.Get(m.Round(t.Context(), r))(t)
		steps = steps || !slices.Equal(model(t, m, f), w0)
		if clients := taken(m, r); len(clients) > 0 && steps {
			old := float32(want)
			want = averaged(f, clients, func(i int) float64 { return float64(stepRunning(old, i)) })
			moved++
		}
		if got := statistic(t, m, e); !nearStatistic(got, want) {
			t.Fatalf("round %d, clients %v of %v: running statistic %g, want %g", r.T, taken(m, r), r.Active, got, want)
		}
	}
	if moved < 20 {
		t.Errorf("running statistics moved in %d of 40 rounds, want at least 20", moved)
	}
}

// FedAWE: x̄ has the mean of the running statistics of the active clients, absent clients keep theirs, and the
// evaluated model has the mean over all clients, or the running statistics of x̄.
func TestBuffersOfFedAWE(t *testing.T) {
	for _, preset := range []Preset{Code, Paper} {
		for _, of := range []string{"mean", "last"} {
			f, e := unequal()
			m := start(t, "fedawe", f, withValues(preset, "fedawe-model", of))
			b, last := make([]float64, f.N), 0.0
			for _, r := range trace(f, 40) {
				r.ServerLR = 1.5
				must.Get(m.Round(t.Context(), r))(t)
				if len(r.Active) > 0 {
					last = averaged(f, r.Active, func(i int) float64 { return float64(stepRunning(float32(b[i]), i)) })
				}
				for _, i := range r.Active {
					b[i] = last
				}
				want := last
				if of == "mean" {
					want = 0
					for _, x := range b {
						want += x / float64(f.N)
					}
				}
				if got := statistic(t, m, e); !nearStatistic(got, want) {
					t.Fatalf("%s, %s, round %d, clients %v: running statistic %g, want %g",
						preset, of, r.T, r.Active, got, want)
				}
			}
		}
	}
}

// The weights are the same, bit for bit, whatever the running statistics are.
func statisticsAreNoWeights(t checker, name string, o Options) {
	f, e := unequal()
	rounds := trace(f, 40)
	want := play(t, start(t, name, f, o), f, rounds)
	m := start(t, name, f, o)
	for _, b := range e.banks {
		for i := range b.running {
			b.running[i] = float32(math.NaN())
		}
	}
	for r, got := range play(t, m, f, rounds) {
		if !slices.Equal(got, want[r]) {
			t.Fatalf("round %d: weights %v, want %v as with other running statistics", r, got, want[r])
		}
	}
}

// Clients without importance do not move the running statistics, and alone leave them as they are.
func TestBuffersWithoutImportance(t *testing.T) {
	f, e := unequal()
	f.Importance = []float64{0, 0, 0.5, 0.25, 0.25}
	m := start(t, "fedavg-active", f, Options{Preset: Code})
	for r, c := range []struct {
		active []int
		want   float64
	}{{[]int{1, 2}, 100}, {[]int{0, 1}, 100}, {[]int{3, 4}, 225}} {
		must.Get(m.Round(t.Context(), at(r, f, 1, c.active...)))(t)
		if got := statistic(t, m, e); got != c.want {
			t.Errorf("round %d, clients %v: running statistic %g, want %g", r, c.active, got, c.want)
		}
	}
}

// The models of coalitions have the running statistics of the clients in the set that have just trained, and the ones
// of w where there is none.
func TestBuffersOfCoalitions(t *testing.T) {
	f, e := unequal()
	rows, free := must.Get2(Coalitions(t.Context(), f, make([]float32, 2), 1, 0, func(int) float64 { return 0.5 }))(t)
	defer free()
	for set, row := range rows {
		var clients []int
		for i := range f.N {
			if set>>i&1 == 1 {
				clients = append(clients, i)
			}
		}
		want := 0.0
		if len(clients) > 0 {
			want = averaged(f, clients, func(i int) float64 { return float64(stepRunning(0, i)) })
		}
		if got := float64(*e.running(row)); !nearStatistic(got, want) {
			t.Errorf("clients %v: running statistic %g, want %g", clients, got, want)
		}
	}
}
