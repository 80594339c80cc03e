package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// channelCounts are counts of channels around the widths of registers and of strips of them.
var channelCounts = []int{1, 2, 3, 5, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 129}

func TestTranspose(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(1, 2))
		for rows := 1; rows <= 40; rows++ {
			for cols := 1; cols <= 40; cols++ {
				ldSrc, ldDst := cols+r.IntN(4), rows+r.IntN(4)
				src, dst := numbers(r, (rows-1)*ldSrc+cols, 50), numbers(r, (cols-1)*ldDst+rows, 0)
				p.Reset()
				got, in := lend(p, dst), lend(p, src)
				generic[float32]{}.Transpose(dst, ldDst, src, ldSrc, rows, cols)
				k.Transpose(got, ldDst, in, ldSrc, rows, cols)
				what := fmt.Sprintf("%d × %d, %d and %d apart: dst", rows, cols, ldSrc, ldDst)
				p.Intact(t, what)
				wantSame(t, what, got, dst)
			}
		}
	})
}

func TestPoolReLU(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range channelCounts {
			for _, w := range []int{1, 2, 5, 16} {
				for _, oneIn := range []int{0, 4, 100} {
					top, bottom, bias := numbers(r, 2*w*n, oneIn), numbers(r, 2*w*n, oneIn), numbers(r, n, oneIn)
					want, wantArg := make([]float32, w*n), make([]uint8, w*n)
					generic[float32]{}.PoolReLU(want, wantArg, top, bottom, bias)
					p.Reset()
					got, arg := lend(p, numbers(r, w*n, 0)), lend(p, slices.Repeat([]uint8{99}, w*n))
					k.PoolReLU(got, arg, lend(p, top), lend(p, bottom), lend(p, bias))
					what := fmt.Sprintf("O=%d W/2=%d NaN or Inf 1 in %d", n, w, oneIn)
					p.Intact(t, what)
					wantSame(t, what+": y", got, want)
					wantSameBytes(t, what+": arg", arg, wantArg)
				}
			}
		}
	})
}

func wantSameBytes(t *testing.T, what string, got, want []uint8) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s[%d]: got %d, want %d", what, i, got[i], want[i])
		}
	}
}

func TestUnpoolReLU(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, n := range channelCounts {
			for _, w := range []int{1, 2, 5, 16} {
				for _, oneIn := range []int{0, 20} {
					gy, db, arg := fractions(r, w*n), fractions(r, n), make([]uint8, w*n)
					if oneIn > 0 {
						gy, db = numbers(r, w*n, oneIn), numbers(r, n, oneIn)
					}
					for i := range arg {
						arg[i] = uint8(r.IntN(Dead + 1))
					}
					p.Reset()
					top, bottom, gotDB := lend(p, numbers(r, 2*w*n, 0)), lend(p, numbers(r, 2*w*n, 0)), lend(p, db)
					k.UnpoolReLU(top, bottom, gotDB, lend(p, gy), lend(p, arg))
					what := fmt.Sprintf("O=%d W/2=%d NaN or Inf 1 in %d", n, w, oneIn)
					p.Intact(t, what)
					wantTop, wantBottom := make([]float32, 2*w*n), make([]float32, 2*w*n)
					generic[float32]{}.UnpoolReLU(wantTop, wantBottom, db, gy, arg)
					wantSame(t, what+": top", top, wantTop)
					wantSame(t, what+": bottom", bottom, wantBottom)
					wantSame(t, what+": db", gotDB, db)
				}
			}
		}
	})
}

func TestBiasReLU(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, n := range channelCounts {
			for _, rows := range []int{0, 1, 2, 9} {
				for _, relu := range []bool{false, true} {
					ld := n + r.IntN(5)
					y, bias := numbers(r, max(0, (rows-1)*ld+n), 10), numbers(r, n, 30)
					p.Reset()
					got := lend(p, y)
					k.BiasReLU(got, rows, ld, lend(p, bias), relu)
					what := fmt.Sprintf("rows=%d of %d, %d apart, relu=%t: y", rows, n, ld, relu)
					p.Intact(t, what)
					generic[float32]{}.BiasReLU(y, rows, ld, bias, relu)
					wantSame(t, what, got, y)
				}
			}
		}
	})
}

