package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The transforms round as plain Go does: they fuse no product with a sum.
func TestWinogradTransforms(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r, plain := rand.New(rand.NewPCG(61, 62)), generic[float32]{}
		for _, n := range channelCounts {
			for _, oneIn := range []int{0, 30} {
				what := fmt.Sprintf("%d channels, NaN or Inf 1 in %d: ", n, oneIn)
				for overlap, kernel := range map[int][2]func(*TileRow[float32]){
					2: {k.WinogradInput, plain.WinogradInput}, 0: {k.WinogradGradient, plain.WinogradGradient},
				} {
					row := TileRow[float32]{
						Row: n + r.IntN(9), Sign: float32(2*r.IntN(2) - 1), Pixel: n + r.IntN(9), Tiles: 1 + r.IntN(5),
						Channels: n,
					}
					row.Plane = row.Tiles*row.Row + r.IntN(9)
					pixels := (2*row.Tiles+overlap-1)*row.Pixel + n
					a, b := data(r, pixels, oneIn), data(r, pixels, oneIn)
					v := fractions(r, 3*row.Plane+(row.Tiles-1)*row.Row+n)
					p.Reset()
					got, want := row, row
					got.V, got.A, got.B = lend(p, v), lend(p, a), lend(p, b)
					want.V, want.A, want.B = v, a, b
					kernel[0](&got)
					kernel[1](&want)
					p.Intact(t, what+"tiles")
					wantSame(t, fmt.Sprintf("%soverlap %d: V", what, overlap), got.V, want.V)
				}

				tiles, row := 1+r.IntN(5), n+r.IntN(9)
				plane := tiles*row + r.IntN(9)
				m, y := data(r, 15*plane+(tiles-1)*row+n, oneIn), make([]float32, 4*tiles*n)
				p.Reset()
				top, bottom := lend(p, y[:2*tiles*n]), lend(p, y[2*tiles*n:])
				k.WinogradOutput(top, bottom, lend(p, m), plane, row, tiles, n)
				plain.WinogradOutput(y[:2*tiles*n], y[2*tiles*n:], m, plane, row, tiles, n)
				p.Intact(t, what+"output")
				wantSame(t, what+"top and bottom", slices.Concat(top, bottom), y)

				rows, ld := 1+r.IntN(4), n+r.IntN(9)
				place := rows*ld + r.IntN(9)
				plane = rows*n + r.IntN(9)
				w, u := data(r, 8*place+(rows-1)*ld+n, oneIn), fractions(r, 15*plane+rows*n)
				p.Reset()
				got := lend(p, u)
				k.WinogradWeights(got, plane, lend(p, w), place, ld, rows, n)
				plain.WinogradWeights(u, plane, w, place, ld, rows, n)
				p.Intact(t, what+"weights")
				wantSame(t, what+"u", got, u)

				place, plane = n+r.IntN(9), n+r.IntN(9)
				du, dw := data(r, 15*plane+n, oneIn), fractions(r, 8*place+n)
				p.Reset()
				got = lend(p, dw)
				k.WinogradWeightsGrad(got, place, lend(p, du), plane, n)
				plain.WinogradWeightsGrad(dw, place, du, plane, n)
				p.Intact(t, what+"gradient of weights")
				wantSame(t, what+"dw", got, dw)
			}
		}
	})
}

func TestWinogradPanics(t *testing.T) {
	x := make([]float32, 16*64)
	row := TileRow[float32]{
		V: x[:3*20+16], Plane: 20, Row: 8, A: x[:5*8+8], B: x[:5*8+8], Sign: 1, Pixel: 8, Tiles: 2, Channels: 8,
	}
	for _, k := range fast(t) {
		run := func(change func(*TileRow[float32])) func() {
			u := row
			change(&u)
			return func() { k.WinogradInput(&u) }
		}
		run(func(*TileRow[float32]) {})()
		for what, f := range map[string]func(){
			"short V":       run(func(u *TileRow[float32]) { u.V = u.V[:3*20+15] }),
			"short A":       run(func(u *TileRow[float32]) { u.A = u.A[:47] }),
			"short B":       run(func(u *TileRow[float32]) { u.B = u.B[:47] }),
			"no tiles":      run(func(u *TileRow[float32]) { u.Tiles = 0 }),
			"no channels":   run(func(u *TileRow[float32]) { u.Channels = 0 }),
			"narrow pixels": run(func(u *TileRow[float32]) { u.Pixel = 7 }),
			"narrow planes": run(func(u *TileRow[float32]) { u.Plane = 7 }),
			"short m":       func() { k.WinogradOutput(x, x[32:], x[:16*8-1], 8, 8, 1, 8) },
			"short bottom":  func() { k.WinogradOutput(x, x[:15], x[:16*8], 8, 8, 1, 8) },
			"short u":       func() { k.WinogradWeights(x[:16*8-1], 8, x, 8, 8, 1, 8) },
			"short w":       func() { k.WinogradWeights(x, 8, x[:9*8-1], 8, 8, 1, 8) },
			"short dw":      func() { k.WinogradWeightsGrad(x[:9*8-1], 8, x, 8, 8) },
			"short du":      func() { k.WinogradWeightsGrad(x, 8, x[:16*8-1], 8, 8) },
		} {
			wantPanic(t, k.Name()+": "+what, f)
		}
	}
}

