package algos

import (
	"math"
	"testing"

	"rollcall/internal/must"
)

// Three clients at 8, 16, −8, η = 1/2, two rounds. Round 0: Δ = (4, 8, −4), w = 8/3. Round 1 from there: Δ = (8/3,
// 20/3, −16/3), or client 0's still 4. Coalition S is 8/3 + the mean of its Δ.
func TestCoalitions(t *testing.T) {
	for stale, first := range []float64{8. / 3, 4} {
		f, e := toyFederation(8, 16, -8)
		rows, free := must.Get2(Coalitions(t.Context(), f, make([]float32, 2), 2, stale,
			func(int) float64 { return 0.5 }))(t)
		delta := []float64{first, 20. / 3, -16. / 3}
		if len(rows) != 8 {
			t.Fatalf("%d rows, want 8", len(rows))
		}
		for set, row := range rows {
			want, n := 0.0, 0
			for i, d := range delta {
				if set>>i&1 == 1 {
					want, n = want+d, n+1
				}
			}
			want = 8./3 + want/float64(max(1, n))
			if got := e.at(row); !near(got, want, toyTol) {
				t.Errorf("stale %d, coalition %03b: %v, want %v ± %g", stale, set, got, scaled(want), toyTol)
			}
		}
		if n := len(e.work[1].Clients); n != 3-stale {
			t.Errorf("stale %d: %d clients trained in the last round, want %d", stale, n, 3-stale)
		}
		free()
		if e.rows() != 0 {
			t.Errorf("%d rows left, want 0", e.rows())
		}
	}
}

// The mean of the last round's updates of all is what FedAvg would have made of it.
func TestCoalitionOfAllIsFedAvg(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.Planner.E = 3
	rows, free := must.Get2(Coalitions(t.Context(), f, make([]float32, 2), 9, 0,
		func(t int) float64 { return DecayedLR(0.1, t) }))(t)
	defer free()
	m := start(t, "fedavg-active", f, Options{Preset: Paper})
	for r := range 9 {
		round := at(r, f, 1, 0, 1, 2, 3, 4)
		round.LR = DecayedLR(0.1, r)
		must.Get(m.Round(t.Context(), round))(t)
	}
	got, want := e.at(rows[31]), model(t, m, f)
	for j := range got {
		if math.Abs(float64(got[j]-want[j])) > 1e-4 { // float32 at up to 64, nine rounds summed in two ways
			t.Errorf("%v, want FedAvg's %v ± 1e-4", got, want)
		}
	}
}

func TestCoalitionsOutOfMemory(t *testing.T) {
	f, e := toyFederation(8, 16)
	lr := func(int) float64 { return 0.5 }
	for rows := range 8 { // w, two updates, four coalitions: one row short at most
		if e.rowsMax = rows; rows >= 7 {
			break
		}
		if _, _, err := Coalitions(t.Context(), f, make([]float32, 2), 3, 1, lr); err == nil || e.rows() != 0 {
			t.Errorf("memory for %d rows: %v, %d left, want an error and none", rows, err, e.rows())
		}
	}
}
