package algos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/algos/availability"
	"rollcall/nets"
)

// forAll runs a test on every method, in both presets, and as
// CA-Fed's code has it with estimates in place of the oracle.
func forAll(t *testing.T, test func(t *testing.T, name string, o Options)) {
	for _, name := range Names() {
		for _, preset := range []Preset{Code, Paper} {
			t.Run(fmt.Sprintf("%s/%s", name, preset), func(t *testing.T) { test(t, name, Options{Preset: preset}) })
		}
		t.Run(name+"/ca-fed's code", func(t *testing.T) {
			o := with(Options{Preset: Code}, name, "f3ast-beta", "0.025", "f3ast-limit", "45",
				"f3ast-memoryless", "true")
			test(t, name, with(o, name, "prior", "10", "server-momentum", "0.9", "server-weight-decay", "0.01"))
		})
	}
}

// trace returns the rounds of a run of n clients, an empty one first and every seventh.
func trace(f Federation, rounds int) []Round {
	all := make([]Round, rounds)
	for t := range all {
		all[t] = at(t, f, 1)
		if t%7 != 0 {
			all[t].Active = availability.Draw(f.P, 5, t)
		}
	}
	return all
}

// taken returns the clients of r that the method took: all active ones, but those it says it left out.
func taken(m Method, r Round) []int {
	d := m.Inspect()
	if d == nil {
		return r.Active
	}
	return slices.DeleteFunc(slices.Clone(r.Active), func(i int) bool { return !d.Included[i] })
}

// play runs the rounds and returns the model after each.
func play(t *testing.T, m Method, f Federation, rounds []Round) (models [][]float32) {
	t.Helper()
	for _, r := range rounds {
		loss, err := m.Round(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(taken(m, r)); len(loss) != n {
			t.Fatalf("round %d: %d losses, want %d", r.T, len(loss), n)
		}
		models = append(models, model(t, m, f))
	}
	return models
}

func TestInitialModel(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, _ := toyFederation(8, 16, -8)
		w0 := []float32{0.1, -0.3}
		m, err := New(name, f, w0, o)
		if err != nil {
			t.Fatal(err)
		}
		for r := range 3 { // and rounds without clients leave it
			if got := model(t, m, f); !slices.Equal(got, w0) {
				t.Errorf("before round %d: model %v, want %v exactly", r, got, w0)
			}
			if loss, err := m.Round(t.Context(), at(r, f, 1)); err != nil || len(loss) != 0 {
				t.Errorf("empty round %d: %v, %v, want no loss and no error", r, loss, err)
			}
		}
	})
}

// The same rounds give the same bits, whatever ran on the Federation before; models and losses stay finite.
func TestDeterministic(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, _ := toyFederation(8, 16, -8, 0, 3)
		rounds := trace(f, 40)
		first := play(t, start(t, name, f, o), f, rounds)
		second := play(t, start(t, name, f, o), f, rounds)
		for r := range first {
			if !slices.Equal(first[r], second[r]) {
				t.Fatalf("round %d: %v, then %v, want the same bits", r, first[r], second[r])
			}
			for _, w := range first[r] {
				if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
					t.Fatalf("round %d: model %v, want finite", r, first[r])
				}
			}
		}
		if slices.Equal(first[0], first[39]) {
			t.Errorf("model %v after 40 rounds, as at the start", first[39])
		}
	})
}

// A client that is never there must not matter: not what it holds, not when asking for the model between rounds.
func TestAbsentClientsDoNotMatter(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8, 0, 3)
		f.P[3] = 0
		rounds := trace(f, 30)
		want := play(t, start(t, name, f, o), f, rounds)
		e.u[3] = scaled(math.NaN())
		m := start(t, name, f, o)
		for r := range rounds {
			if _, err := m.Round(t.Context(), rounds[r]); err != nil {
				t.Fatal(err)
			}
			if r%5 == 4 {
				if got := model(t, m, f); !slices.Equal(got, want[r]) {
					t.Fatalf("round %d: model %v, want %v exactly", r, got, want[r])
				}
			}
		}
	})
}

// The engine is asked for the active clients alone, in their order and with the federation's settings, and the losses
// are those it reports.
func TestTrainsTheActive(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8, 0, 3)
		clip := 0.7
		f.Clip, f.WeightDecay, f.Seed = &clip, 0.01, 77
		m := start(t, name, f, o)
		for _, r := range trace(f, 20) {
			e.work = nil
			before := model(t, m, f)
			loss, err := m.Round(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			want := taken(m, r)
			if len(want) == 0 {
				if len(e.work) != 0 {
					t.Errorf("round %d: trained %v, want nobody", r.T, e.work)
				}
				continue
			}
			if len(e.work) != 1 {
				t.Fatalf("round %d: %d calls of Train, want 1", r.T, len(e.work))
			}
			w, clients := e.work[0], []int{}
			for _, c := range w.Clients {
				clients = append(clients, c.Client)
			}
			if !slices.Equal(clients, want) {
				t.Errorf("round %d: trained %v, want %v", r.T, clients, want)
			}
			if w.Round != r.T || w.LR != r.LR || w.Seed != 77 || w.WeightDecay != 0.01 || w.Momentum != 0 ||
				w.Clip == nil || *w.Clip != clip {
				t.Errorf("round %d: work %+v, want the round's and the federation's settings", r.T, w)
			}
			for k, i := range clients {
				if drift := name == "scaffold"; !w.Clients[k].Momentum.IsNone() ||
					w.Clients[k].Drift.IsNone() == drift {
					t.Errorf("round %d: client %d: momentum row %t, drift row %t, want false, %t",
						r.T, i, !w.Clients[k].Momentum.IsNone(), !w.Clients[k].Drift.IsNone(), drift)
				}
				if name == "fedawe" {
					continue // starts from its own model
				}
				dx, dy := float64(before[0])-e.u[i][0], float64(before[1])-e.u[i][1]
				if want := (dx*dx + dy*dy) / 2; math.Abs(float64(loss[k])-want) > 1e-5*want { // float32
					t.Errorf("round %d: client %d: loss %g, want %g ± 1e-5 of it", r.T, i, loss[k], want)
				}
			}
		}
	})
}

