//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestLinearForward(t *testing.T) {
	eachLinear(t, func(t *testing.T, l *linearRun) {
		n := l.B * l.O
		var sums, sizes []float64 // [K,B,O]
		for k := range l.K {
			c, size := product(l.B, l.O, l.I, rowsOf(l.x[k*l.B*l.I:], l.I), rowsOf(l.weights(k), l.O))
			for i := range c {
				b := float64(l.bias(k)[i%l.O])
				c[i], size[i] = c[i]+b, size[i]+math.Abs(b)
			}
			sums, sizes = append(sums, c...), append(sizes, size...)
		}
		for _, relu := range []bool{false, true} {
			want := slices.Clone(sums)
			for i := range want {
				if relu {
					want[i] = max(want[i], 0)
				}
			}
			for _, yFloat := range []bool{false, true} {
				l.args.ReLU, l.args.YFloat = bit(relu), bit(yFloat)
				l.args.Y = l.r.alloc((l.K + 1) * n * 4)
				half := l.storeHalf()
				if yFloat {
					half = 0
				}
				what := fmt.Sprintf("relu=%t float=%t y", relu, yFloat)
				near(t, what, l.forward(), want, sumTolerance(want, sizes, l.I, half), sumReason)
			}
		}
	})
}

func TestLinearBackwardData(t *testing.T) {
	eachLinear(t, func(t *testing.T, l *linearRun) {
		got := l.data()
		for k := range l.K {
			want, size := product(l.B, l.I, l.O, rowsOf(l.gy[k*l.B*l.O:], l.O), columnsOf(l.weights(k), l.O))
			near(t, fmt.Sprintf("dx of client %d", k), got[k*l.B*l.I:][:l.B*l.I], want,
				sumTolerance(want, size, l.O, l.storeHalf()), sumReason)
		}
	})
}

func TestLinearBackwardFilter(t *testing.T) {
	eachLinear(t, func(t *testing.T, l *linearRun) {
		got, P := l.filter(), int(l.args.P)
		one := func(int, int) float64 { return 1 }
		for k := range l.K {
			grad, gy := got[k*P:][:P], l.gy[k*l.B*l.O:]
			w, b := int(l.args.WOffset), int(l.args.BOffset)
			want, size := product(l.I, l.O, l.B, columnsOf(l.x[k*l.B*l.I:], l.I), rowsOf(gy, l.O))
			near(t, fmt.Sprintf("dw of client %d", k), grad[w:][:l.I*l.O], want,
				sumTolerance(want, size, l.B, 0), sumReason)
			want, size = product(1, l.O, l.B, one, rowsOf(gy, l.O))
			near(t, fmt.Sprintf("db of client %d", k), grad[b:][:l.O], want,
				sumTolerance(want, size, l.B, 0), sumReason)
			for i, g := range grad {
				if math.Float32bits(g) != 0xffffffff && (i < w || i >= w+l.I*l.O) && (i < b || i >= b+l.O) {
					t.Fatalf("grad[%d] of client %d: %g was written, want only dw [%d,%d) and db [%d,%d) written",
						i, k, g, w, w+l.I*l.O, b, b+l.O)
				}
			}
		}
	})
}

// A client's numbers are the same bits whatever trains beside it, and rows of zeros, which pad a ragged batch, add
// nothing.
func TestLinearAlone(t *testing.T) {
	for _, p := range precisions {
		for _, s := range []struct{ I, O int }{{300, 72}, {100, 10}} {
			t.Run(fmt.Sprintf("%s/I=%d_O=%d", p.name, s.I, s.O), func(t *testing.T) {
				const K, B, counted = 3, 40, 7
				l := newLinearRun(t, p, K, B, s.I, s.O)
				for k := range K {
					clear(l.x[k*B*s.I:][counted*s.I : B*s.I])
					clear(l.gy[k*B*s.O:][counted*s.O : B*s.O])
				}
				l.load()
				y, dx, grad := l.forward(), l.data(), l.filter()
				for k := range K {
					one := newLinearRun(t, p, 1, counted, s.I, s.O)
					one.rows = l.rows[k : k+1]
					one.x = slices.Concat(l.x[k*B*s.I:][:counted*s.I], make([]float32, counted*s.I))
					one.gy = slices.Concat(l.gy[k*B*s.O:][:counted*s.O], make([]float32, counted*s.O))
					one.load()
					same(t, fmt.Sprintf("y of client %d", k), y[k*B*s.O:][:counted*s.O], one.forward())
					same(t, fmt.Sprintf("dx of client %d", k), dx[k*B*s.I:][:counted*s.I], one.data())
					same(t, fmt.Sprintf("grad of client %d", k), grad[k*int(l.args.P):][:l.args.P], one.filter())
				}
			})
		}
	}
}

// NaN and infinity come through, so that a diverged client is noticed: ReLU does not hide a NaN.
func TestLinearNaN(t *testing.T) {
	const B, I, O = 3, 40, 20
	for _, p := range precisions {
		t.Run(p.name, func(t *testing.T) {
			l := newLinearRun(t, p, 1, B, I, O)
			l.x[I+5] = float32(math.NaN())
			l.args.ReLU = 1
			l.load()
			for i, v := range l.forward() {
				if got, want := v != v, i/O == 1; got != want {
					t.Fatalf("y[%d,%d] = %g with a NaN in sample 1: want NaN there and nowhere else", i/O, i%O, v)
				}
			}
		})
	}
}
