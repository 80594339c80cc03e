//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// lossCase is the batches of K clients. In a ragged case the second half of each batch does not count, and of several
// clients the last has no sample that counts.
type lossCase struct {
	K, B, O int
	oneIn   int // one logit in so many is NaN, ±Inf or −0; 0: none
	ragged  bool
}

func lossCases() []lossCase {
	var all []lossCase
	for _, K := range clientCounts {
		for _, B := range []int{1, 5, 128} {
			for _, O := range []int{1, 2, 10, 16, 33, 100} {
				all = append(all, lossCase{K, B, O, 0, false}, lossCase{K, B, O, 3 * O, B > 1})
			}
		}
	}
	return append(all, lossCase{1, 600, 2, 0, true}, lossCase{1, 3, 2048, 0, true})
}

func (c lossCase) String() string {
	return fmt.Sprintf("K=%d_B=%d_O=%d_odd=%d_ragged=%t", c.K, c.B, c.O, c.oneIn, c.ragged)
}

// data returns logits [room,B,O] and labels [room,B].
func (c lossCase) data(room int) (logits []float32, labels []int32) {
	rnd := rand.New(rand.NewPCG(uint64(c.B), uint64(c.O)))
	logits, labels = numbers(rnd, room*c.B*c.O), make([]int32, room*c.B)
	for i := range logits {
		logits[i] *= 20
	}
	if c.oneIn > 0 {
		logits = oddNumbers(rnd, len(logits), c.oneIn)
	}
	for i := range labels {
		labels[i] = int32(rnd.IntN(c.O))
		if c.ragged && (i%c.B >= c.B/2 || i/c.B == c.K-1 && c.K > 1) {
			labels[i] = cpu.Ignore
		}
	}
	return logits, labels
}

func TestCrossEntropy(t *testing.T) {
	for _, p := range precisions {
		for _, c := range lossCases() {
			t.Run(fmt.Sprintf("%s/%v", p.name, c), func(t *testing.T) { testCrossEntropy(t, p, c) })
		}
	}
}

func testCrossEntropy(t *testing.T, p precision, c lossCase) {
	const E, step = 3, 2
	r := newRig(t)
	w := wave{Slots: make([]Slot, c.K), E: E, B: c.B, Count: make([]int32, c.K*E)}
	logits, labels := c.data(w.room())
	for k := range c.K {
		for _, l := range labels[k*c.B:][:c.B] {
			if l >= 0 {
				w.Count[k*E+step]++
			}
		}
	}
	capacity, n := w.room()+2, c.B*c.O
	a := CrossEntropyArgs{
		Work: r.work(w), Logits: upload(r, logits), Labels: upload(r, labels), Loss: blank[float32](r, E*capacity),
		DLogits: p.blank(r, w.room()*n), B: uint32(c.B), O: uint32(c.O), Step: step, E: E, Capacity: uint32(capacity),
	}
	launch(r, "cross_entropy_"+p.name, a.Launch(p.kind()), w.room(), &a)

	// The reference is the CPU's code on float64, so that the device alone rounds.
	exec := cpu.NewExec(cpu.Generic[float64](), nil)
	wide := make([]float64, len(logits))
	for i, v := range logits {
		wide[i] = float64(v)
	}
	loss, grad := make([]float64, c.K), make([]float64, c.K*n)
	for k := range c.K {
		loss[k] = cpu.CrossEntropy(exec, wide[k*n:][:n], labels[k*c.B:][:c.B], grad[k*n:][:n])
	}
	near(t, "loss", download[float32](r, a.Loss+uint64(4*step*capacity), c.K), loss,
		func(i int) float64 { return 0x1p-23*math.Abs(loss[i]) + 1e-13 },
		"one rounding of a sum in double, with terms up to 60 that may cancel")
	near(t, "dlogits", p.download(r, a.DLogits, c.K*n), grad,
		func(i int) float64 { return (p.half+0x1p-24)*1.001*math.Abs(grad[i]) + 1e-13 },
		"rounding to float and to the precision; in double, the label's own gradient cancels")
	r.untouched("losses of other steps", a.Loss, 4*step*capacity)
	r.untouched("losses of slots not in use", a.Loss+uint64(4*(step*capacity+c.K)), 4*(capacity-c.K))
	r.untouched("dlogits of the slot not in use", a.DLogits+uint64(c.K*n*p.bytes), n*p.bytes)

	again := a
	again.DLogits, again.Loss = 0, blank[float32](r, E*capacity)
	launch(r, "cross_entropy_"+p.name, again.Launch(p.kind()), w.room(), &again)
	same(t, "loss without a gradient", download[float32](r, again.Loss, E*capacity),
		download[float32](r, a.Loss, E*capacity))
}
