package cpu

import (
	"fmt"
	"unsafe"
)

// AVX512 returns the kernels for AVX-512 (F, BW, DQ and VL). The results are those of [AVX2], bit for bit.
func AVX512() Kernels[float32] {
	return (&code{
		transposeAVX512, poolReLUAVX512, unpoolReLUAVX512, biasReLUAVX512, reluGradAVX512, scaleAVX512, axpyAVX512,
		stepAVX512, stepDriftAVX512, stepMomentumAVX512, stepBothAVX512, gatherAVX512, applyMaskAVX512, softmaxAVX512, prefetchAVX512,
		normAVX512,
	}).kernels("avx512", gemmAVX512, squaresAVX512, applyDropoutAVX512)
}

// AVX2 returns the kernels for AVX2 with FMA and BMI2.
func AVX2() Kernels[float32] {
	return (&code{
		transposeAVX2, poolReLUAVX2, unpoolReLUAVX2, biasReLUAVX2, reluGradAVX2, scaleAVX2, axpyAVX2,
		stepAVX2, stepDriftAVX2, stepMomentumAVX2, stepBothAVX2, gatherAVX2, applyMaskAVX2, softmaxAVX2, prefetchAVX2,
		normAVX2,
	}).kernels("avx2", gemmAVX2, squaresAVX2, applyDropoutAVX2)
}

// code is the assembly of one instruction set. Its methods are the kernels: they look at lengths, so that a slice too
// short panics as it does in plain Go, and pass pointers on. Buffers may overlap only where a kernel's output is, element
// for element, one of its inputs: y of Axpy and dst = src of Scale, d = gy or d = y of ReLUGrad.
type code struct {
	transposeCode                            func(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)
	poolCode                                 func(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)
	unpoolCode                               func(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)
	biasCode                                 func(y *float32, rows, ld int, bias *float32, cols int, relu bool)
	gradCode                                 func(d, db, gy, y *float32, rows, cols int, relu bool)
	scaleCode, axpyCode                      func(dst *float32, c float32, src *float32, n int)
	plainCode, driftCode, momentumCode, both stepFunc
	gatherCode                               gatherFunc
	maskCode                                 func(y, x *float32, mask *uint8, n int, scale float32)
	softmaxCode                              func(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)
	prefetchCode                             func(p *byte, lines int)
	norm                                     normCode
}

