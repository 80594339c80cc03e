package cpu

import (
	"fmt"
	"unsafe"
)

// code is the assembly of one instruction set, and the numbers that the Go code around it wants to know. Its methods
// are the kernels: they look at lengths, so that a slice too short panics as it does in plain Go, and pass pointers on.
type code struct {
	name                             string
	lanes                            int // float32 in a register
	tall                             int // rows of a tile of two registers, at most
	gemmWide, gemmRagged, gemmNarrow func(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)
	transpose                        func(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)
	poolReLU                         func(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)
	unpoolReLU                       func(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)
	biasReLU                         func(y *float32, rows, ld int, bias *float32, cols int, relu bool)
	reluGrad                         func(d, db, gy, y *float32, rows, cols int, relu bool)
	moments                          func(sum, squares, x, pivot *float32, rows, cols int)
	normalise                        [2][2]normaliseFunc // by add, ReLU
	normSums                         [2][2]normSumsFunc  // by d, ReLU
	normGrad                         [2]normGradFunc     // by ReLU
	scale, axpy                      func(dst *float32, c float32, src *float32, n int)
	steps                            [2][2]stepFunc // by momentum, drift
	gather                           func(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32,
		rows, groups, stepDst, stepImg, rowDst, rowImg, tail int)
	applyMask func(y, x *float32, mask *uint8, n int, scale float32)
	softmax   func(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)
	prefetch  func(p *byte, lines int)
}

type (
	normaliseFunc = func(y, x, add, scale, shift *float32, rows, cols int)
	normSumsFunc  = func(d, db, dw, gy, y, x, mean *float32, rows, cols int)
	normGradFunc  = func(dx, gy, y, x, a, b, c *float32, rows, cols int)
	stepFunc      = func(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)
)

// avx512 is for AVX-512 F, BW, DQ and VL. The results are those of avx2, bit for bit.
var avx512 = &code{
	name: "avx512", lanes: 16, tall: 12,
	gemmWide: gemmWideAVX512, gemmRagged: gemmRaggedAVX512, gemmNarrow: gemmNarrowAVX512, transpose: transposeAVX512,
	poolReLU: poolReLUAVX512, unpoolReLU: unpoolReLUAVX512, biasReLU: biasReLUAVX512, reluGrad: reluGradAVX512,
	moments: momentsAVX512,
	normalise: [2][2]normaliseFunc{
		{normaliseAVX512, normaliseReLUAVX512},
		{normaliseAddAVX512, normaliseAddReLUAVX512},
	},
	normSums: [2][2]normSumsFunc{{normSumsAVX512, normSumsReLUAVX512}, {normSumsStoreAVX512, normSumsStoreReLUAVX512}},
	normGrad: [2]normGradFunc{normGradAVX512, normGradReLUAVX512},
	scale:    scaleAVX512, axpy: axpyAVX512,
	steps:  [2][2]stepFunc{{stepAVX512, stepDriftAVX512}, {stepMomentumAVX512, stepBothAVX512}},
	gather: gatherAVX512, applyMask: applyMaskAVX512, softmax: softmaxAVX512, prefetch: prefetchAVX512,
}

// avx2 is for AVX2 with FMA and BMI2.
var avx2 = &code{
	name: "avx2", lanes: 8, tall: 6,
	gemmWide: gemmWideAVX2, gemmRagged: gemmRaggedAVX2, gemmNarrow: gemmNarrowAVX2, transpose: transposeAVX2,
	poolReLU: poolReLUAVX2, unpoolReLU: unpoolReLUAVX2, biasReLU: biasReLUAVX2, reluGrad: reluGradAVX2,
	moments:   momentsAVX2,
	normalise: [2][2]normaliseFunc{{normaliseAVX2, normaliseReLUAVX2}, {normaliseAddAVX2, normaliseAddReLUAVX2}},
	normSums:  [2][2]normSumsFunc{{normSumsAVX2, normSumsReLUAVX2}, {normSumsStoreAVX2, normSumsStoreReLUAVX2}},
	normGrad:  [2]normGradFunc{normGradAVX2, normGradReLUAVX2},
	scale:     scaleAVX2, axpy: axpyAVX2,
	steps:  [2][2]stepFunc{{stepAVX2, stepDriftAVX2}, {stepMomentumAVX2, stepBothAVX2}},
	gather: gatherAVX2, applyMask: applyMaskAVX2, softmax: softmaxAVX2, prefetch: prefetchAVX2,
}

// number is 1 for true.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkLength panics if there is an x, of less than n elements.
func checkLength(x []float32, n int) {
	if x != nil {
		_ = x[n-1]
	}
}

func (c *code) Name() string { return c.name }