func TestReLUGrad(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, n := range channelCounts {
			for _, rows := range []int{0, 1, 2, 9} {
				for _, relu := range []bool{false, true} {
					for _, inPlace := range []bool{false, true} {
						gy, y, db := fractions(r, rows*n), numbers(r, rows*n, 10), fractions(r, n)
						if r.IntN(2) == 0 {
							gy = numbers(r, rows*n, 20)
						}
						p.Reset()
						in, gotDB := lend(p, gy), lend(p, db)
						got := in
						if !inPlace {
							got = lend(p, numbers(r, rows*n, 0))
						}
						gotY := lend(p, y)
						if !relu {
							gotY = nil
						}
						k.ReLUGrad(got, gotDB, in, gotY, relu)
						what := fmt.Sprintf("rows=%d of %d, relu=%t, in place %t", rows, n, relu, inPlace)
						p.Intact(t, what)
						want := make([]float32, rows*n)
						generic[float32]{}.ReLUGrad(want, db, gy, y, relu)
						wantSame(t, what+": d", got, want)
						wantSame(t, what+": db", gotDB, db)
					}
				}
			}
		}
	})
}

// lengths are counts of elements around the widths of registers and of four of them.
var lengths = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 1023, 4099}

func TestScale(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, n := range lengths {
			for _, c := range []float32{0, 1, -0.3} {
				src := append(fractions(r, n), numbers(r, 9, 3)...)
				src = src[len(src)-n:]
				want := make([]float32, n)
				generic[float32]{}.Scale(want, c, src)
				p.Reset()
				dst, in := lend(p, numbers(r, n, 0)), lend(p, src)
				what := fmt.Sprintf("n=%d c=%g", n, c)
				k.Scale(dst, c, in)
				p.Intact(t, what)
				wantSame(t, what+": dst", dst, want)
				k.Scale(in, c, in)
				wantSame(t, what+": in place", in, want)
			}
		}
	})
}

func TestAxpy(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, n := range lengths {
			for _, oneIn := range []int{0, 5} {
				dst, src, c := fractions(r, n), fractions(r, n), 2*r.Float32()-1
				if oneIn > 0 {
					dst, src = numbers(r, n, oneIn), numbers(r, n, oneIn)
				}
				scale := abs(dst)
				for i, v := range abs(src) {
					scale[i] += max(c, -c) * v
				}
				p.Reset()
				got := lend(p, dst)
				k.Axpy(got, c, lend(p, src))
				what := fmt.Sprintf("n=%d c=%g: dst", n, c)
				p.Intact(t, what)
				generic[float32]{}.Axpy(dst, c, src)
				wantNear(t, what, got, dst, scale, 4*unit, "4·2⁻²⁴·(|dst|+|c·src|): three roundings, one fused away")
			}
		}
	})
}

func TestStep(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, n := range lengths {
			for mode := range 8 { // momentum, drift, NaN and Inf
				s := Step[float32]{LR: r.Float32(), Scale: r.Float32(), Decay: r.Float32(), Momentum: r.Float32()}
				data := func() []float32 {
					if mode&4 != 0 {
						return numbers(r, n, 20)
					}
					return fractions(r, n)
				}
				w, g := data(), data()
				var v, drift []float32
				if mode&1 != 0 {
					v = data()
				}
				if mode&2 != 0 {
					drift = data()
				}
				p.Reset()
				gotW, gotG, gotV, gotDrift := lend(p, w), lend(p, g), lend(p, v), lend(p, drift)
				k.Step(gotW, gotG, gotV, gotDrift, s)
				what := fmt.Sprintf("n=%d momentum %t drift %t", n, v != nil, drift != nil)
				p.Intact(t, what)
				// The same step of the magnitudes, added up; each of at most nine roundings is a unit of at most that
				// sum.
				sum := Step[float32]{LR: -s.LR, Scale: s.Scale, Decay: s.Decay, Momentum: s.Momentum}
				scaleW, scaleV := abs(w), abs(v)
				generic[float32]{}.Step(scaleW, abs(g), scaleV, abs(drift), sum)
				generic[float32]{}.Step(w, g, v, drift, s)
				const why = "16·2⁻²⁴ of the sum of magnitudes: at most nine roundings here, fewer fused"
				wantNear(t, what+": w", gotW, w, scaleW, 16*unit, why)
				if v != nil {
					wantNear(t, what+": v", gotV, v, scaleV, 16*unit, why)
				}
			}
		}
	})
}

