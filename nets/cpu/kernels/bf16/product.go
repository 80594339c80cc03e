package bf16

import "fmt"

// Float is the type of the sums of a product: float32 in runs, float64 where tests need it.
type Float interface{ float32 | float64 }

// PanelCols is the most columns that a product has.
const PanelCols = 32

// Depth is the most terms that a chunk of a sum has.
const Depth = 32

// Chunks returns how a sum of k terms is cut: into the least number n of equal chunks of at most [Depth] terms. size is
// even. n·size may be larger than k: the rest of B is zeros then.
func Chunks(k int) (n, size int) {
	n = (k + Depth - 1) / Depth
	size = (k + n - 1) / n
	return n, size + size%2
}

// Padded returns the terms of all chunks of a sum of k terms, at least k.
func Padded(k int) int {
	n, size := Chunks(k)
	return n * size
}

// Product is one call of a matrix product, strides counted in elements, with K = Chunks·Size:
//
//	C[u·CRun + i·CRow + j] = (Acc: C[u·CRun + i·CRow + j])
//	                       + Σ_s Σ_p A[u·ARun + s·ASeg + i·ARow + p] · B[s·BSeg + p·N + j]
//
// for u < Runs, i < M, j < N ≤ [PanelCols], s < Segs, p < K, all at least 1. Strides are at least 0, and C overlaps
// neither A nor B. B is written by [Kernels.Pack]; A by [Kernels.Round] or [Kernels.Transpose], and may have rows that
// overlap. The terms of A behind a sum that is shorter than K are multiplied by zeros, but read: they must be numbers.
//
// The order of the sum, which all variants share, is that of the instruction TDPBF16PS. For every segment, and in it
// for every chunk: even is the sum of the terms with even p, odd the sum of those with odd p, each from 0 in order of
// p by fused multiply-adds, and C becomes C + (even + odd). Without Acc, C begins as 0. Every result is rounded to
// float32 to nearest even. A subnormal operand counts as 0, and a subnormal result becomes 0, each with its sign.
//
// With bf16x3 every chunk is added three times: A's low part by B's high one, high by high, and high by low.
type Product[T Float] struct {
	A, B         Operand[T]
	C            []T
	M, N         int
	Segs         int
	Chunks, Size int
	ASeg, ARow   int
	BSeg         int
	CRow         int
	Acc          bool
	Runs         int
	ARun, CRun   int
}

// check panics if a number of the product is impossible, or if a slice is too short.
func (p *Product[T]) check() {
	if min(p.M, p.N, p.Segs, p.Chunks, p.Size, p.Runs) < 1 || p.N > PanelCols || p.Size > Depth || p.Size%2 != 0 ||
		p.ASeg|p.ARow|p.BSeg|p.CRow|p.ARun|p.CRun < 0 {
		panic(fmt.Sprintf("bf16: product: M=%d N=%d Segs=%d Chunks=%d Size=%d Runs=%d strides %d %d %d, %d, %d %d: "+
			"want at least 1, N at most %d, Size even and at most %d, strides not negative",
			p.M, p.N, p.Segs, p.Chunks, p.Size, p.Runs, p.ASeg, p.ARow, p.ARun, p.BSeg, p.CRow, p.CRun,
			PanelCols, Depth))
	}
	// The last elements that the product names.
	k := p.Chunks * p.Size
	_ = p.A.From((p.Runs-1)*p.ARun + (p.Segs-1)*p.ASeg + (p.M-1)*p.ARow + k)
	_ = p.B.From((p.Segs-1)*p.BSeg + k*p.N)
	_ = p.C[(p.Runs-1)*p.CRun+(p.M-1)*p.CRow+p.N-1]
}

// eachChunk calls add for every chunk of every row c of C, in order: with the parts of A and B that it multiplies, and
// where the chunk begins in them. split asks for all three products of bf16x3.
func (p *Product[T]) eachChunk(split bool, add func(c []T, partA, a, partB, b int)) {
	for u := range p.Runs {
		for i := range p.M {
			c := p.C[u*p.CRun+i*p.CRow:][:p.N]
			if !p.Acc {
				clear(c)
			}
			for s := range p.Segs {
				for k := 0; k < p.Chunks*p.Size; k += p.Size {
					a, b := u*p.ARun+i*p.ARow+s*p.ASeg+k, s*p.BSeg+k*p.N
					if split {
						add(c, 1, a, 0, b)
					}
					add(c, 0, a, 0, b)
					if split {
						add(c, 0, a, 1, b)
					}
				}
			}
		}
	}
}
