package bf16

import (
	"unsafe"
)

// generic is the kernels in plain Go. With float32 they compute bit for bit what a processor with AMX does. With
// float64 the operands are rounded too, but sums are in float64, in order: the reference of tests.
type generic[T Float] struct{ split bool }

// Generic returns the kernels in plain Go; split asks for bf16x3 in place of bf16.
func Generic[T Float](split bool) Kernels[T] { return generic[T]{split} }

func (generic[T]) Name() string { return "generic" }

func (g generic[T]) Bytes() int { return parts(g.split) * int(unsafe.Sizeof(T(0))) }

func (g generic[T]) NewOperand(n int) Operand[T] { return newWide[T](n+Depth, g.split) }

// put sets element i of an operand to x.
func put[T Float](dst [2][]T, i int, x T) {
	high := round(x)
	dst[0][i] = high
	if dst[1] != nil {
		dst[1][i] = round(x - high)
	}
}

func (generic[T]) Round(dst Operand[T], src []T) {
	to := dst.wide()
	for i, v := range src {
		put(to, i, v)
	}
}

func (generic[T]) Transpose(dst Operand[T], ldDst int, src []T, ldSrc, rows, cols int) {
	to := dst.wide()
	for i := range rows {
		for j, v := range src[i*ldSrc:][:cols] {
			put(to, j*ldDst+i, v)
		}
	}
}

func (generic[T]) Pack(dst Operand[T], src []T, ld, rows, cols, padded int) {
	to := dst.wide()
	for i := range rows {
		for j, v := range src[i*ld:][:cols] {
			put(to, i*cols+j, v)
		}
	}
	dst.From(rows * cols).First((padded - rows) * cols).Clear()
}

func (g generic[T]) Multiply(p *Product[T]) {
	p.check()
	a, b := p.A.wide(), p.B.wide()
	p.eachChunk(g.split, func(c []T, partA, atA, partB, atB int) {
		addChunk(c, a[partA][atA:][:p.Size], b[partB][atB:])
	})
}

// addChunk adds a chunk to one row of C: the product of a [size] and b [size,len(c)].
func addChunk[T Float](c, a, b []T) {
	switch c := any(c).(type) {
	case []float32:
		addChunk32(c, any(a).([]float32), any(b).([]float32))
	case []float64:
		b := any(b).([]float64)
		for p, x := range any(a).([]float64) {
			for j, y := range b[p*len(c):][:len(c)] {
				c[j] += x * y
			}
		}
	}
}

// addChunk32 is addChunk in the order and with the roundings of [Product].
func addChunk32(c, a, b []float32) {
	var sums [2][PanelCols]float32
	n := len(c)
	for p, x := range a {
		row, sum := b[p*n:][:n], sums[p%2][:n]
		for j, y := range row {
			product := float64(x) * float64(y) // exact
			s := product + float64(sum[j])
			if careful(s) {
				sum[j] = fusedAdd(product, float64(sum[j]), s)
				continue
			}
			sum[j] = float32(s)
		}
	}
	for j, v := range c {
		c[j] = flush(flush(v) + flush(sums[0][j]+sums[1][j]))
	}
}