type stepFunc func(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

func (c *code) kernels(name string, gemm func(*Tile[float32]), squares func([]float32) float64,
	dropout func(y []float32, mask []uint8, x []float32, lo int, d Draw, layer int, rate float64),
) Kernels[float32] {
	return Kernels[float32]{
		Name:       name,
		Gemm:       gemm,
		Transpose:  c.transpose,
		PoolReLU:   c.poolReLU,
		UnpoolReLU: c.unpoolReLU,
		BiasReLU:   c.biasReLU,
		ReLUGrad:   c.reluGrad,
		Moments:    c.norm.addMoments,
		Normalise:  c.norm.normalise,
		NormSums:   c.norm.addSums,
		NormGrad:   c.norm.gradient,
		Scale:      c.scale,
		Axpy:       c.axpy,
		SumSquares: squares,
		Step:       c.step,
		Gather:     c.gatherCode.gather,
		Dropout:    dropout,
		ApplyMask:  c.applyMask,
		Softmax:    c.softmax,
		Prefetch:   c.prefetch,
	}
}

func (c *code) transpose(dst []float32, ldDst int, src []float32, ldSrc, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if rows > 1 && ldSrc < cols || cols > 1 && ldDst < rows {
		panic(fmt.Sprintf("cpu: transpose: %d × %d from rows %d apart to rows %d apart: rows overlap", rows, cols, ldSrc, ldDst))
	}
	_, _ = src[(rows-1)*ldSrc+cols-1], dst[(cols-1)*ldDst+rows-1]
	c.transposeCode(&dst[0], ldDst, &src[0], ldSrc, rows, cols)
}

func (c *code) poolReLU(y []float32, arg []uint8, top, bottom, bias []float32) {
	pixels, cols := len(y)/len(bias), len(bias)
	if n := pixels * cols; n > 0 {
		_, _, _ = arg[n-1], top[2*n-1], bottom[2*n-1]
		c.poolCode(&y[0], &arg[0], &top[0], &bottom[0], &bias[0], pixels, cols)
	}
}

func (c *code) unpoolReLU(top, bottom, db, gy []float32, arg []uint8) {
	pixels, cols := len(gy)/len(db), len(db)
	if n := pixels * cols; n > 0 {
		_, _, _ = arg[n-1], top[2*n-1], bottom[2*n-1]
		c.unpoolCode(&top[0], &bottom[0], &db[0], &gy[0], &arg[0], pixels, cols)
	}
}

func (c *code) biasReLU(y []float32, rows, ld int, bias []float32, relu bool) {
	cols := len(bias)
	if rows <= 0 || cols == 0 {
		return
	}
	if rows > 1 && ld < cols {
		panic(fmt.Sprintf("cpu: bias: rows of %d, %d apart: rows overlap", cols, ld))
	}
	_ = y[(rows-1)*ld+cols-1]
	c.biasCode(&y[0], rows, ld, &bias[0], cols, relu)
}

func (c *code) reluGrad(d, db, gy, y []float32, relu bool) {
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
	c.gradCode(&d[0], &db[0], &gy[0], unsafe.SliceData(y), rows, cols, relu)
}

func (c *code) scale(dst []float32, by float32, src []float32) {
	if n := len(src); n > 0 {
		_ = dst[n-1]
		c.scaleCode(&dst[0], by, &src[0], n)
	}
}

func (c *code) axpy(dst []float32, by float32, src []float32) {
	if n := len(src); n > 0 {
		_ = dst[n-1]
		c.axpyCode(&dst[0], by, &src[0], n)
	}
}

func (c *code) step(w, g, v, drift []float32, s Step[float32]) {
	n := len(w)
	if n == 0 {
		return
	}
	_ = g[n-1]
	run := c.plainCode
	switch {
	case v != nil && drift != nil:
		_, _ = v[n-1], drift[n-1]
		run = c.both
	case v != nil:
		_ = v[n-1]
		run = c.momentumCode
	case drift != nil:
		_ = drift[n-1]
		run = c.driftCode
	}
	run(&w[0], &g[0], unsafe.SliceData(v), unsafe.SliceData(drift), n, s.LR, s.Scale, s.Decay, s.Momentum)
}

func (c *code) applyMask(y, x []float32, mask []uint8, scale float32) {
	if n := len(x); n > 0 {
		_, _ = y[n-1], mask[n-1]
		c.maskCode(&y[0], &x[0], &mask[0], n, scale)
	}
}

func (c *code) softmax(p []float32, e []float64, x []float32, by float64) (top float32, z float64) {
	n := len(x)
	_, _ = x[0], e[blocks(n, wideLanes)*wideLanes-1]
	if p != nil {
		_ = p[n-1]
	}
	return c.softmaxCode(unsafe.SliceData(p), &e[0], &x[0], n, by)
}

func (c *code) prefetch(x []float32, b []uint8) {
	const line = 64 // bytes
	if n := 4 * len(x); n > 0 {
		c.prefetchCode((*byte)(unsafe.Pointer(&x[0])), blocks(n, line))
	}
	if n := len(b); n > 0 {
		c.prefetchCode(&b[0], blocks(n, line))
	}
}

// squares is the state of SumSquares: element i is added to sum i mod 32, and the sums are then folded in halves.
type squares struct {
	sums [32]float64
	rest [32]float32 // the last elements, and zeros
}

func (s *squares) total() float64 {
	for n := len(s.sums) / 2; n > 0; n /= 2 {
		for i := range n {
			s.sums[i] += s.sums[i+n]
		}
	}
	return s.sums[0]
}

func squaresAVX512(x []float32) float64 {
	var s squares
	blocks := len(x) / len(s.sums)
	sumSquaresAVX512(&s.sums[0], unsafe.SliceData(x), blocks)
	copy(s.rest[:], x[blocks*len(s.sums):])
	sumSquaresAVX512(&s.sums[0], &s.rest[0], 1)
	return s.total()
}

func squaresAVX2(x []float32) float64 {
	var s squares
	blocks := len(x) / len(s.sums)
	sumSquaresAVX2(&s.sums[0], unsafe.SliceData(x), blocks)
	copy(s.rest[:], x[blocks*len(s.sums):])
	sumSquaresAVX2(&s.sums[0], &s.rest[0], 1)
	return s.total()
}
