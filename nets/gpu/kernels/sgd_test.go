//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sgdReference returns w and v after a step in the order of the CPU's vector kernels, which fuse every addition except
// that of drift. v and drift may be nil.
func sgdReference(w, g, v, drift []float32, scale, lr, decay, momentum float32) (newW, newV []float32) {
	newW = make([]float32, len(w))
	if v != nil {
		newV = make([]float32, len(w))
	}
	for i := range w {
		d := fma32(decay, w[i], scale*g[i])
		if drift != nil {
			d += drift[i]
		}
		if v != nil {
			d = fma32(momentum, v[i], d)
			newV[i] = d
		}
		newW[i] = fma32(-lr, d, w[i])
	}
	return newW, newV
}

func TestSGD(t *testing.T) {
	for _, p := range precisions {
		for _, P := range rowSizes {
			for _, clipped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/P=%d_clipped=%t", p.name, P, clipped),
					func(t *testing.T) { testSGD(t, p, P, P, clipped) })
			}
			for _, running := range []int{64, 1088} {
				t.Run(fmt.Sprintf("%s/P=%d_running=%d", p.name, P, running),
					func(t *testing.T) { testSGD(t, p, P, P+running, true) })
			}
		}
	}
}

// track moves running statistics towards the statistics of a batch, as the CPU's Step does with a rate of 0.1, a scale
// of −1 and a decay of 1.
func track(running, batch []float32) {
	for i, w := range running {
		running[i] = fma32(-0.1, w-batch[i], w)
	}
}

// testSGD trains a client of every kind, with and without momentum and drift, whose batch counts, and one whose batch
// is empty. The first n of P elements are weights. sgd must not touch the rest, and track must move it.
func testSGD(t *testing.T, p precision, n, P int, clipped bool) {
	const E, step, lr, decay, momentum = 3, 1, 0.1, 0.01, 0.9
	r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(P), 1))
	type client struct{ row, v, drift, wantRow, wantV []float32 }
	K := len(takerKinds)
	grad, scale := numbers(rnd, (K+1)*P), make([]float32, K+1)
	for k := range scale {
		scale[k] = 1
		if clipped {
			scale[k] = rnd.Float32()
		}
	}
	clients, count, rows := make([]client, K), make([]int32, K*E), make([][]float32, K)
	for k, kind := range takerKinds {
		c := &clients[k]
		c.row = numbers(rnd, P)
		if kind.momentum {
			c.v = numbers(rnd, P)
		}
		if kind.drift {
			c.drift = numbers(rnd, P)
		}
		c.wantRow, c.wantV = sgdReference(c.row, grad[k*P:][:P], c.v, c.drift, scale[k], lr, decay, momentum)
		count[k*E+step] = int32(k + 1)
		copy(c.wantRow[n:], c.row[n:])
		if c.v != nil {
			copy(c.wantV[n:], c.v[n:])
		}
		if kind.empty {
			c.wantRow, c.wantV = append([]float32{}, c.row...), c.v
			count[k*E], count[k*E+step], count[k*E+2] = 1, 0, 1
		}
		rows[k] = c.row
	}
	slots := r.slots(p, rows...)
	for k, c := range clients {
		slots[k].Momentum, slots[k].Drift = upload(r, c.v), upload(r, c.drift)
	}
	w := wave{Slots: slots, E: E, B: 1, Count: count, LR: lr, WeightDecay: decay, Momentum: momentum}
	a := SGDArgs{Work: r.work(w), Grad: upload(r, grad), P: uint32(P), N: uint32(n), Step: step, E: E}
	if clipped {
		a.Scale = upload(r, scale)
	}
	launch(r, "sgd", a.Launch(p.kind()), w.room(), &a)
	for k, c := range clients {
		what := fmt.Sprintf("client %d %+v: ", k, takerKinds[k])
		same(t, what+"row", download[float32](r, slots[k].Row, P), c.wantRow)
		same(t, what+"weights", p.download(r, slots[k].Weights, P), p.copied(c.wantRow))
		if c.v != nil {
			same(t, what+"momentum", download[float32](r, slots[k].Momentum, P), c.wantV)
		}
		if c.drift != nil {
			same(t, what+"drift", download[float32](r, slots[k].Drift, P), c.drift)
		}
	}
	if n < P {
		launch(r, "track", a.Running(FP32), w.room(), &a)
	}
	for k, c := range clients {
		if !takerKinds[k].empty {
			track(c.wantRow[n:], grad[k*P+n:][:P-n])
		}
		what := fmt.Sprintf("client %d %+v, tracked: ", k, takerKinds[k])
		same(t, what+"row", download[float32](r, slots[k].Row, P), c.wantRow)
		if c.v != nil {
			same(t, what+"momentum", download[float32](r, slots[k].Momentum, P), c.wantV)
		}
	}
	same(t, "gradient, which is only read", download[float32](r, a.Grad, len(grad)), grad)
}

