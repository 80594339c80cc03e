package algos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
)

// N memories and N end rows are the most any method needs, and few more.
func TestMemory(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8, 0, 3)
		m := start(t, name, f, o)
		play(t, m, f, trace(f, 60))
		play(t, m, f, []Round{at(60, f, 1, 0, 1, 2, 3, 4)})
		if got, want := e.rows(), 2*f.N+4; got > want {
			t.Errorf("%d rows after 61 rounds of %d clients, want at most %d", got, f.N, want)
		}
	})
}

// A sum of one term is skipped only where it changes nothing: 1·w into w.
func TestSetOneTerm(t *testing.T) {
	f, e := toyFederation(8)
	s := &server{Federation: f}
	rows := must.Get(s.Rows(2))(t)
	for _, c := range []struct {
		name string
		dst  nets.Row
		c    float64
		want float32
	}{
		{"1·w into w", rows[0], 1, 6},
		{"w/2 into w", rows[0], 0.5, 3},
		{"1·w into another", rows[1], 1, 6},
		{"nothing into w", rows[0], 0, 0},
	} {
		e.at(rows[0])[0] = 6
		var sum terms
		sum.add(c.c, rows[0])
		must.OK(t, s.set(c.dst, sum))
		if got := e.at(c.dst)[0]; got != c.want {
			t.Errorf("%s: %g, want %g exactly", c.name, got, c.want)
		}
	}
}

// A method may ask for other numbers of steps, and train clients twice in a round: their epochs continue behind them.
func TestStepsAskedFor(t *testing.T) {
	f, e := toyFederation(8, 16)
	f.Planner.Parts = [][]int32{{0, 1, 2}, {3, 4, 5, 6, 7, 8}}
	b := NewBase(f)
	defer b.Close()
	rows := must.Get(b.Rows(2))(t)
	read := [2][]int32{}
	for call := range 2 {
		next := at(0, f, 1, 0, 1)
		next.Next = next.Active
		must.Get(b.Train(t.Context(), next, Training{
			Clients: next.Active, Start: rows, End: rows, LR: next.LR, Steps: []int{1, 3},
		}))(t)
		for i, c := range e.work[call].Clients {
			if want := []int{1, 3}[i]; c.Plan.E != want {
				t.Errorf("call %d: client %d makes %d steps, want %d", call, i, c.Plan.E, want)
			}
			read[i] = append(read[i], c.Plan.Index...)
		}
	}
	slices.Sort(read[1])
	if len(read[0]) != 2 || read[0][0] == read[0][1] || !slices.Equal(read[1], f.Planner.Parts[1]) {
		t.Errorf("read %v, want two samples of client 0 and each of client 1's once", read)
	}
}

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

// What a method hears of the next round, be it true or not, changes neither what is trained nor the model.
func TestHintChangesNothing(t *testing.T) {
	hints := map[string]func(rounds []Round, r int) []int{
		"true":      func(rounds []Round, r int) []int { return rounds[min(r+1, len(rounds)-1)].Active },
		"everybody": func([]Round, int) []int { return []int{0, 1, 2, 3, 4} },
		"wrong":     func(rounds []Round, r int) []int { return rounds[max(r-1, 0)].Active },
	}
	forAll(t, func(t *testing.T, name string, o Options) {
		run := func(hint func([]Round, int) []int) ([][]float32, []nets.LocalWork) {
			f, e := toyFederation(8, 16, -8, 0, 3)
			rounds := trace(f, 20)
			if hint != nil {
				for r := range rounds {
					rounds[r].Next = hint(rounds, r)
				}
			}
			return play(t, start(t, name, f, o), f, rounds), e.work
		}
		models, work := run(nil)
		for hint, next := range hints {
			gotModels, gotWork := run(next)
			for r := range models {
				if !slices.Equal(gotModels[r], models[r]) {
					t.Fatalf("%s: round %d: model %v, without a hint %v, want the same bits",
						hint, r, gotModels[r], models[r])
				}
			}
			if len(gotWork) != len(work) {
				t.Fatalf("%s: trained %d times, without a hint %d", hint, len(gotWork), len(work))
			}
			for r, w := range work {
				for k, c := range w.Clients {
					if got := gotWork[r].Clients[k]; got.Client != c.Client ||
						!slices.Equal(got.Plan.Index, c.Plan.Index) {
						t.Fatalf("%s: training %d: client %d on %v, without a hint client %d on %v",
							hint, r, got.Client, got.Plan.Index, c.Client, c.Plan.Index)
					}
				}
			}
		}
	})
}

// While a round trains, the plans of the next are made, of clients
// that train now for the steps after these; the next round takes them.
func TestNextPlans(t *testing.T) {
	f, e := toyFederation(8, 16, -8)
	m := start(t, "fedavg-active", f, Options{Preset: Code})
	s := m.(*checked).Method.(stateful).method.(*fedAvgActive).server
	first := at(0, f, 1, 0, 1)
	first.Next = []int{1, 2}
	must.Get(m.Round(t.Context(), first))(t)
	want := map[planKey]plan.Local{{1, 1, 1, 1}: f.Planner.Client(1, 1, 1), {1, 2, 0, 1}: f.Planner.Client(1, 2, 0)}
	if got, want := fmt.Sprint(s.nextPlans.plans), fmt.Sprint(want); got != want {
		t.Fatalf("made early: %s, want %s", got, want)
	}
	marked := s.nextPlans.plans[planKey{1, 2, 0, 1}]
	marked.Index[0] = 99 // marks it: a new one would not have it
	must.Get(m.Round(t.Context(), at(1, f, 1, 1, 2)))(t)
	if got := e.work[1].Clients[1].Plan.Index[0]; got != 99 {
		t.Errorf("client 2 trained on sample %d, want the plan that was made early", got)
	}
}

// Nothing is left running, nor made use of, when training fails.
func TestNextPlansEnd(t *testing.T) {
	f, e := toyFederation(8, 16)
	m := start(t, "fedavg-active", f, Options{Preset: Code})
	e.failing = errors.New("out of order")
	r := at(0, f, 1, 0)
	r.Next = []int{0, 1}
	if _, err := m.Round(t.Context(), r); !errors.Is(err, e.failing) {
		t.Errorf("got %v, want %v", err, e.failing)
	}
	if s := m.(*checked).Method.(stateful).method.(*fedAvgActive).server; len(s.nextPlans.plans) != 2 {
		t.Error("plans are still being made")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	var n nextPlans
	n.begin(stopped, f.Planner, []planKey{{0, 0, 0, 1}})
	if n.making.Wait(); len(n.plans) != 0 {
		t.Errorf("%d plans made after the end of the context, want none", len(n.plans))
	}
}
