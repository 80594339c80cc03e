package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// normSizes calls test for counts of channels and rows, with and without NaN and Inf.
func normSizes(t *testing.T, test func(t *testing.T, k Kernels[float32], p *place, r *rand.Rand, n, rows, oneIn int)) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(41, 42))
		for _, n := range channelCounts {
			for _, rows := range []int{0, 1, 2, 9} {
				for _, oneIn := range []int{0, 20} {
					p.Reset()
					test(t, k, p, r, n, rows, oneIn)
				}
			}
		}
	})
}

// data returns fractions, or numbers with NaN and Inf.
func data(r *rand.Rand, n, oneIn int) []float32 {
	if oneIn == 0 {
		return fractions(r, n)
	}
	return numbers(r, n, oneIn)
}

// unclamped returns gy, with 0 where a normalisation of x with ReLU is 0 in variant k; or gy if scale is nil.
func unclamped(k Kernels[float32], gy, x, scale, shift []float32) []float32 {
	g := slices.Clone(gy)
	if scale == nil {
		return g
	}
	y := make([]float32, len(x))
	k.Normalise(y, x, nil, scale, shift, true)
	for i := range g {
		if y[i] <= 0 {
			g[i] = 0
		}
	}
	return g
}

// scaleAndShift returns scale and shift of n channels, or nil.
func scaleAndShift(r *rand.Rand, n int, relu bool) (scale, shift []float32) {
	if !relu {
		return nil, nil
	}
	return fractions(r, n), fractions(r, n)
}

func TestMoments(t *testing.T) {
	normSizes(t, func(t *testing.T, k Kernels[float32], p *place, r *rand.Rand, n, rows, oneIn int) {
		x, pivot, sum, squares := data(r, rows*n, oneIn), fractions(r, n), fractions(r, n), fractions(r, n)
		gotSum, gotSquares := lend(p, sum), lend(p, squares)
		k.Moments(gotSum, gotSquares, lend(p, x), lend(p, pivot))
		what := fmt.Sprintf("C=%d rows=%d NaN or Inf 1 in %d", n, rows, oneIn)
		p.Intact(t, what)
		scale := abs(squares)
		for i, v := range x {
			d := abs([]float32{v})[0] + abs(pivot)[i%n]
			scale[i%n] += d * d
		}
		generic[float32]{}.Moments(sum, squares, x, pivot)
		wantSame(t, what+": sum", gotSum, sum)
		wantNear(t, what+": squares", gotSquares, squares, scale, float64(2*rows+2)*unit,
			"a rounding a term here, two in plain Go")
	})
}

func TestNormalise(t *testing.T) {
	normSizes(t, func(t *testing.T, k Kernels[float32], p *place, r *rand.Rand, n, rows, oneIn int) {
		for mode := range 4 {
			relu := mode&1 != 0
			x, scale, shift := data(r, rows*n, oneIn), fractions(r, n), fractions(r, n)
			var add []float32
			if mode&2 != 0 && rows > 0 {
				add = data(r, rows*n, oneIn)
			}
			p.Reset()
			got := lend(p, numbers(r, rows*n, 0))
			k.Normalise(got, lend(p, x), lend(p, add), lend(p, scale), lend(p, shift), relu)
			what := fmt.Sprintf("C=%d rows=%d relu=%t add=%t NaN or Inf 1 in %d: y", n, rows, relu, add != nil, oneIn)
			p.Intact(t, what)
			want, sizes := make([]float32, rows*n), make([]float32, rows*n)
			generic[float32]{}.Normalise(want, x, add, scale, shift, relu)
			generic[float32]{}.Normalise(sizes, abs(x), abs(add), abs(scale), abs(shift), false)
			wantNear(t, what, got, want, sizes, 4*unit,
				"4·2⁻²⁴ of the sum of magnitudes: three roundings, one fused away")
		}
	})
}