func TestPrefetch(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(33, 34))
		for _, n := range lengths {
			x, b := numbers(r, n, 0), make([]uint8, n)
			p.Reset()
			got, gotB := lend(p, x), lend(p, b)
			k.Prefetch(got, gotB)
			what := fmt.Sprintf("n=%d", n)
			p.Intact(t, what)
			wantSame(t, what+": x", got, x)
			wantSameBytes(t, what+": b", gotB, b)
		}
	})
}

func TestElementwisePanics(t *testing.T) {
	for _, k := range fast(t) {
		f := func(n int) []float32 { return make([]float32, n) }
		u := func(n int) []uint8 { return make([]uint8, n) }
		s := Step[float32]{}
		for what, run := range map[string]func(){
			"transpose: short dst":      func() { k.Transpose(f(5*3-1), 3, f(15), 5, 3, 5) },
			"transpose: short src":      func() { k.Transpose(f(15), 3, f(14), 5, 3, 5) },
			"transpose: rows overlap":   func() { k.Transpose(f(15), 2, f(15), 5, 3, 5) },
			"poolReLU: short arg":       func() { k.PoolReLU(f(6), u(5), f(12), f(12), f(3)) },
			"poolReLU: short top":       func() { k.PoolReLU(f(6), u(6), f(11), f(12), f(3)) },
			"poolReLU: short bottom":    func() { k.PoolReLU(f(6), u(6), f(12), f(11), f(3)) },
			"poolReLU: no channels":     func() { k.PoolReLU(f(6), u(6), f(12), f(12), nil) },
			"unpoolReLU: short arg":     func() { k.UnpoolReLU(f(12), f(12), f(3), f(6), u(5)) },
			"unpoolReLU: short top":     func() { k.UnpoolReLU(f(11), f(12), f(3), f(6), u(6)) },
			"unpoolReLU: short bottom":  func() { k.UnpoolReLU(f(12), f(11), f(3), f(6), u(6)) },
			"biasReLU: short y":         func() { k.BiasReLU(f(7), 2, 5, f(3), true) },
			"biasReLU: rows overlap":    func() { k.BiasReLU(f(7), 2, 2, f(3), true) },
			"reluGrad: short d":         func() { k.ReLUGrad(f(5), f(3), f(6), f(6), true) },
			"reluGrad: short y":         func() { k.ReLUGrad(f(6), f(3), f(6), f(5), true) },
			"reluGrad: part of a row":   func() { k.ReLUGrad(f(6), f(3), f(5), f(6), true) },
			"scale: short dst":          func() { k.Scale(f(4), 1, f(5)) },
			"axpy: short dst":           func() { k.Axpy(f(4), 1, f(5)) },
			"dot: short y":              func() { k.Dot(f(5), f(4)) },
			"step: short g":             func() { k.Step(f(5), f(4), nil, nil, s) },
			"step: short v":             func() { k.Step(f(5), f(5), f(4), nil, s) },
			"step: short drift":         func() { k.Step(f(5), f(5), nil, f(4), s) },
			"step: empty v, not nil":    func() { k.Step(f(5), f(5), f(0), nil, s) },
			"step: short v, with drift": func() { k.Step(f(5), f(5), f(4), f(5), s) },
		} {
			wantPanic(t, k.Name()+": "+what, run)
		}
	}
}