func TestClip(t *testing.T) {
	for _, P := range rowSizes {
		t.Run(fmt.Sprintf("P=%d", P), func(t *testing.T) {
			r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(P), 2))
			const K, clip, running = 5, 0.5, 64
			n := P
			P := n + running          // the elements behind the gradients do not count
			grad := numbers(rnd, K*P) // client 0 is far above the bound
			for i := range P {
				grad[P+i] *= 1e-3 // below it for the smaller rows, above for the larger
				grad[2*P+i] = 0
				grad[3*P+i] *= 1e30 // its square is no float
			}
			grad[4*P+n/2] = float32(math.NaN())
			for k := range K {
				for i := n; i < P; i++ {
					grad[k*P+i] = 1e30
				}
			}
			w := wave{Slots: make([]Slot, K), E: 1, B: 1, Clip: clip}
			a := ClipArgs{
				Work: r.work(w), Grad: upload(r, append(grad, make([]float32, P)...)), P: uint32(P), N: uint32(n),
			}
			a.Partial, a.Scale = blank[float64](r, w.room()*Partials(a.N)), blank[float32](r, w.room())
			launch(r, "grad_squares", a.Squares(FP32), w.room(), &a)
			launch(r, "clip_scale", a.Scales(FP32), w.room(), &a)
			want := make([]float64, K)
			for k := range want {
				sum := 0.0
				for _, s := range chunkDot(grad[k*P:][:n], grad[k*P:][:n]) {
					sum += s
				}
				want[k] = 1
				if norm := math.Sqrt(sum); norm > clip { // as the CPU: NaN clips nothing
					want[k] = clip / norm
				}
			}
			near(t, "scale", download[float32](r, a.Scale, K), want,
				func(i int) float64 { return 0x1p-24 * 1.001 * want[i] },
				"one rounding to float of a double right to about 1e-13")
			r.untouched("scale of the slot not in use", a.Scale+4*K, 4)
			r.untouched("sums of the slot not in use", a.Partial+uint64(8*K*Partials(a.N)), 8*Partials(a.N))
		})
	}
}

// More sums than threads, as the largest nets have.
func TestClipScaleOfManySums(t *testing.T) {
	const K, sums = 2, 1000
	r, rnd := newRig(t), rand.New(rand.NewPCG(7, 8))
	w := wave{Slots: make([]Slot, K), E: 1, B: 1, Clip: 0.5}
	partial, want := make([]float64, (K+1)*sums), make([]float64, K)
	for i := range partial {
		partial[i] = rnd.Float64()
		if i < K*sums {
			want[i/sums] += partial[i]
		}
	}
	for k, sum := range want {
		want[k] = 0.5 / math.Sqrt(sum)
	}
	a := ClipArgs{
		Work: r.work(w), Partial: upload(r, partial), Scale: blank[float32](r, w.room()),
		P: sums * 4096, N: sums*4096 - 64,
	}
	launch(r, "clip_scale", a.Scales(FP32), w.room(), &a)
	near(t, "scale", download[float32](r, a.Scale, K), want, func(i int) float64 { return 0x1p-24 * 1.001 * want[i] },
		"one rounding to float of a double right to about 1e-13")
}