func TestNormSums(t *testing.T) {
	normSizes(t, func(t *testing.T, k Kernels[float32], p *place, r *rand.Rand, n, rows, oneIn int) {
		for mode := range 4 {
			gy, x, mean, db, dw := data(r, rows*n, oneIn), data(r, rows*n, oneIn),
				fractions(r, n), fractions(r, n), fractions(r, n)
			relu, add := mode&1 != 0, mode&2 != 0 && rows > 0
			p.Reset()
			gotDB, gotDW := lend(p, db), lend(p, dw)
			what := fmt.Sprintf("C=%d rows=%d relu=%t add=%t NaN or Inf 1 in %d", n, rows, relu, add, oneIn)
			d := gy
			if add {
				var y []float32
				if relu {
					y = numbers(r, rows*n, oneIn)
					d = unclamped(k, gy, y, slices.Repeat([]float32{1}, n), make([]float32, n))
				}
				got := lend(p, numbers(r, rows*n, 0))
				k.NormSumsAdd(got, gotDB, gotDW, lend(p, gy), lend(p, y), lend(p, x), lend(p, mean))
				wantSame(t, what+": d", got, d)
			} else {
				scale, shift := scaleAndShift(r, n, relu)
				d = unclamped(k, gy, x, scale, shift)
				k.NormSums(gotDB, gotDW, lend(p, gy), lend(p, x), lend(p, mean), lend(p, scale), lend(p, shift))
			}
			p.Intact(t, what)
			sizes := abs(dw)
			for i, v := range x {
				sizes[i%n] += abs(d[i : i+1])[0] * (abs([]float32{v})[0] + abs(mean)[i%n])
			}
			generic[float32]{}.NormSums(db, dw, d, x, mean, nil, nil)
			wantSame(t, what+": db", gotDB, db)
			wantNear(t, what+": dw", gotDW, dw, sizes, float64(2*rows+2)*unit,
				"a rounding a term here, two in plain Go")
		}
	})
}

func TestNormGrad(t *testing.T) {
	normSizes(t, func(t *testing.T, k Kernels[float32], p *place, r *rand.Rand, n, rows, oneIn int) {
		for _, relu := range []bool{false, true} {
			gy, x, a, b, c := data(r, rows*n, oneIn), data(r, rows*n, oneIn),
				fractions(r, n), fractions(r, n), fractions(r, n)
			scale, shift := scaleAndShift(r, n, relu)
			p.Reset()
			got := lend(p, numbers(r, rows*n, 0))
			k.NormGrad(got, lend(p, gy), lend(p, x), lend(p, a), lend(p, b), lend(p, c), lend(p, scale), lend(p, shift))
			what := fmt.Sprintf("C=%d rows=%d relu=%t NaN or Inf 1 in %d: dx", n, rows, relu, oneIn)
			p.Intact(t, what)
			d := unclamped(k, gy, x, scale, shift)
			want, sizes := make([]float32, rows*n), make([]float32, rows*n)
			generic[float32]{}.NormGrad(want, d, x, a, b, c, nil, nil)
			generic[float32]{}.NormGrad(sizes, abs(d), abs(x), abs(a), abs(b), abs(c), nil, nil)
			wantNear(t, what, got, want, sizes, 4*unit,
				"4·2⁻²⁴ of the sum of magnitudes: four roundings, two fused away")
		}
	})
}

