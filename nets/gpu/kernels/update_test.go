//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// takers is a wave of clients of every kind, whose gradients a kernel writes or takes to the weights at once.
type takers struct {
	r    *rig
	p    precision
	P    int
	rnd  *rand.Rand
	rows [][]float32 // [K][P]
	v    [][]float32 // [K][P] or nil
	d    [][]float32 // [K][P] or nil: drift
}

// takerKinds are the clients: which rows they have besides their weights, and whether a sample of theirs counts.
var takerKinds = []struct{ momentum, drift, empty bool }{
	{},
	{momentum: true},
	{drift: true},
	{momentum: true, drift: true},
	{momentum: true, drift: true, empty: true},
}

// takersE and takersStep are the steps of the wave, and the step that kernels take.
const takersE, takersStep = 3, 1

func newTakers(t *testing.T, p precision, P int) *takers {
	t.Helper()
	c := &takers{r: newRig(t), p: p, P: P, rnd: rand.New(rand.NewPCG(uint64(P), 5))}
	for _, kind := range takerKinds {
		var v, d []float32
		if kind.momentum {
			v = numbers(c.rnd, P)
		}
		if kind.drift {
			d = numbers(c.rnd, P)
		}
		c.rows, c.v, c.d = append(c.rows, numbers(c.rnd, P)), append(c.v, v), append(c.d, d)
	}
	return c
}

// wave uploads the clients anew.
func (c *takers) wave(B int) wave {
	c.r.t.Helper()
	w := wave{
		Slots: c.r.slots(c.p, c.rows...), E: takersE, B: B, Count: make([]int32, len(c.rows)*takersE),
		LR: 0.1, WeightDecay: 0.01, Momentum: 0.9,
	}
	for k, kind := range takerKinds {
		w.Slots[k].Momentum, w.Slots[k].Drift = upload(c.r, c.v[k]), upload(c.r, c.d[k])
		w.Count[k*takersE+takersStep] = int32(1 - bit(kind.empty))
	}
	return w
}

// check runs a kernel twice, with and without a row of gradients, and fails unless both ways lead to the same bits: the
// gradients by way of sgd, which other tests compare with the CPU's Step. Without gradients, nothing but the elements
// between the bounds may change.
func (c *takers) check(B int, bounds [][2]int, run func(w wave, work, grad uint64)) {
	t := c.r.t
	t.Helper()
	apart, once := c.wave(B), c.wave(B)
	work := c.r.work(apart)
	grad := upload(c.r, make([]float32, apart.room()*c.P))
	run(apart, work, grad)
	a := SGDArgs{Work: work, Grad: grad, P: uint32(c.P), N: uint32(c.P), Step: takersStep, E: takersE}
	launch(c.r, "sgd", a.Launch(c.p.kind()), apart.room(), &a)
	run(once, c.r.work(once), 0)
	for k, kind := range takerKinds {
		// compare compares a row of both ways between the bounds, and the rest with the row as it was. A client
		// without samples keeps all of it.
		compare := func(what string, got, want, before []float32) {
			t.Helper()
			expected := append([]float32{}, before...)
			for _, b := range bounds {
				if !kind.empty {
					copy(expected[b[0]:b[1]], want[b[0]:b[1]])
				}
			}
			same(t, fmt.Sprintf("client %d %+v: %s", k, kind, what), got, expected)
			if !kind.empty && slices.Equal(got, before) {
				t.Errorf("client %d %+v: %s has not changed", k, kind, what)
			}
		}
		row := func(at uint64) []float32 { return download[float32](c.r, at, c.P) }
		x, y := apart.Slots[k], once.Slots[k]
		compare("row", row(y.Row), row(x.Row), c.rows[k])
		compare("weights", c.p.download(c.r, y.Weights, c.P), c.p.download(c.r, x.Weights, c.P), c.p.copied(c.rows[k]))
		if kind.momentum {
			compare("momentum", row(y.Momentum), row(x.Momentum), c.v[k])
		}
		if kind.drift {
			same(t, "drift", row(y.Drift), c.d[k])
		}
	}
}

