//go:build gpu && linux && cgo

package kernels

import (
	"slices"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

func TestScore(t *testing.T) {
	cases := lossCases()
	for _, O := range []int{2, 10, 40} { // ties, and rows of one odd kind
		cases = append(cases, lossCase{2, 64, O, 2, true}, lossCase{2, 64, O, 1, false})
	}
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) { testScore(t, c) })
	}
}

func testScore(t *testing.T, c lossCase) {
	r := newRig(t)
	w := wave{Slots: make([]Slot, c.K), E: 1, B: c.B}
	logits, labels := c.data(w.room())
	a := ScoreArgs{
		Work: r.work(w), Logits: upload(r, logits), Labels: upload(r, labels), Loss: blank[float64](r, w.room()),
		Correct: blank[int32](r, 2*w.room()), B: uint32(c.B), O: uint32(c.O),
	}
	launch(r, "score", a.Launch(FP32), w.room(), &a)
	exec := cpu.NewExec(cpu.Generic[float32](), nil)
	loss, hits := make([]float64, c.K), make([]int32, 2*c.K)
	for k := range c.K {
		sum, correct, count := cpu.Score(exec, logits[k*c.B*c.O:][:c.B*c.O], labels[k*c.B:][:c.B])
		loss[k], hits[2*k], hits[2*k+1] = sum, int32(correct), int32(count)
	}
	near(t, "loss", download[float64](r, a.Loss, c.K), loss, func(i int) float64 { return 1e-12 * float64(c.B) },
		"each of B terms below 60 is right to some 1e-14 in double")
	if got := download[int32](r, a.Correct, 2*c.K); !slices.Equal(got, hits) {
		t.Errorf("correct and counted: got %d, want %d", got, hits)
	}
	r.untouched("loss of the slot not in use", a.Loss+uint64(8*c.K), 8)
	r.untouched("correct of the slot not in use", a.Correct+uint64(8*c.K), 8)
}
