package bf16

import (
	"runtime"

	"rollcall/nets/cpu/kernels/asm"
)

// wide is a variant whose operands are rounded but stored as float32. Its products do the same steps as AMX in vector
// registers.
type wide struct {
	name       string
	split      bool
	lanes      int  // float32 in a register
	tall       int  // the most rows in a tile of two registers
	halves     bool // whether a single register of columns goes as two of AVX2, see [asm.TakesHalves]
	roundTo    func(dst, src *float32, n int)
	splitTo    func(high, low, src *float32, n int)
	transposed func(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)
}

func avx512(split bool) *wide {
	return &wide{
		name: "avx512", split: split, lanes: 16, tall: 4, halves: asm.TakesHalves(),
		roundTo: asm.RoundAVX512, splitTo: asm.RoundSplitAVX512, transposed: asm.TransposeAVX512,
	}
}

// The lanes and the tall tile of AVX2, which AVX-512 takes for few columns.
const lanesAVX2, tallAVX2 = 8, 2

func avx2(split bool) *wide {
	return &wide{
		name: "avx2", split: split, lanes: lanesAVX2, tall: tallAVX2,
		roundTo: asm.RoundAVX2, splitTo: asm.RoundSplitAVX2, transposed: asm.TransposeAVX2,
	}
}

func (k *wide) Name() string { return k.name }

func (k *wide) Bytes() int { return 4 * parts(k.split) }

func (k *wide) NewOperand(n int) Operand[float32] { return newWide[float32](n+Depth, k.split) }

func (k *wide) Round(dst Operand[float32], src []float32) {
	n := len(src)
	if n == 0 {
		return
	}
	to := dst.wide()
	high, low := to[0], to[1]
	_ = high[n-1]
	if !k.split {
		k.roundTo(&high[0], &src[0], n)
		return
	}
	_ = low[n-1]
	k.splitTo(&high[0], &low[0], &src[0], n)
}

// Transpose first copies the numbers, and then rounds them in place.
func (k *wide) Transpose(dst Operand[float32], ldDst int, src []float32, ldSrc, rows, cols int) {
	checkTranspose(dst, ldDst, src, ldSrc, rows, cols)
	to := dst.wide()[0]
	k.transposed(&to[0], ldDst, &src[0], ldSrc, rows, cols)
	if ldDst == rows {
		k.Round(dst, to[:rows*cols])
		return
	}
	for j := range cols {
		k.Round(dst.From(j*ldDst), to[j*ldDst:][:rows])
	}
}

func (k *wide) Pack(dst Operand[float32], src []float32, ld, rows, cols, padded int) {
	if ld == cols {
		k.Round(dst, src[:rows*cols])
	} else {
		for i := range rows {
			k.Round(dst.From(i*cols), src[i*ld:][:cols])
		}
	}
	dst.From(rows * cols).First((padded - rows) * cols).Clear()
}

// Multiply goes through the columns two registers at a time, and through the rows in tiles whose sums fit in registers.
func (k *wide) Multiply(p *Product[float32]) {
	p.check()
	partsA, partsB := p.A.wide(), p.B.wide()
	t, a, b := described(p, &partsA, &partsB), partsA[0], partsB[0]
	for j := 0; j < p.N; j += 2 * k.lanes {
		n := min(2*k.lanes, p.N-j)
		for u := range p.Runs {
			k.columns(&t, &a[u*p.ARun], &b[j], &p.C[u*p.CRun+j], p.M, n)
		}
	}
	runtime.KeepAlive(p)
}

// described returns what the assembly wants to know of a product whose operands have the parts a and b. It gets no
// pointer to the low parts that the garbage collector would see: p must be kept alive.
func described[E any](p *Product[float32], a, b *[2][]E) asm.Product {
	t := asm.Product{
		Segs: p.Segs, Chunks: p.Chunks, Pairs: p.Size / 2, Passes: 1,
		ASeg: p.ASeg, ARow: p.ARow, BSeg: p.BSeg, BRow: p.N, CRow: p.CRow, Acc: p.Acc,
	}
	if a[1] != nil { // low by high, high by high, high by low
		t.Passes = 3
		t.PassA[0], t.PassB[2] = distance(a[0], a[1]), distance(b[0], b[1])
	}
	return t
}

// columns computes the first n columns of a run of m rows, at most two registers. It calls the assembly by name:
// through a func value, t would escape to the heap.
func (k *wide) columns(t *asm.Product, a, b, c *float32, m, n int) {
	lanes, most := k.lanes, k.tall
	if n <= lanesAVX2 || k.halves && n <= lanes {
		lanes, most = lanesAVX2, tallAVX2
	}
	tail := n - lanes
	if n <= lanes {
		most, tail = 2*most, n
	}
	rows, tiles, smaller := asm.Cut(m, most)
	switch {
	case lanes == 16 && n <= lanes:
		asm.ProductNarrowAVX512(t, a, b, c, tail, rows, tiles, smaller)
	case lanes == 16 && tail < lanes:
		asm.ProductRaggedAVX512(t, a, b, c, tail, rows, tiles, smaller)
	case lanes == 16:
		asm.ProductWideAVX512(t, a, b, c, tail, rows, tiles, smaller)
	case n <= lanes:
		asm.ProductNarrowAVX2(t, a, b, c, tail, rows, tiles, smaller)
	case tail < lanes:
		asm.ProductRaggedAVX2(t, a, b, c, tail, rows, tiles, smaller)
	default:
		asm.ProductWideAVX2(t, a, b, c, tail, rows, tiles, smaller)
	}
}
