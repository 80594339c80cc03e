package algos

import (
	"slices"
	"testing"

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

// Momentum belongs to the client and lasts from one of its rounds to the next.
func TestMomentumPersists(t *testing.T) {
	f, _ := toyFederation(8, 0)
	f.Momentum = 0.5
	m := start(t, "fedavg-active", f, Options{Preset: Paper})
	// Client 1 has its own v = 4; client 0 then has v = 0.5·(−8) + (2 − 8) = −10.
	for r, want := range []float64{4, 2, 7} {
		must.Get(m.Round(t.Context(), at(r, f, 1, r%2)))(t)
		if got := model(t, m, f); !near(got, want, toyTol) {
			t.Errorf("round %d: model %v, want %v ± %g", r, got, scaled(want), toyTol)
		}
	}
}

// A sum of one term is skipped only where it changes nothing: 1·w into w.
func TestSetOneTerm(t *testing.T) {
	f, e := toyFederation(8)
	s := &server{Federation: f}
	rows := must.Get(s.rows(2))(t)
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
