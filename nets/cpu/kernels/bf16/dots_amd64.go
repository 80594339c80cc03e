package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"rollcall/nets/cpu/kernels/asm"
)

// dots is the code of package asm for the variant with pairs.
type dots struct{}

func (dots) name() string { return "avx512bf16" }

func (dots) pair(dst, low []uint32, src, next []float32) {
	n := len(src)
	_ = dst[n-1]
	if low == nil {
		asm.PairAVX512BF16(&dst[0], &src[0], unsafe.SliceData(next), n, len(next))
		return
	}
	_ = low[n-1]
	asm.PairSplitAVX512BF16(&dst[0], &low[0], &src[0], unsafe.SliceData(next), n, len(next))
}

func (d dots) pairRows(dst, low []uint32, src []float32, ld, rows, cols int) {
	switch {
	case ld == cols: // one after the other
		n := rows * cols
		d.pair(dst, low, src[:n], src[min(2*cols, n):n])
	case low == nil:
		asm.PairRowsAVX512BF16(&dst[0], &src[0], ld, rows, cols)
	default:
		asm.PairRowsSplitAVX512BF16(&dst[0], &low[0], &src[0], ld, rows, cols)
	}
}

// transpose with a low part first copies the numbers, and then pairs them in place.
func (d dots) transpose(dst, low []uint32, ldDst int, src []float32, ldSrc, rows, cols int) {
	if low == nil {
		asm.TransposePairAVX512BF16(&dst[0], ldDst, &src[0], ldSrc, rows, cols)
		return
	}
	plain := asFloats(dst)
	asm.TransposeAVX512(&plain[0], ldDst, &src[0], ldSrc, rows, cols)
	for j := range cols {
		at, row := j*ldDst, plain[j*ldDst:][:rows]
		d.pair(dst[at:][:rows], low[at:][:rows], row, row[min(2, rows):])
	}
}

// multiply goes through the columns two registers at a time, as the products of float32 do.
func (dots) multiply(p *Product[float32]) {
	partsA, partsB := p.A.pairs(), p.B.pairs()
	t, a, b := described(p, &partsA, &partsB), partsA[0], partsB[0]
	const lanes, half, tall = 16, 8, 4
	most, tail := tall, p.N-lanes // tail: the columns in the last register
	if tail <= 0 {
		most, tail = 2*tall, p.N
	}
	rows, tiles, smaller := asm.Cut(p.M, most)
	for u := range p.Runs {
		a, c := &a[u*p.ARun], &p.C[u*p.CRun]
		switch {
		case p.N <= half:
			asm.ProductHalfAVX512BF16(&t, a, &b[0], c, tail, rows, tiles, smaller)
		case p.N <= lanes:
			asm.ProductNarrowAVX512BF16(&t, a, &b[0], c, tail, rows, tiles, smaller)
		case tail < lanes:
			asm.ProductRaggedAVX512BF16(&t, a, &b[0], c, tail, rows, tiles, smaller)
		default:
			asm.ProductWideAVX512BF16(&t, a, &b[0], c, tail, rows, tiles, smaller)
		}
	}
	runtime.KeepAlive(p)
}

// hasDots is whether the processor has AVX512_BF16, whatever a test makes of package cpu later.
var hasDots = asm.HasAVX512() && cpu.X86.HasAVX512BF16

// canPair returns whether the processor has AVX512_BF16, and computes with it what the model of it does. If it does
// not, lost says so in one line.
var canPair = sync.OnceValues(func() (ok bool, lost string) { return decidePair(asm.DotAVX512BF16) })

// decidePair is [canPair] with an instruction in place of the processor's.
func decidePair(instruction func(sum *[16]float32, x, y *[16]uint32)) (ok bool, lost string) {
	if !hasDots {
		return false, ""
	}
	if err := testDots(instruction); err != nil {
		return false, "AVX512_BF16: " + err.Error()
	}
	return true, ""
}

// testDots compares an instruction with [dot], on random numbers of all kinds: sums that are ties, cancel or become
// subnormal, and operands that are subnormal, infinite or NaN.
func testDots(instruction func(sum *[16]float32, x, y *[16]uint32)) error {
	r := rand.New(rand.NewPCG(1, 2))
	var x, y [16]uint32
	var sum, got [16]float32
	for i := range 400 {
		for l := range sum {
			x[l], y[l], sum[l] = r.Uint32(), r.Uint32(), math.Float32frombits(r.Uint32())
			switch i % 4 {
			case 1: // the exponents near that of 1, and few digits: ties, and sums that cancel
				x[l], y[l] = x[l]&0x80708070|0x3f003f00, y[l]&0x80708070|0x3f003f00
				sum[l] = math.Float32frombits(math.Float32bits(sum[l])&0x83800003 | 0x3c000000)
			case 2: // products near the subnormal numbers
				x[l], y[l] = x[l]&0x807f807f|0x20002000, y[l]&0x807f807f|0x20002000
				sum[l] = math.Float32frombits(math.Float32bits(sum[l]) & 0x81ffffff)
			case 3: // operands that are subnormal, or large
				x[l], y[l] = x[l]&0x80ff80ff, y[l]|0x40004000
			}
		}
		got = sum
		instruction(&got, &x, &y)
		for l, g := range got {
			want := dot(sum[l], x[l], y[l])
			if math.Float32bits(g) != math.Float32bits(want) && (g == g || want == want) {
				return fmt.Errorf("VDPBF16PS of %#x, %#x and %#x is %#x on this processor, want %#x", x[l], y[l],
					math.Float32bits(sum[l]), math.Float32bits(g), math.Float32bits(want))
			}
		}
	}
	return nil
}