func (c *code) Transpose(dst []float32, ldDst int, src []float32, ldSrc, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if rows > 1 && ldSrc < cols || cols > 1 && ldDst < rows {
		panic(fmt.Sprintf("cpu: transpose: %d × %d from rows %d apart to rows %d apart: rows overlap", rows, cols,
			ldSrc, ldDst))
	}
	_, _ = src[(rows-1)*ldSrc+cols-1], dst[(cols-1)*ldDst+rows-1]
	c.transpose(&dst[0], ldDst, &src[0], ldSrc, rows, cols)
}

func (c *code) PoolReLU(y []float32, arg []uint8, top, bottom, bias []float32) {
	pixels, cols := len(y)/len(bias), len(bias)
	if n := pixels * cols; n > 0 {
		_, _, _ = arg[n-1], top[2*n-1], bottom[2*n-1]
		c.poolReLU(&y[0], &arg[0], &top[0], &bottom[0], &bias[0], pixels, cols)
	}
}

func (c *code) UnpoolReLU(top, bottom, db, gy []float32, arg []uint8) {
	pixels, cols := len(gy)/len(db), len(db)
	if n := pixels * cols; n > 0 {
		_, _, _ = arg[n-1], top[2*n-1], bottom[2*n-1]
		c.unpoolReLU(&top[0], &bottom[0], &db[0], &gy[0], &arg[0], pixels, cols)
	}
}

func (c *code) BiasReLU(y []float32, rows, ld int, bias []float32, relu bool) {
	cols := len(bias)
	if rows <= 0 || cols == 0 {
		return
	}
	if rows > 1 && ld < cols {
		panic(fmt.Sprintf("cpu: bias: rows of %d, %d apart: rows overlap", cols, ld))
	}
	_ = y[(rows-1)*ld+cols-1]
	c.biasReLU(&y[0], rows, ld, &bias[0], cols, relu)
}

func (c *code) ReLUGrad(d, db, gy, y []float32, relu bool) {
	if len(gy) == 0 {
		return
	}
	cols := len(db)
	rows := (len(gy) + cols - 1) / cols
	last := rows*cols - 1
	_, _ = gy[last], d[last]
	if relu {
		_ = y[last]
	}
	c.reluGrad(&d[0], &db[0], &gy[0], unsafe.SliceData(y), rows, cols, relu)
}

func (c *code) Scale(dst []float32, by float32, src []float32) {
	if n := len(src); n > 0 {
		_ = dst[n-1]
		c.scale(&dst[0], by, &src[0], n)
	}
}

func (c *code) Axpy(dst []float32, by float32, src []float32) {
	if n := len(src); n > 0 {
		_ = dst[n-1]
		c.axpy(&dst[0], by, &src[0], n)
	}
}

func (c *code) Step(w, g, v, drift []float32, s Step[float32]) {
	n := len(w)
	if n == 0 {
		return
	}
	_ = g[n-1]
	checkLength(v, n)
	checkLength(drift, n)
	run := c.steps[number(v != nil)][number(drift != nil)]
	run(&w[0], &g[0], unsafe.SliceData(v), unsafe.SliceData(drift), n, s.LR, s.Scale, s.Decay, s.Momentum)
}

func (c *code) ApplyMask(y, x []float32, mask []uint8, scale float32) {
	if n := len(x); n > 0 {
		_, _ = y[n-1], mask[n-1]
		c.applyMask(&y[0], &x[0], &mask[0], n, scale)
	}
}

func (c *code) Softmax(p []float32, e []float64, x []float32, by float64) (top float32, z float64) {
	n := len(x)
	_, _ = x[0], e[blocks(n, wideLanes)*wideLanes-1]
	checkLength(p, n)
	return c.softmax(unsafe.SliceData(p), &e[0], &x[0], n, by)
}

func (c *code) Prefetch(x []float32, b []uint8) {
	const line = 64 // bytes
	if n := 4 * len(x); n > 0 {
		c.prefetch((*byte)(unsafe.Pointer(&x[0])), blocks(n, line))
	}
	if n := len(b); n > 0 {
		c.prefetch(&b[0], blocks(n, line))
	}
}

// SumSquares adds element i to sum i mod 32; the sums are then folded in halves.
func (c *code) SumSquares(x []float32) float64 {
	var sums [32]float64
	var rest [32]float32 // the last elements, and zeros
	blocks := len(x) / len(sums)
	copy(rest[:], x[blocks*len(sums):])
	if c.lanes == 16 { // called by name, or sums would be on the heap
		sumSquaresAVX512(&sums[0], unsafe.SliceData(x), blocks)
		sumSquaresAVX512(&sums[0], &rest[0], 1)
	} else {
		sumSquaresAVX2(&sums[0], unsafe.SliceData(x), blocks)
		sumSquaresAVX2(&sums[0], &rest[0], 1)
	}
	for n := len(sums) / 2; n > 0; n /= 2 {
		for i := range n {
			sums[i] += sums[i+n]
		}
	}
	return sums[0]
}