// conv2D is what the three products of a convolution compute.
type conv2D[T Float] struct{ y, dx, dw []T }

// runConv2D computes all three by Winograd's algorithm, whatever [Conv2DShape.Winograd] says, or directly. y and dw
// have other numbers before, dx is zero.
func runConv2D[T Float](e *Exec[T], s Conv2DShape, x, w, gy []T, inTiles bool) conv2D[T] {
	out := conv2D[T]{slices.Clone(gy), make([]T, len(x)), slices.Clone(w)}
	forward := Conv2DForward[T]{Conv2DShape: s, y: out.y, x: x, w: w}
	input := Conv2DInput[T]{Conv2DShape: s, dx: out.dx, w: w, gy: gy}
	weights := Conv2DWeights[T]{Conv2DShape: s, dw: out.dw, x: x, gy: gy}
	for range 2 { // the second time in memory that has the numbers of the first
		if inTiles {
			forward.inTiles(e)
			input.inTiles(e)
			weights.inTiles(e)
		} else {
			forward.direct(e)
			input.direct(e)
			weights.direct(e)
		}
	}
	return out
}

// bordered returns images whose borders are zeros.
func bordered(r *rand.Rand, s Conv2DShape) []float32 {
	x := fractions(r, s.K*s.B*s.xLen())
	for i := range x {
		if row, col := i/s.C/s.W%s.H, i/s.C%s.W; min(row, col, s.H-1-row, s.W-1-col) < s.Border {
			x[i] = 0
		}
	}
	return x
}

// winogradShapes returns shapes with every kind of edge, and random ones.
func winogradShapes(r *rand.Rand) []Conv2DShape {
	shapes := []Conv2DShape{
		{K: 2, B: 18, H: 6, W: 6, C: 64, O: 64, Border: 1, Pad: 1},  // two groups of images
		{K: 1, B: 3, H: 6, W: 6, C: 160, O: 184, Border: 1, Pad: 1}, // large weights: two parts of channels
		{K: 2, B: 3, H: 6, W: 8, C: 460, O: 64, Border: 1, Pad: 1},  // and two blocks of channels
		{K: 1, B: 1, H: 5, W: 200, C: 64, O: 64},                    // a row of tiles that is a block
		{K: 1, B: 7, H: 14, W: 14, C: 64, O: 72, Border: 1, Pad: 1}, // several blocks
		{K: 1, B: 2, H: 3, W: 3, C: 64, O: 64},                      // one output
		{K: 1, B: 2, H: 3, W: 3, C: 64, O: 64, Border: 1, Pad: 1},
	}
	for range 12 {
		s := Conv2DShape{K: 1 + r.IntN(2), B: 1 + r.IntN(3), Pad: r.IntN(3), C: 64 + r.IntN(97), O: 64 + r.IntN(97)}
		s.Border = s.Pad + r.IntN(2)
		s.H = 2*s.Border + max(1, 3-2*s.Pad) + r.IntN(10)
		s.W = 2*s.Border + max(1, 3-2*s.Pad) + r.IntN(10)
		shapes = append(shapes, s)
	}
	for i := range shapes {
		shapes[i].R, shapes[i].S, shapes[i].Stride = 3, 3, 1
	}
	return shapes
}

