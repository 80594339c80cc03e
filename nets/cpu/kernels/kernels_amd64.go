package kernels

import (
	"fmt"
	"unsafe"

	"rollcall/nets/cpu/kernels/asm"
)

// code is one instruction set: its kernels of package asm, and the numbers that the Go code around them needs. Its
// methods are the kernels of [Kernels]: they check lengths, so that a slice too short panics as it does in plain Go,
// and pass pointers on.
type code struct {
	name  string
	lanes int // float32 in a register
	tall  int // the most rows in a tile of two registers

	halves bool // whether a single register of columns goes as two of AVX2, see [asm.TakesHalves]

	gemmWide, gemmRagged, gemmNarrow func(t *asm.Tile, a, b, c *float32, tail, rows, tiles, smaller int)

	sparse       func(t *asm.Sparse, m *float32, at int, to *float32, shape, tail, loaded int)
	sparseShapes *sparseTable
	pixelRows    func(t *asm.Pixels, y, x, w *float32, shape, rows int)

	transpose   func(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)
	poolReLU    func(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)
	unpoolReLU  func(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)
	addWinners  func(db, gy *float32, arg *uint8, pixels, cols int)
	biasReLU    func(y *float32, rows, ld int, bias *float32, cols int, relu bool)
	reluGrad    func(d, db, gy, y *float32, rows, cols int, relu bool)
	moments     func(sum, squares, x, pivot *float32, rows, cols int)
	normalise   [2][2]normaliseFunc // [with add][with ReLU]
	normSums    [2]normSumsFunc     // [with ReLU]
	normSumsAdd [2]normSumsAddFunc  // [with ReLU]
	normGrad    [2]normGradFunc     // [with ReLU]
	scale, axpy func(dst *float32, c float32, src *float32, n int)
	steps       [2][2]stepFunc // [with momentum][with drift]
	gather      func(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32,
		rows, groups, stepDst, stepImg, rowDst, rowImg, tail, ahead int)
	applyMask func(y, x *float32, mask *uint8, n int, scale float32)
	softmax   func(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)
	prefetch  func(p *byte, lines int)
	winograd  winogradCode
}

type (
	normaliseFunc   = func(y, x, add, scale, shift *float32, rows, cols int)
	normSumsFunc    = func(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)
	normSumsAddFunc = func(d, db, dw, gy, y, x, mean *float32, rows, cols int)
	normGradFunc    = func(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)
	stepFunc        = func(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)
)

// avx512 needs AVX-512 F, BW, DQ and VL. It returns the same bits as avx2.
var avx512 = &code{
	name: "avx512", lanes: 16, tall: 12,
	gemmWide: asm.GemmWideAVX512, gemmRagged: asm.GemmRaggedAVX512, gemmNarrow: asm.GemmNarrowAVX512,
	sparse: asm.SparseAVX512, sparseShapes: newSparseTable(16), pixelRows: asm.PixelRowsAVX512,
	transpose: asm.TransposeAVX512,
	poolReLU:  asm.PoolReLUAVX512, unpoolReLU: asm.UnpoolReLUAVX512, addWinners: asm.AddWinnersAVX512,
	biasReLU: asm.BiasReLUAVX512, reluGrad: asm.ReLUGradAVX512,
	moments: asm.MomentsAVX512,
	normalise: [2][2]normaliseFunc{
		{asm.NormaliseAVX512, asm.NormaliseReLUAVX512},
		{asm.NormaliseAddAVX512, asm.NormaliseAddReLUAVX512},
	},
	normSums:    [2]normSumsFunc{asm.NormSumsAVX512, asm.NormSumsReLUAVX512},
	normSumsAdd: [2]normSumsAddFunc{asm.NormSumsAddAVX512, asm.NormSumsAddReLUAVX512},
	normGrad:    [2]normGradFunc{asm.NormGradAVX512, asm.NormGradReLUAVX512},
	scale:       asm.ScaleAVX512, axpy: asm.AxpyAVX512,
	steps: [2][2]stepFunc{
		{asm.StepAVX512, asm.StepDriftAVX512},
		{asm.StepMomentumAVX512, asm.StepBothAVX512},
	},
	gather:    asm.GatherAVX512,
	applyMask: asm.ApplyMaskAVX512,
	softmax:   asm.SoftmaxAVX512,
	prefetch:  asm.PrefetchAVX512,
	winograd: winogradCode{
		asm.WinogradInputAVX512, asm.WinogradGradientAVX512, asm.WinogradOutputAVX512, asm.WinogradWeightsAVX512,
		asm.WinogradWeightsGradAVX512,
	},
}

