package cpu

import "rollcall/nets/cpu/bf16"

// matrix is an operand of a product: as it is or, where an executor has [Exec.Products], rounded. Positions count
// elements in both.
type matrix[T Float] struct {
	plain   []T
	rounded bf16.Operand[T]
}

// from returns the matrix from element i on.
func (m matrix[T]) from(i int) matrix[T] {
	if m.plain != nil {
		return matrix[T]{plain: m.plain[i:]}
	}
	return matrix[T]{rounded: m.rounded.From(i)}
}

// The operands of a thread that can be in use at the same time.
const (
	operandA = iota
	operandB
	operandT // transposed images
	operands
)

// operand returns an operand of the thread for n elements, with arbitrary numbers in it. The next call with the same
// slot returns the same memory.
func (s *Scratch[T]) operand(slot, n int) bf16.Operand[T] {
	if s.operands[slot].Len() < n+bf16.Depth {
		s.operands[slot] = s.Products.NewOperand(n)
	}
	return s.operands[slot].First(n + bf16.Depth)
}

// left returns x as the left operand of products: x itself, or a rounded copy in the memory of the thread. Products may
// read past its end, and find zeros there.
func (s *Scratch[T]) left(x []T) matrix[T] {
	if s.Products == nil {
		return matrix[T]{plain: x}
	}
	o := s.operand(operandA, len(x))
	s.Products.Round(o, x)
	o.From(len(x)).Clear()
	return matrix[T]{rounded: o}
}

// ensure allocates an operand of n elements in o, unless there is one already.
func (e *Exec[T]) ensure(o *bf16.Operand[T], n int) {
	if o.Len() == 0 {
		*o = e.Products.NewOperand(n)
	}
}

// roundRows writes a matrix x [rows,cols] to rows [bf16.Padded(cols)] of dst, with zeros at their ends.
func roundRows[T Float](k bf16.Kernels[T], dst bf16.Operand[T], x []T, rows, cols int) {
	pitch := bf16.Padded(cols)
	if pitch == cols {
		k.Round(dst, x[:rows*cols])
		return
	}
	for i := range rows {
		row := dst.From(i * pitch)
		k.Round(row, x[i*cols:][:cols])
		row.From(cols).First(pitch - cols).Clear()
	}
}

// A matrix [segs·depth,cols] of weights, rounded, is stored in panels of [PanelCols] columns. A panel has its segments
// one behind the other, each padded to bf16.Padded(depth) rows.

// packedLen returns the elements of the packed matrix.
func packedLen(segs, depth, cols int) int { return segs * bf16.Padded(depth) * cols }

// packWeights writes the panel of w [segs·depth,cols] that begins at column lo to its place in dst.
func packWeights[T Float](k bf16.Kernels[T], dst bf16.Operand[T], w []T, segs, depth, cols, lo int) {
	n, padded := min(PanelCols, cols-lo), bf16.Padded(depth)
	dst = dst.From(packedLen(segs, depth, lo))
	for s := range segs {
		k.Pack(dst.From(s*padded*n), w[s*depth*cols+lo:], cols, depth, n, padded)
	}
}

// packedPanel returns the panel that [packWeights] wrote.
func packedPanel[T Float](packed bf16.Operand[T], segs, depth, lo int) matrix[T] {
	return matrix[T]{rounded: packed.From(packedLen(segs, depth, lo))}
}