// Winograd's convolution is as near to float64 as the direct one, in any variant, and has the same bits on any number
// of threads and in both instruction sets. It leaves the border of dx alone.
func TestWinogradConvolution(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	pool := NewPool[float32](2)
	defer pool.Close()
	worst := map[string][2]float64{} // of direct and of Winograd's, by variant and product
	for _, s := range winogradShapes(r) {
		x, w, gy := bordered(r, s), fractions(r, s.K*s.wLen()), fractions(r, s.K*s.B*s.yLen())
		wide := NewExec(Generic[float64](), nil)
		want := runConv2D(wide, s, widened(x), widened(w), widened(gy), false)
		fine := runConv2D(wide, s, widened(x), widened(w), widened(gy), true)
		for name, d := range map[string]float64{
			"y": apart(fine.y, want.y), "dx": apart(fine.dx, want.dx), "dw": apart(fine.dw, want.dw),
		} {
			if !(d <= 1e-14) {
				t.Errorf("%+v: float64: %s is %.2g of the largest off, want at most 1e-14", s, name, d)
			}
		}
		var first conv2D[float32]
		for i, k := range Variants() {
			what := fmt.Sprintf("%s: %+v: ", k.Name(), s)
			e := NewExec(k, nil)
			direct, got := runConv2D(e, s, x, w, gy, false), runConv2D(e, s, x, w, gy, true)
			for _, c := range []struct {
				name              string
				direct, got, want []float64
			}{
				{"y", widened(direct.y), widened(got.y), want.y},
				{"dx", widened(direct.dx), widened(got.dx), want.dx},
				{"dw", widened(direct.dw), widened(got.dw), want.dw},
			} {
				d, g, at := apart(c.direct, c.want), apart(c.got, c.want), k.Name()+" "+c.name
				worst[at] = [2]float64{max(worst[at][0], d), max(worst[at][1], g)}
				// The direct sums are 2 to 6 roundings of the largest off, Winograd's transforms add a few.
				if !(g <= 1e-6) {
					t.Errorf("%s%s is %.2g of the largest off, want at most 1e-6; direct %.2g", what, c.name, g, d)
				}
			}
			compare := func(how string, other conv2D[float32]) {
				wantSame(t, what+how+": y", other.y, got.y)
				wantSame(t, what+how+": dx", other.dx, got.dx)
				wantSame(t, what+how+": dw", other.dw, got.dw)
			}
			compare("threads", runConv2D(NewExec(k, pool), s, x, w, gy, true))
			if i == 1 {
				first = got
			} else if i > 1 {
				compare("beside "+Variants()[1].Name(), first)
			}
		}
	}
	for at, w := range worst {
		t.Logf("%s: the largest error by the largest element: direct %.2g, Winograd's %.2g", at, w[0], w[1])
		if w[1] > 2*w[0] {
			t.Errorf("%s: Winograd's error is %.2g, want at most twice the direct one, %.2g", at, w[1], w[0])
		}
	}
}

// widened returns x in float64.
func widened[T Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// apart returns the largest difference of two vectors by the largest element of want.
func apart(got, want []float64) float64 {
	diff, largest := 0.0, 0.0
	for i, v := range want {
		if d := math.Abs(got[i] - v); !(d <= diff) {
			diff = d
		}
		largest = max(largest, math.Abs(v))
	}
	return diff / largest
}

// The rule is of the shape: of the stages of residual nets, and of maps whose zeros the direct convolution leaves out.
func TestWinogradRule(t *testing.T) {
	for _, c := range []struct {
		channels, side, pad, stride, outputs, window int
		want                                         bool
	}{
		{64, 32, 1, 1, 64, 3, true},
		{128, 16, 1, 1, 128, 3, true},
		{256, 8, 1, 1, 256, 3, true},
		{512, 4, 1, 1, 512, 3, true},
		{64, 8, 1, 1, 64, 3, true},
		{70, 7, 1, 1, 100, 3, true},
		{64, 5, 1, 1, 64, 3, false},
		{64, 3, 1, 1, 64, 3, false},
		{64, 2, 1, 1, 64, 3, false},
		{64, 14, 0, 1, 64, 3, true},
		{64, 6, 0, 1, 64, 3, true},
		{64, 4, 0, 1, 64, 3, false},
		{63, 32, 1, 1, 64, 3, false},
		{64, 32, 1, 1, 63, 3, false},
		{64, 32, 1, 2, 64, 3, false},
		{64, 32, 1, 1, 64, 5, false},
		{64, 32, 0, 1, 64, 1, false},
	} {
		for border := c.pad; border <= c.pad+1; border++ {
			s := Conv2DShape{
				K: 1, B: 1, H: c.side + 2*border, W: c.side + 2*border, C: c.channels, R: c.window, S: c.window,
				O: c.outputs, Stride: c.stride, Border: border, Pad: c.pad,
			}
			if got := s.Winograd(); got != c.want {
				t.Errorf("%+v: got %t, want %t", s, got, c.want)
			}
		}
	}
}
