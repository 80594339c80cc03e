//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/gputest"
)

// headCase is K clients with two layers I → J → O on batches of B samples. In a ragged case half of the samples do not
// count, and of several clients the last has no sample that counts.
type headCase struct {
	K, B, I, J, O int
	ragged        bool
}

// headCases meet every way to copy weights (16 bytes, 4 bytes, single bf16), and batches and layers of all degrees of
// filling.
var headCases = []headCase{
	{1, 1, 1, 1, 1, false},
	{2, 5, 256, 64, 10, true},
	{3, 5, 120, 64, 7, false},
	{1, 33, 131, 50, 16, true},
	{2, 70, 30, 17, 2, true},
	{1, 128, 64, 24, 9, false},
	{1, 128, 256, 64, 10, false},
}

func (c headCase) String() string {
	return fmt.Sprintf("K=%d_B=%d_I=%d_J=%d_O=%d_ragged=%t", c.K, c.B, c.I, c.J, c.O, c.ragged)
}

// headRun is a head on the device, with random numbers in its row, x and labels.
type headRun struct {
	headCase
	p      precision
	r      *rig
	wave   wave
	args   HeadArgs
	rows   [][]float32 // [K][P]
	x      []float32   // [K+1,B,I] as stored, at least 0; the last is of the slot that is not in use
	labels []int32     // [K+1,B]
}

const headStep, headSteps = 1, 3

func newHeadRun(t *testing.T, p precision, c headCase) *headRun {
	t.Helper()
	h := &headRun{headCase: c, p: p, r: newRig(t)}
	rnd := rand.New(rand.NewPCG(uint64(c.B*c.I), uint64(c.J*c.O)))
	at := uint32(64)
	room := func(n int) (begin uint32) {
		begin = at
		at += uint32(n+63)/64*64 + 64
		return begin
	}
	h.args = HeadArgs{
		W1Offset: room(c.I * c.J), B1Offset: room(c.J), W2Offset: room(c.J * c.O), B2Offset: room(c.O), P: at,
		B: uint32(c.B), I: uint32(c.I), J: uint32(c.J), O: uint32(c.O), Step: headStep, E: headSteps,
		Capacity: uint32(c.K + 2),
	}
	for range c.K {
		h.rows = append(h.rows, numbers(rnd, int(at)))
	}
	h.x, h.labels = p.rounded(numbers(rnd, (c.K+1)*c.B*c.I)), make([]int32, (c.K+1)*c.B)
	for i, v := range h.x {
		h.x[i] = max(v, 0)
	}
	for i := range h.labels {
		h.labels[i] = int32(rnd.IntN(c.O))
		if c.ragged && (i%2 == 1 || i/c.B == c.K-1 && c.K > 1) {
			h.labels[i] = cpu.Ignore
		}
	}
	h.load()
	return h
}

// load uploads what the kernel reads, and makes room for what it writes.
func (h *headRun) load() {
	h.wave = wave{Slots: h.r.slots(h.p, h.rows...), E: headSteps, B: h.B, Count: make([]int32, h.K*headSteps)}
	for k := range h.K {
		for _, l := range h.labels[k*h.B:][:h.B] {
			if l >= 0 {
				h.wave.Count[k*headSteps+headStep]++
			}
		}
	}
	a := &h.args
	a.Work, a.X, a.Labels = h.r.work(h.wave), h.p.upload(h.r, h.x), upload(h.r, h.labels)
	a.DX, a.Grad = h.p.blank(h.r, (h.K+1)*h.B*h.I), blank[float32](h.r, (h.K+1)*int(a.P))
	a.Loss = blank[float32](h.r, headSteps*int(a.Capacity))
}

// headOut is what a head writes, with all that it leaves alone.
type headOut struct{ loss, dx, grad []float32 } // [E,capacity], [K,B,I], [K,P]

// run launches head, with so many blocks for each slot.
func (h *headRun) run(blocks int) headOut {
	h.r.t.Helper()
	l := h.args.Launch(h.p.kind())
	l.X = blocks
	launch(h.r, "head_"+h.p.name, l, h.wave.room(), &h.args)
	h.r.untouched("dx of the slot not in use", h.args.DX+uint64(h.K*h.B*h.I*h.p.bytes), h.B*h.I*h.p.bytes)
	h.r.untouched("grad of the slot not in use", h.args.Grad+uint64(h.K*int(h.args.P)*4), int(h.args.P)*4)
	return h.out()
}

func (h *headRun) out() headOut {
	return headOut{
		download[float32](h.r, h.args.Loss, headSteps*int(h.args.Capacity)),
		h.p.download(h.r, h.args.DX, h.K*h.B*h.I), download[float32](h.r, h.args.Grad, h.K*int(h.args.P)),
	}
}