// The weights of a fully connected layer: narrow and wide tiles, full and ragged, in vectors and element by element.
func TestUpdateLinear(t *testing.T) {
	for _, p := range precisions {
		for _, s := range []linearSize{
			{B: 5, I: 7, O: 3},
			{B: 5, I: 64, O: 10},
			{B: 33, I: 65, O: 16},
			{B: 5, I: 63, O: 17},
			{B: 3, I: 33, O: 18},
			{B: 5, I: 120, O: 84},
			{B: 9, I: 258, O: 66},
			{B: 40, I: 256, O: 64},
		} {
			t.Run(fmt.Sprintf("%s/B=%d_I=%d_O=%d", p.name, s.B, s.I, s.O), func(t *testing.T) {
				n := s.I * s.O
				bias := 64 + (n+63)/64*64 + 64
				c := newTakers(t, p, bias+(s.O+63)/64*64+64)
				room := len(c.rows) + 1
				x, gy := numbers(c.rnd, room*s.B*s.I), numbers(c.rnd, room*s.B*s.O)
				a := LinearArgs{
					X: p.upload(c.r, x), GY: p.upload(c.r, gy), WOffset: 64, BOffset: uint32(bias), B: uint32(s.B),
					I: uint32(s.I), O: uint32(s.O), P: uint32(c.P), Step: takersStep, E: takersE,
				}
				c.check(s.B, [][2]int{{64, 64 + n}, {bias, bias + s.O}}, func(w wave, work, grad uint64) {
					a.Work, a.Grad = work, grad
					launch(c.r, "linear_backward_filter_"+p.name, a.BackwardFilter(p.kind()), w.room(), &a)
				})
			})
		}
	}
}

// The weights of a convolution without bias, whose gradient is one sum: a tile of every width, full and ragged.
func TestUpdateConv2D(t *testing.T) {
	for _, p := range precisions {
		for _, s := range []conv2DCase{
			{0, 3, 8, 8, 16, 3, 3, 32, 2, 1},
			{0, 3, 9, 7, 16, 3, 3, 33, 2, 1},
			{0, 2, 4, 4, 128, 3, 3, 128, 1, 1},
			{0, 2, 11, 6, 5, 5, 3, 7, 2, 2},
			{0, 2, 6, 6, 2, 2, 2, 130, 2, 0},
			{0, 2, 8, 8, 64, 1, 1, 64, 2, 0},
		} {
			t.Run(p.name+"/"+s.String(), func(t *testing.T) {
				c := newTakers(t, p, 64+(s.w()+63)/64*64+64)
				room := len(c.rows) + 1
				x, gy := numbers(c.rnd, room*s.B*s.x()), numbers(c.rnd, room*s.B*s.y())
				a := Conv2DArgs{
					X: p.upload(c.r, x), GY: p.upload(c.r, gy), WOffset: 64, B: uint32(s.B), H: uint32(s.H),
					W: uint32(s.W), C: uint32(s.C), R: uint32(s.R), S: uint32(s.S), O: uint32(s.O), U: uint32(s.U),
					Pad: uint32(s.pad), Images: uint32(s.B), DWStride: uint32(c.P), Step: takersStep, E: takersE,
				}
				c.check(s.B, [][2]int{{64, 64 + s.w()}}, func(w wave, work, grad uint64) {
					a.Work, a.DW = work, grad
					if grad != 0 {
						a.DW += 4 * 64
					}
					launch(c.r, "conv2d_backward_filter_"+p.name, a.BackwardFilter(p.kind()), w.room(), &a)
				})
			})
		}
	}
}

// The weights of a convolution by way of partial sums, with and without bias, in vectors and element by element.
func TestUpdateConvReduce(t *testing.T) {
	for _, p := range precisions {
		for _, s := range []struct{ n, O, chunks int }{
			{27 * 32, 32, 7}, {75, 6, 3}, {6 * 25 * 16, 16, 9}, {4, 6, 9}, {1, 1, 2}, {48, 0, 5}, {9, 0, 3},
		} {
			t.Run(fmt.Sprintf("%s/n=%d_O=%d_chunks=%d", p.name, s.n, s.O, s.chunks), func(t *testing.T) {
				bias := 64 + (s.n+63)/64*64
				c := newTakers(t, p, bias+(s.O+63)/64*64+64)
				partial := numbers(c.rnd, (len(c.rows)+1)*s.chunks*(s.n+s.O))
				a := ConvReduceArgs{
					Partial: upload(c.r, partial), WOffset: 64, BOffset: uint32(bias), N: uint32(s.n), O: uint32(s.O),
					Chunks: uint32(s.chunks), P: uint32(c.P), Step: takersStep, E: takersE,
				}
				c.check(1, [][2]int{{64, 64 + s.n}, {bias, bias + s.O}}, func(w wave, work, grad uint64) {
					a.Work, a.Grad = work, grad
					launch(c.r, "conv_reduce", a.Launch(p.kind()), w.room(), &a)
				})
			})
		}
	}
}
