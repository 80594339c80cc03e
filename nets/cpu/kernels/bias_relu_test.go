package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// biasReLU runs both passes, twice over the same memory, and returns y, dx and db.
func biasReLU(e *Exec[float32], s BiasReLUShape, x, bias, gy []float32) (y, dx, db []float32) {
	y, dx, db = make([]float32, len(gy)), make([]float32, len(x)), make([]float32, len(bias))
	for i := range dx {
		dx[i] = 7 // what another op may have left
	}
	arg := make([]uint8, s.ArgLen())
	var forward BiasReLUForward[float32]
	var backward BiasReLUBackward[float32]
	for range 2 {
		forward.Run(e, s, y, arg, x, bias)
		backward.Run(e, s, dx, db, y, gy, arg)
	}
	return y, dx, db
}

// Windows worked out by hand: the first of equal maxima has the gradient, none has it where y is 0, the last of several
// NaN has it, and the last column and the last row of 3×5 maps have none.
func TestBiasReLUByHand(t *testing.T) {
	nan := float32(math.NaN())
	s := BiasReLUShape{K: 1, B: 1, H: 3, W: 5, C: 1, OutPad: 1, Pool: true}
	x := []float32{
		2, 2, -1, nan, 9,
		1, 2, nan, 5, 9,
		9, 9, 9, 9, 9,
	}
	gy := []float32{0, 0, 0, 0, 0, 10, 20, 0, 0, 0, 0, 0} // [3,4,1] with the border
	for _, c := range []struct{ bias, y, dy float32 }{{1, 3, 10}, {-2, 0, 0}, {-3, 0, 0}} {
		y, dx, db := biasReLU(NewExec(Generic[float32](), nil), s, x, []float32{c.bias}, gy)
		wantY := []float32{0, 0, 0, 0, 0, c.y, nan, 0, 0, 0, 0, 0}
		wantDX := []float32{c.dy, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0}
		what := fmt.Sprintf("bias %g: ", c.bias)
		wantSame(t, what+"y", y, wantY)
		wantSame(t, what+"dx", dx, wantDX)
		wantSame(t, what+"db", db, []float32{c.dy + 20})
	}
	s = BiasReLUShape{K: 1, B: 1, H: 1, W: 4, C: 1}
	y, dx, db := biasReLU(NewExec(Generic[float32](), nil), s, []float32{1, 2, 3, nan}, []float32{-2},
		[]float32{10, 20, 40, 80})
	wantSame(t, "y", y, []float32{0, 0, 1, nan})
	wantSame(t, "dx", dx, []float32{0, 0, 40, 80})
	wantSame(t, "db", db, []float32{120})
}

// Several clients at once, in every variant, on any number of threads, get the bytes that each gets by itself in plain
// Go on one thread.
func TestBiasReLUTogether(t *testing.T) {
	pool := NewPool[float32](3)
	defer pool.Close()
	for _, s := range []BiasReLUShape{
		{K: 3, B: 35, H: 7, W: 9, C: 5, OutPad: 1, Pool: true},
		{K: 3, B: 35, H: 7, W: 9, C: 16, Pool: false},
		{K: 2, B: 17, H: 32, W: 33, C: 33, OutPad: 2, Pool: false},
	} {
		h, w := s.Out()
		r := rand.New(rand.NewPCG(3, 4))
		nx, ny := s.B*s.H*s.W*s.C, s.B*(h+2*s.OutPad)*(w+2*s.OutPad)*s.C
		x, bias, gy := numbers(r, s.K*nx, 0), numbers(r, s.K*s.C, 0), numbers(r, s.K*ny, 0)
		var y, dx, db []float32
		for k := range s.K {
			one := s
			one.K = 1
			a, b, c := biasReLU(NewExec(Generic[float32](), nil), one, x[k*nx:][:nx], bias[k*s.C:][:s.C],
				gy[k*ny:][:ny])
			y, dx, db = append(y, a...), append(dx, b...), append(db, c...)
		}
		for _, k := range Variants() {
			for _, lend := range []*Pool[float32]{nil, pool} {
				gotY, gotDX, gotDB := biasReLU(NewExec(k, lend), s, x, bias, gy)
				what := fmt.Sprintf("%s %+v", k.Name(), s)
				wantSame(t, what+": y", gotY, y)
				wantSame(t, what+": dx", gotDX, dx)
				wantSame(t, what+": db", gotDB, db)
			}
		}
		if !slices.ContainsFunc(db, func(v float32) bool { return v != 0 }) {
			t.Errorf("%+v: every gradient of the bias is 0", s)
		}
	}
}

// BenchmarkBiasReLU times both passes behind convolutions of 64 images of one client, which BenchmarkConv2D times.
func BenchmarkBiasReLU(b *testing.B) {
	for _, k := range Variants()[1:] {
		e := NewExec(k, nil)
		for _, s := range []BiasReLUShape{
			{H: 32, C: 32},
			{H: 32, C: 32, Pool: true},
			{H: 16, C: 32},
			{H: 16, C: 32, Pool: true},
			{H: 7, C: 64},
			{H: 7, C: 64, Pool: true},
		} {
			s.K, s.B, s.W, s.OutPad = 1, 64, s.H, 1
			h, w := s.Out()
			x, y := pattern(s.B*s.H*s.W*s.C), pattern(s.B*(h+2)*(w+2)*s.C)
			dx, bias, db, arg := make([]float32, len(x)), pattern(s.C), make([]float32, s.C), make([]uint8, s.ArgLen())
			var forward BiasReLUForward[float32]
			var backward BiasReLUBackward[float32]
			for phase, run := range map[string]func(){
				"forward":  func() { forward.Run(e, s, y, arg, x, bias) },
				"backward": func() { backward.Run(e, s, dx, db, y, y, arg) },
			} {
				b.Run(fmt.Sprintf("%s/%d²×%d,pool=%t/%s", k.Name(), s.H, s.C, s.Pool, phase), func(b *testing.B) {
					for b.Loop() {
						run()
					}
				})
			}
		}
	}
}