// apart runs the nine launches that head stands for, on memory of their own.
func (h *headRun) apart() headOut {
	r, p, a, room := h.r, h.p, &h.args, h.wave.room()
	a.DX, a.Grad = p.blank(r, room*h.B*h.I), blank[float32](r, room*int(a.P))
	a.Loss = blank[float32](r, headSteps*int(a.Capacity))
	hidden, dh := p.blank(r, room*h.B*h.J), p.blank(r, room*h.B*h.J)
	logits, dlogits := blank[float32](r, room*h.B*h.O), p.blank(r, room*h.B*h.O)
	one := LinearArgs{
		Work: a.Work, X: a.X, Y: hidden, GY: dh, DX: a.DX, Grad: a.Grad, WOffset: a.W1Offset, BOffset: a.B1Offset,
		B: a.B, I: a.I, O: a.J, P: a.P, ReLU: 1, Step: a.Step, E: a.E,
	}
	two := LinearArgs{
		Work: a.Work, X: hidden, Y: logits, GY: dlogits, DX: dh, Grad: a.Grad, WOffset: a.W2Offset,
		BOffset: a.B2Offset, B: a.B, I: a.J, O: a.O, P: a.P, YFloat: 1, Step: a.Step, E: a.E,
	}
	loss := CrossEntropyArgs{
		Work: a.Work, Logits: logits, Labels: a.Labels, Loss: a.Loss, DLogits: dlogits,
		B: a.B, O: a.O, Step: a.Step, E: a.E, Capacity: a.Capacity,
	}
	gate := func(y, d uint64, n int) {
		relu := ReLUArgs{Work: a.Work, Y: y, GY: d, D: d, N: uint32(n)}
		launch(r, "relu_backward_"+p.name, relu.Launch(p.kind()), room, &relu)
	}
	launch(r, "linear_forward_"+p.name, one.Forward(p.kind()), room, &one)
	launch(r, "linear_forward_"+p.name, two.Forward(p.kind()), room, &two)
	launch(r, "cross_entropy_"+p.name, loss.Launch(p.kind()), room, &loss)
	launch(r, "linear_backward_filter_"+p.name, two.BackwardFilter(p.kind()), room, &two)
	launch(r, "linear_backward_data_"+p.name, two.BackwardData(p.kind()), room, &two)
	gate(hidden, dh, h.B*h.J)
	launch(r, "linear_backward_filter_"+p.name, one.BackwardFilter(p.kind()), room, &one)
	launch(r, "linear_backward_data_"+p.name, one.BackwardData(p.kind()), room, &one)
	gate(a.X, a.DX, h.B*h.I)
	return h.out()
}

func sameHead(t *testing.T, got, want headOut) {
	t.Helper()
	same(t, "loss", got.loss, want.loss)
	same(t, "dx", got.dx, want.dx)
	same(t, "grad", got.grad, want.grad)
}

func eachHead(t *testing.T, test func(t *testing.T, h *headRun)) {
	for _, p := range precisions {
		for _, c := range headCases {
			if c.B == 128 && c.I == 256 && p.name != "tf32" && !gputest.Long() {
				continue // a full batch of every precision is for make test-long
			}
			t.Run(fmt.Sprintf("%s/%v", p.name, c), func(t *testing.T) { test(t, newHeadRun(t, p, c)) })
		}
	}
}

// The head computes the bits of the launches that it stands for, whose own tests compare them with nets/cpu/kernels,
// and touches nothing else. Two blocks for each slot compute the same bits.
func TestHead(t *testing.T) {
	eachHead(t, func(t *testing.T, h *headRun) {
		got := h.run(1)
		sameHead(t, got, h.apart())
		if h.I > 128 {
			h.load()
			sameHead(t, h.run(2), got)
		}
	})
}

// A diverged client is noticed: NaN and infinity have the effect that they have in the launches that head stands for,
// and they stay in their client. Samples that do not count have no gradient.
func TestHeadNaN(t *testing.T) {
	for _, p := range precisions {
		for name, v := range map[string]float64{"NaN": math.NaN(), "Inf": math.Inf(1)} {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				h := newHeadRun(t, p, headCase{3, 5, 40, 20, 10, true})
				h.x[3*h.I-4] = float32(v)                  // of a sample that counts
				h.rows[1][h.args.B1Offset+3] = float32(-v) // a bias of another client
				h.load()
				got := h.run(1)
				sameHead(t, got, h.apart())
				if loss := got.loss[headStep*h.args.Capacity]; loss == loss && name == "NaN" {
					t.Errorf("loss %g with a NaN in x, want NaN", loss)
				}
			})
		}
	}
}

// A client's numbers are the same bits whatever trains beside it, and again in a second run.
func TestHeadAlone(t *testing.T) {
	for _, p := range precisions {
		h := newHeadRun(t, p, headCase{3, 7, 140, 30, 10, true})
		all := h.run(1)
		sameHead(t, h.run(1), all)
		for k := range h.K {
			one := newHeadRun(t, p, headCase{1, h.B, h.I, h.J, h.O, false})
			one.rows, one.x = h.rows[k:k+1], slices.Concat(h.x[k*h.B*h.I:][:h.B*h.I], make([]float32, h.B*h.I))
			one.labels = slices.Concat(h.labels[k*h.B:][:h.B], make([]int32, h.B))
			one.load()
			got, P := one.run(1), int(h.args.P)
			same(t, "dx", got.dx, all.dx[k*h.B*h.I:][:h.B*h.I])
			same(t, "grad", got.grad, all.grad[k*P:][:P])
			same(t, "loss", got.loss[one.args.Capacity*headStep:][:1], all.loss[int(h.args.Capacity)*headStep+k:][:1])
		}
	}
}