// A client's epochs go on where its own last round ended: client 1 holds 6 samples and reads 2 a round (E = 2, B = 1),
// so its first three participations see each sample once, its next three again, whatever the others do meanwhile.
func TestEpochsGoOn(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8)
		o = with(with(o, name, keepAll...), name, "fedavg-s-limit", "3")
		f.Planner.Parts[1] = []int32{10, 11, 12, 13, 14, 15}
		f.Planner.E = 2
		m := start(t, name, f, o)
		var read []int32
		for r, active := range [][]int{{0, 1}, {0}, {1}, {}, {0, 2}, {0, 1, 2}, {1}, {2}, {1}, {0, 1}} {
			e.work = nil
			if _, err := m.Round(t.Context(), at(r, f, 1, active...)); err != nil {
				t.Fatal(err)
			}
			for _, w := range e.work {
				for _, c := range w.Clients {
					if c.Client == 1 {
						read = append(read, c.Plan.Index...)
					}
				}
			}
		}
		if len(read) != 12 {
			t.Fatalf("client 1 read %v, want 12 samples", read)
		}
		for epoch := range 2 {
			got := slices.Sorted(slices.Values(read[6*epoch : 6*epoch+6]))
			if !slices.Equal(got, f.Planner.Parts[1]) {
				t.Errorf("epoch %d: %v, want every one of %v once", epoch, got, f.Planner.Parts[1])
			}
		}
	})
}

func TestSingleClient(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, _ := toyFederation(8)
		f.P[0] = 1
		o = with(o, name, "fedawe-clip", "none", "server-momentum", "0", "server-weight-decay", "0")
		m := start(t, name, f, o)
		for r := range 30 {
			if _, err := m.Round(t.Context(), at(r, f, 1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if got := model(t, m, f); !near(got, 8, 1e-5) { // 2^−30 of the way is left; float32 near 32
			t.Errorf("model %v after 30 halvings, want %v ± 1e-5", got, scaled(8))
		}
	})
}

func TestErrorsArePassedOn(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16)
		m := start(t, name, f, o)
		if _, err := m.Round(t.Context(), at(0, f, 1, 0)); err != nil {
			t.Fatal(err)
		}
		want := model(t, m, f)
		e.failing = &nets.DivergedError{Round: 1, Client: 1, Step: 2, Loss: math.Inf(1)}
		loss, err := m.Round(t.Context(), at(1, f, 1, 0, 1))
		text := "algos: " + name + ": round 1: nets: round 1 client 1 step 2: loss +Inf, want a finite number"
		var diverged *nets.DivergedError
		if !errors.As(err, &diverged) || diverged.Client != 1 || err.Error() != text || loss != nil {
			t.Errorf("got %v, %v, want the engine's error as %q", loss, err, text)
		}
		if got := model(t, m, f); !slices.Equal(got, want) {
			t.Errorf("model %v after the failure, want %v of the round before", got, want)
		}
	})
}

func TestCancelled(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, _ := toyFederation(8, 16)
		m := start(t, name, f, o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for r, active := range [][]int{{}, {0}} {
			_, err := m.Round(ctx, at(r, f, 1, active...))
			want := fmt.Sprintf("algos: %s: round %d: context canceled", name, r)
			if !errors.Is(err, context.Canceled) || err.Error() != want {
				t.Errorf("active %v: got %v, want %q", active, err, want)
			}
		}
	})
}

// Whatever the memory, a method that does not get its rows says so, and leaves none behind.
func TestOutOfMemory(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8)
		enough := false
		for rows := 0; !enough; rows++ {
			e.rowsMax = rows
			m, err := New(name, f, make([]float32, 2), o)
			if err == nil {
				_, err = m.Round(t.Context(), at(0, f, 1, 0, 1, 2))
				m.Close()
			}
			if n := e.rows(); n != 0 {
				t.Fatalf("memory for %d rows: %d left after %v, want 0", rows, n, err)
			}
			if enough = err == nil; rows > 20 {
				t.Fatalf("no round in memory for %d rows: %v", rows, err)
			}
		}
	})
}
