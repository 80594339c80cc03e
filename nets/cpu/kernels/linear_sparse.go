package kernels

import "math"

// Zeros of x are left out in blocks of so many terms and panels of so many columns, whose part of the other matrix the
// first cache holds: 24 KiB.
const (
	sparseDepth = depthBlock / 4
	sparsePanel = 96
)

// sparse reports whether products leave out the zeros of x. Fewer outputs gain nothing, and the kernels want whole
// registers.
func (s LinearShape) sparse() bool {
	return s.Pooled && s.O >= 256 && s.I%sparseLanes == 0 && s.O%sparseLanes == 0
}

// finite reports whether all elements of x are finite. Where a matrix is not, zeros are not left out: their products
// with its infinite elements are NaN, which ends a training that has diverged.
func finite[T Float](s *Scratch[T], x []T) bool {
	sum := s.Dot(x, x)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// copyBlock copies a block of a matrix whose rows are ld elements apart, sparseDepth × sparsePanel at most: rows whose
// distance is a power of two would share few places of the cache.
func (w *winners[T]) copyBlock(x []T, depth, n, ld int) []T {
	w.block = ensure(w.block, sparseDepth*sparsePanel)
	copyColumns(w.block, x, depth, ld, n)
	return w.block
}

// sparseColumns computes columns o … o+n of y of client k. The sums are the ones over all terms, to the bit: they are
// cut at the same places.
func (t *LinearForward[T]) sparseColumns(s *Scratch[T], k, o, n int) {
	x, w := t.x[k*t.B*t.I:][:t.B*t.I], t.w[k*t.I*t.O:][:t.I*t.O]
	buffer := s.Buf(2 * t.B * n)
	sums, part := buffer[:t.B*n], buffer[t.B*n:]
	l, p := &s.winners.rows, &s.winners.product
	for lo := 0; lo < t.I; lo += depthBlock {
		end, to := min(lo+depthBlock, t.I), sums
		if lo > 0 {
			to = part
		}
		for at := lo; at < end; at += sparseDepth {
			depth := min(sparseDepth, end-at)
			s.NonZeros(l, x[at:], t.B, t.I, depth, n)
			*p = Sparse[T]{
				Values: l.Values, Places: l.Places, Starts: l.Starts, Stops: l.Stops, Items: t.B,
				M: s.winners.copyBlock(w[at*t.O+o:], depth, n, t.O), Rows: 1, Cols: n, To: to, Step: n,
			}
			if at > lo {
				p.Loaded = 1
			}
			s.Sparse(p)
		}
		if lo > 0 {
			s.Axpy(sums, 1, part)
		}
	}
	s.BiasReLU(sums, t.B, n, t.b[k*t.O+o:][:n], t.ReLU)
	for b := range t.B {
		copy(t.y[(k*t.B+b)*t.O+o:][:n], sums[b*n:])
	}
}

// sparseRows computes rows lo … lo+rows of dw of client k.
func (t *LinearBackward[T]) sparseRows(s *Scratch[T], k, lo, rows int) {
	dw, x, d := t.dw[(k*t.I+lo)*t.O:], t.x[k*t.B*t.I:][:t.B*t.I], t.d[k*t.B*t.O:][:t.B*t.O]
	l, p, pitch := &s.winners.rows, &s.winners.product, padded(t.B)
	turned := s.Buf(rows * pitch)
	s.Transpose(turned, pitch, x[lo:], t.I, t.B, rows)
	for b := 0; b < t.B; b += sparseDepth {
		depth := min(sparseDepth, t.B-b)
		s.NonZeros(l, turned[b:], rows, pitch, depth, sparsePanel)
		for o := 0; o < t.O; o += sparsePanel {
			n := min(sparsePanel, t.O-o)
			*p = Sparse[T]{
				Values: l.Values, Places: l.Places, Starts: l.Starts, Stops: l.Stops, Items: rows,
				M: s.winners.copyBlock(d[b*t.O+o:], depth, sparsePanel, t.O), Rows: 1, Cols: n, To: dw[o:], Step: t.O,
			}
			if b > 0 {
				p.Loaded = 1
			}
			s.Sparse(p)
		}
	}
}
