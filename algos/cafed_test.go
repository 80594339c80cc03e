package algos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
)

// inside returns the caFed behind what New returned.
func inside(m Method) *caFed { return m.(*checked).Method.(stateful).method.(*caFed) }

// F̂ and F̂* by (17) with β = 1/4 and 1. The model stays at 0, where F_i = 12.5 u_i²: 800, 3200 and 12800; client 0's
// loss changes as the test moves its u_0. Tolerance 1e-9: a few roundings of numbers up to 10⁴.
func TestCAFedLossEstimates(t *testing.T) {
	for _, c := range []struct {
		beta             float64
		fstar            string
		u                []float64 // of client 0 in rounds 0 … 3
		loss, best, left float64   // of client 0 after them; left: F̂ of client 2, who is active in round 2 alone
	}{
		{
			0.25, FStarMin,
			[]float64{8, 4, 16, 8},
			0.75*(0.75*(0.75*800+0.25*200)+0.25*3200) + 0.25*800, 650,
			0.75*2000 + 0.25*12800,
		},
		{1, FStarMin, []float64{8, 4, 16, 8}, 800, 200, 12800},
		{1, FStarZero, []float64{8, 4, 16, 8}, 800, 0, 12800},
		{1, FStarSolved, []float64{8, 4, 16, 8}, 800, 7, 12800},
	} {
		t.Run(fmt.Sprintf("beta=%g/%s", c.beta, c.fstar), func(t *testing.T) {
			f, e := toyFederation(8, 16, 32)
			o := withValues(Paper, "ca-fed-beta", fmt.Sprint(c.beta), "fstar", c.fstar)
			o.Solved = []float64{7, 8, 9}
			m := start(t, "ca-fed", f, o)
			for r, u := range c.u {
				e.u[0] = scaled(u)
				round := at(r, f, 1e-30, 0, 1) // w stays at 0 in float32
				if r == 2 {
					round.Active = []int{0, 1, 2}
				}
				must.Get(m.Round(t.Context(), round))(t)
				// In round 0 client 2 is inactive and starts at the mean of 800 and 3200.
				if got := inside(m).loss[2]; r < 2 && math.Abs(got-2000) > 1e-9 {
					t.Errorf("round %d: F̂ of the unseen client %g, want 2000", r, got)
				}
			}
			in := inside(m)
			if math.Abs(in.loss[0]-c.loss) > 1e-9 || math.Abs(in.best[0]-c.best) > 1e-9 ||
				math.Abs(in.loss[2]-c.left) > 1e-9 {
				t.Errorf("F̂_0 %g F̂*_0 %g F̂_2 %g, want %g, %g, %g ± 1e-9",
					in.loss[0], in.best[0], in.loss[2], c.loss, c.best, c.left)
			}
		})
	}
}

// The server asks the active clients alone, at w: on the batch that they then train on, on all their samples, or on the
// samples that they hold out.
func TestCAFedAsksTheActive(t *testing.T) {
	heldOut := &HeldOut{Part: nets.Test, Index: [][]int32{{1000}, {1001}, {1002}, {}, {1004}}}
	for _, c := range []struct {
		name    string
		losses  string
		heldOut *HeldOut
		part    nets.Part
		samples func(i int) []int32 // nil: the first batch
	}{
		{"batch", LossesBatch, nil, nets.Train, nil},
		{"all", LossesAll, nil, nets.Train, func(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} }},
		{
			"all, though some are held out", LossesAll, heldOut, nets.Train,
			func(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} },
		},
		{"held out", LossesHeldOut, heldOut, nets.Test, func(i int) []int32 { return heldOut.Index[i] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, e := toyFederation(8, 16, -8, 0, 3)
			o := with(withValues(Paper, keepAll...), "ca-fed", "losses", c.losses)
			o.HeldOut = c.heldOut
			m := start(t, "ca-fed", f, o)
			for _, r := range trace(f, 30) {
				e.jobs, e.work = nil, nil
				loss := must.Get(m.Round(t.Context(), r))(t)
				jobs := e.jobs
				for k, i := range r.Active {
					if c.samples != nil && len(c.samples(i)) == 0 { // client 3 has nothing held out: no loss, no job
						continue
					}
					if len(jobs) == 0 {
						t.Fatalf("round %d: no job for client %d of %v", r.T, i, r.Active)
					}
					want := e.work[0].Clients[k].Plan.Index[:1]
					if c.samples != nil {
						want = c.samples(i)
					}
					if jobs[0].Part != c.part || !slices.Equal(jobs[0].Index, want) {
						t.Errorf("round %d: client %d is asked about %v of part %d, want %v of %d",
							r.T, i, jobs[0].Index, jobs[0].Part, want, c.part)
					}
					scale := 1.0
					if c.part == nets.Test {
						scale = 10
					}
					// float32
					if got, want := inside(m).loss[i], scale*float64(loss[k]); math.Abs(got-want) > 1e-5*want {
						t.Errorf("round %d: client %d: F̂ %g, want its loss before the round, %g", r.T, i, got, want)
					}
					jobs = jobs[1:]
				}
				if len(jobs) != 0 {
					t.Errorf("round %d: also asked %v, want the active %v alone", r.T, jobs, r.Active)
				}
			}
		})
	}
}

// A loss that is no number is reported as the engine would, and changes nothing.
func TestCAFedDivergedLoss(t *testing.T) {
	f, e := toyFederation(8, 16)
	m := start(t, "ca-fed", f, Options{Preset: Paper})
	e.u[1] = scaled(math.Inf(1))
	_, err := m.Round(t.Context(), at(3, f, 1, 0, 1))
	var diverged *nets.DivergedError
	if !errors.As(err, &diverged) || diverged.Round != 3 || diverged.Client != 1 || len(e.work) != 0 {
		t.Errorf("got %v after %d trainings, want client 1 of round 3 to have diverged, and none", err, len(e.work))
	}
}
