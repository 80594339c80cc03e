package cpu

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models/modelstest"
)

// The gradients of random nets are the differences of a loss that plain loops compute in float64. An engine computes in
// float32: a gradient is off by up to 1e-4 of the largest of its tensor, most of it in nets with batch normalisation,
// and by 3e-5 of the largest of all, where sums cancel: a normalisation undoes the scale of the convolution before it.
func TestRandomNets(t *testing.T) {
	longtest.Numbers(t)
	count := 50
	if longtest.On() {
		count = 200
	}
	seen := map[string]int{}
	for seed := range count {
		c := modelstest.Draw(uint64(seed))
		for layer := range strings.SplitSeq(c.Text, ", ") {
			for word := range strings.FieldsSeq(layer) {
				seen[word]++
			}
		}
		if t.Run(c.Text, func(t *testing.T) { gradients(t, c) }); t.Failed() {
			t.Fatalf("seed %d: %q for %v", seed, c.Text, c.Model.Shape)
		}
	}
	for word := range strings.FieldsSeq("conv block average dropout linear none pool norm relu stride pad") {
		if seen[word] < 2 {
			t.Errorf("%d of %d random nets have %s, want more", seen[word], count, word)
		}
	}
}

func gradients(t *testing.T, c *modelstest.Case) {
	m := c.Model
	e := must.Get(Open(m, c.Samples, nil, Options{Threads: 2, Batch: modelstest.Batch}))(t)
	defer e.Close()
	bank := must.Get(e.NewBank(3))(t)
	must.OK(t, e.Load(rowOf(bank, 0), c.Weights))
	// After one step the momentum row, zero before, is the gradient itself.
	must.OK(t, e.Load(rowOf(bank, 2), make([]float32, m.P)))
	d := modelstest.Draw0
	loss := must.Get(e.Train(t.Context(), nets.LocalWork{
		Round: int(d.Round), Seed: d.Seed, LR: 0x1p-5, Momentum: 0.5, Clients: []nets.ClientWork{{
			Client: int(d.Client), Start: rowOf(bank, 0), End: rowOf(bank, 1), Momentum: rowOf(bank, 2),
			Plan: modelstest.Plan(),
		}},
	}))(t)
	got := make([]float32, m.P)
	must.OK(t, e.Store(rowOf(bank, 2), got))

	w := float64s(c.Weights)
	if want, _ := c.Loss(w); math.Abs(float64(loss[0])-want) > 1e-5*max(1, want) {
		t.Errorf("loss %g, want %g", loss[0], want)
	}
	all := largest(got)
	r := rand.New(rand.NewPCG(1, uint64(m.P)))
	for _, p := range m.Params {
		if p.Buffer {
			continue
		}
		g := got[p.Offset:][:p.Size]
		tolerance := 1e-4*largest(g) + 3e-5*all
		for range 4 {
			i := r.IntN(p.Size)
			at, was := &w[p.Offset+i], w[p.Offset+i]
			const h = 1e-6
			*at = was + h
			above, _ := c.Loss(w)
			*at = was - h
			below, _ := c.Loss(w)
			*at = was
			if want := (above - below) / (2 * h); math.Abs(float64(g[i])-want) > tolerance+1e-9 {
				t.Errorf("%s[%d]: gradient %g, want %g ± %.1g", p.Name, i, g[i], want, tolerance)
			}
		}
	}
}

// largest returns the largest magnitude.
func largest(x []float32) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}
