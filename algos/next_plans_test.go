package algos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
)

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