// avx2 needs AVX2, FMA and BMI2.
var avx2 = &code{
	name: "avx2", lanes: 8, tall: 6,
	gemmWide: asm.GemmWideAVX2, gemmRagged: asm.GemmRaggedAVX2, gemmNarrow: asm.GemmNarrowAVX2,
	sparse: asm.SparseAVX2, sparseShapes: newSparseTable(8), pixelRows: asm.PixelRowsAVX2,
	transpose: asm.TransposeAVX2,
	poolReLU:  asm.PoolReLUAVX2, unpoolReLU: asm.UnpoolReLUAVX2, addWinners: asm.AddWinnersAVX2,
	biasReLU: asm.BiasReLUAVX2, reluGrad: asm.ReLUGradAVX2,
	moments: asm.MomentsAVX2,
	normalise: [2][2]normaliseFunc{
		{asm.NormaliseAVX2, asm.NormaliseReLUAVX2},
		{asm.NormaliseAddAVX2, asm.NormaliseAddReLUAVX2},
	},
	normSums:    [2]normSumsFunc{asm.NormSumsAVX2, asm.NormSumsReLUAVX2},
	normSumsAdd: [2]normSumsAddFunc{asm.NormSumsAddAVX2, asm.NormSumsAddReLUAVX2},
	normGrad:    [2]normGradFunc{asm.NormGradAVX2, asm.NormGradReLUAVX2},
	scale:       asm.ScaleAVX2, axpy: asm.AxpyAVX2,
	steps: [2][2]stepFunc{
		{asm.StepAVX2, asm.StepDriftAVX2},
		{asm.StepMomentumAVX2, asm.StepBothAVX2},
	},
	gather:    asm.GatherAVX2,
	applyMask: asm.ApplyMaskAVX2,
	softmax:   asm.SoftmaxAVX2,
	prefetch:  asm.PrefetchAVX2,
	winograd: winogradCode{
		asm.WinogradInputAVX2, asm.WinogradGradientAVX2, asm.WinogradOutputAVX2, asm.WinogradWeightsAVX2,
		asm.WinogradWeightsGradAVX2,
	},
}

// number returns 1 for true, 0 for false: an index into a table of variants.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkLength panics if x has fewer than n elements, unless x is nil: then the kernel does without it.
func checkLength(x []float32, n int) {
	if x != nil {
		_ = x[n-1]
	}
}

func (c *code) Name() string { return c.name }

func (c *code) GemmCols() int { return 2 * c.lanes }

func (c *code) Transpose(dst []float32, ldDst int, src []float32, ldSrc, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if rows > 1 && ldSrc < cols || cols > 1 && ldDst < rows {
		panic(fmt.Sprintf("cpu: transpose: %d × %d from rows %d apart to rows %d apart: rows overlap",
			rows, cols, ldSrc, ldDst))
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

// Dot adds product i to sum i mod 32; the sums are then folded in halves.
func (c *code) Dot(x, y []float32) float64 {
	n := len(x)
	if n > 0 {
		_ = y[n-1]
	}
	var sums [32]float64
	var rest [2][32]float32 // the last elements, and zeros
	blocks := n / len(sums)
	copy(rest[0][:], x[blocks*len(sums):])
	copy(rest[1][:], y[blocks*len(sums):n])
	if c.lanes == 16 { // a call by name: through a func value, sums would escape to the heap
		asm.DotAVX512(&sums[0], unsafe.SliceData(x), unsafe.SliceData(y), blocks)
		asm.DotAVX512(&sums[0], &rest[0][0], &rest[1][0], 1)
	} else {
		asm.DotAVX2(&sums[0], unsafe.SliceData(x), unsafe.SliceData(y), blocks)
		asm.DotAVX2(&sums[0], &rest[0][0], &rest[1][0], 1)
	}
	for n := len(sums) / 2; n > 0; n /= 2 {
		for i := range n {
			sums[i] += sums[i+n]
		}
	}
	return sums[0]
}
