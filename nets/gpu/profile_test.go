//go:build gpu && linux && cgo

package gpu

import (
	"slices"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/models"
)

// A profile times kernels and copies alone: pauses of the caller before a wave, or before a kernel outside of a wave,
// count for nothing. Its numbers of operations, bytes and launches are exactly those of the work.
func TestProfileSums(t *testing.T) {
	const steps, batch, pause = 2, 4, 200 * time.Millisecond
	g, _, m := both(t, "lenet5", batch, Options{Precision: BF16})
	far := 1e30
	c := newRound(t, g, m, steps, batch, &far) // clipping keeps all gradients
	row := nets.Row{Bank: c.end}
	jobs := []nets.EvalJob{{Row: row, Part: nets.Test}, {Row: nets.Row{Bank: c.start}, Part: nets.Test}}
	must.Get(g.Train(t.Context(), c.work))(t) // finds memory, makes graphs
	must.Get(g.Evaluate(t.Context(), jobs))(t)
	must.OK(t, g.Profile(true))
	started := time.Now()
	for _, do := range []func(){
		func() { must.Get(nets.Norm(g, row))(t) },
		func() { must.OK(t, g.Combine(row, []float64{1, 2}, []nets.Row{row, row})) },
		func() { must.Get(g.Dot(row, nets.Row{Bank: c.start}))(t) },
		func() { must.Get(g.Train(t.Context(), c.work))(t) },
		func() { must.Get(g.Evaluate(t.Context(), jobs))(t) },
		func() { must.OK(t, g.Combine(row, nil, nil)) },
	} {
		do()
		time.Sleep(pause)
	}
	kernels := map[string]nets.KernelTime{}
	var total time.Duration
	for _, k := range g.Kernels() {
		kernels[k.Kernel] = k
		total += k.Time
		if k.Time <= 0 || k.Launches < 1 || k.Bytes <= 0 || k.FLOP < 0 {
			t.Errorf("%+v, want all but the operations above 0", k)
		}
	}
	if worked := time.Since(started) - 6*pause; total > worked {
		t.Errorf("kernels and copies took %v, want no more than the %v that were worked", total, worked)
	}
	train, eval := wave0(t, g, true), wave0(t, g, false)
	P, units := float64(g.layout.P), 2*((crowd.TestSamples+7)/8)
	for name, want := range map[string]nets.KernelTime{
		"combine":       {Launches: 2, Bytes: 4*P*3 + 4*P},
		"dot":           {Launches: 2, Bytes: 4*P + 8*P}, // a row with itself, then two rows
		"begin":         {Launches: 1, Bytes: 4 * 10 * P},
		"round_weights": {Launches: 1, Bytes: 2 * 6 * P}, // two rows, in however many units
		// four clients, two with momentum, one with drift
		"sgd":      {Launches: steps, Bytes: steps * P * (4*14 + 2*8 + 4)},
		"memset":   {Launches: 1, Bytes: 4 * P * float64(train.key.capacity)},
		"score":    {Launches: 1, Bytes: float64(4 * units * 8 * m.Classes)},
		"upload":   {Launches: 2, Bytes: float64(train.layout.size + eval.layout.size)},
		"download": {Launches: 2, Bytes: float64(train.resultBytes + eval.resultBytes)},
	} {
		k := kernels[name]
		if k.Launches != want.Launches || k.Bytes != want.Bytes || k.FLOP != want.FLOP {
			t.Errorf("%s: %d launches, %.0f bytes, %.0f operations, want %d, %.0f, %.0f",
				name, k.Launches, k.Bytes, k.FLOP, want.Launches, want.Bytes, want.FLOP)
		}
	}
	flop := 0.0
	for _, k := range kernels {
		flop += k.FLOP
	}
	if want := 4*steps*batch*m.Train + float64(units*8)*m.Forward; flop != want {
		t.Errorf("%.0f operations, want %.0f: of 4 clients, %d steps of %d samples, and %d units of 8",
			flop, want, steps, batch, units)
	}
}

// wave0 returns the only wave of training, or of evaluation.
func wave0(t *testing.T, g *Engine, train bool) (found *wave) {
	t.Helper()
	for key, w := range g.waves {
		if key.train == train {
			if found != nil {
				t.Fatalf("two waves: %+v, %+v", found.key, key)
			}
			found = w
		}
	}
	if found == nil {
		t.Fatal("no wave")
	}
	return found
}

// Training gives the same bytes with a profile, and after it, as without one. While kernels are timed, a wave reads the
// buffers that were placed for it, whatever waves were made after it.
func TestProfileOfSeveralWaves(t *testing.T) {
	const batch = 4
	g, _, m := both(t, "lenet5", batch, Options{})
	start := must.Get(g.NewBank(1))(t)
	must.OK(t, g.Load(nets.Row{Bank: start}, m.Init(models.Kaiming, 1)))
	train := func(clients int) (rows [][]float32) {
		end := must.Get(g.NewBank(clients))(t)
		defer end.Free()
		work := nets.LocalWork{LR: 0x1p-5}
		for k := range clients {
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: k, Start: nets.Row{Bank: start}, End: nets.Row{Bank: end, Index: k},
				Plan: crowd.Plan(k, 1, batch, batch),
			})
		}
		must.Get(g.Train(t.Context(), work))(t)
		for _, c := range work.Clients {
			rows = append(rows, load(t, g, c.End))
		}
		return rows
	}
	want := train(12) // a wave for 16 clients
	train(2)          // a wave for 8, which shares the arena
	must.OK(t, g.Profile(true))
	for k, got := range train(12) {
		if !slices.Equal(got, want[k]) {
			t.Errorf("client %d: another row than without a profile", k)
		}
	}
	must.OK(t, g.Profile(false))
	if left := g.Kernels(); left != nil {
		t.Errorf("%d kernels after the profile has ended, want none", len(left))
	}
	for k, got := range train(12) {
		if !slices.Equal(got, want[k]) {
			t.Errorf("client %d: another row after the profile", k)
		}
	}
}