func TestNormPanics(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	for _, k := range fast(t) {
		for what, run := range map[string]func(){
			"moments: short sum":     func() { k.Moments(f(2), f(3), f(6), f(3)) },
			"moments: short squares": func() { k.Moments(f(3), f(2), f(6), f(3)) },
			"moments: part of a row": func() { k.Moments(f(3), f(3), slices.Clip(f(5)), f(3)) },
			"moments: no channels":   func() { k.Moments(f(3), f(3), f(6), nil) },
			"normalise: short y":     func() { k.Normalise(f(5), f(6), nil, f(3), f(3), true) },
			"normalise: short add":   func() { k.Normalise(f(6), f(6), f(5), f(3), f(3), true) },
			"normalise: short shift": func() { k.Normalise(f(6), f(6), nil, f(3), f(2), true) },
			"normSums: short db":     func() { k.NormSums(f(2), f(3), f(6), f(6), f(3), nil, nil) },
			"normSums: short dw":     func() { k.NormSums(f(3), f(2), f(6), f(6), f(3), nil, nil) },
			"normSums: short gy":     func() { k.NormSums(f(3), f(3), f(5), f(6), f(3), nil, nil) },
			"normSums: short scale":  func() { k.NormSums(f(3), f(3), f(6), f(6), f(3), f(2), f(3)) },
			"normSums: short shift":  func() { k.NormSums(f(3), f(3), f(6), f(6), f(3), f(3), f(2)) },
			"normSumsAdd: short d":   func() { k.NormSumsAdd(f(5), f(3), f(3), f(6), nil, f(6), f(3)) },
			"normSumsAdd: short db":  func() { k.NormSumsAdd(f(6), f(2), f(3), f(6), nil, f(6), f(3)) },
			"normSumsAdd: short dw":  func() { k.NormSumsAdd(f(6), f(3), f(2), f(6), nil, f(6), f(3)) },
			"normSumsAdd: short gy":  func() { k.NormSumsAdd(f(6), f(3), f(3), f(5), nil, f(6), f(3)) },
			"normSumsAdd: short y":   func() { k.NormSumsAdd(f(6), f(3), f(3), f(6), f(5), f(6), f(3)) },
			"normGrad: short dx":     func() { k.NormGrad(f(5), f(6), f(6), f(3), f(3), f(3), nil, nil) },
			"normGrad: short gy":     func() { k.NormGrad(f(6), f(5), f(6), f(3), f(3), f(3), nil, nil) },
			"normGrad: short b":      func() { k.NormGrad(f(6), f(6), f(6), f(3), f(2), f(3), nil, nil) },
			"normGrad: short c":      func() { k.NormGrad(f(6), f(6), f(6), f(3), f(3), f(2), nil, nil) },
			"normGrad: short scale":  func() { k.NormGrad(f(6), f(6), f(6), f(3), f(3), f(3), f(2), f(3)) },
			"normGrad: short shift":  func() { k.NormGrad(f(6), f(6), f(6), f(3), f(3), f(3), f(3), f(2)) },
		} {
			wantPanic(t, k.Name()+": "+what, run)
		}
	}
}

// Moments folded block by block and joined chunk by chunk are those of all numbers, also about a mean far from 0.
func TestMomentsJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	const C, rows = 3, 4000
	x := make([]float64, rows*C)
	for i := range x {
		x[i] = 1000 + r.NormFloat64()
	}
	parts := []moments{
		{mean: make([]float64, C), m2: make([]float64, C)},
		{mean: make([]float64, C), m2: make([]float64, C)},
		{mean: make([]float64, C), m2: make([]float64, C)},
	}
	at := 0
	for i, n := range []int{1, 999, 1500, 1500} { // the first two in one part, the third part empty
		sum, squares, block := make([]float64, C), make([]float64, C), x[at*C:][:n*C]
		generic[float64]{}.Moments(sum, squares, block, block[:C])
		fold(&parts[i/2], float64(n), sum, squares, block[:C])
		at += n
	}
	m := &parts[0]
	m.join(&parts[2])
	m.join(&parts[1])
	if m.n != rows {
		t.Fatalf("%g rows, want %d", m.n, rows)
	}
	for c := range C {
		mean, m2 := 0.0, 0.0
		for i := c; i < len(x); i += C {
			mean += x[i] / rows
		}
		for i := c; i < len(x); i += C {
			m2 += (x[i] - mean) * (x[i] - mean)
		}
		// Sums of 4000 terms in float64.
		if d := m.mean[c] - mean; d > 1e-9 || d < -1e-9 {
			t.Errorf("channel %d: mean %.15g, want %.15g ± 1e-9", c, m.mean[c], mean)
		}
		if d := m.m2[c]/m2 - 1; d > 1e-9 || d < -1e-9 {
			t.Errorf("channel %d: sum of squares %.15g, want %.15g ± 1e-9 of it", c, m.m2[c], m2)
		}
	}
}
