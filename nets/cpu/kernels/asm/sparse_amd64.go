package asm

// Sparse has the fields of cpu.Sparse[float32], in the same order, and cpu.Sparse says what they mean. The kernels read
// those up to Add at fixed offsets, which gen/sparse.go repeats.
type Sparse struct {
	Values         []float32
	Places         []int32
	Starts, Stops  []int32
	Items          int
	MStep, MRow    int
	Step, Row      int
	Add            bool
	M, To          []float32
	At, Rows, Cols int
	Loaded         int
}

// SparseAVX512 multiplies lists of values by rows of a matrix, some columns of some rows for each item:
//
//	sum = (g < loaded: to[t·Step + g·Row + j]) + Σ_e Values[e] · m[at + t·MStep + g·MRow + Places[e] + j]
//	to[t·Step + g·Row + j] = (Add: to[t·Step + g·Row + j]) + sum
//
// for the items t, which have the entries Starts[t] ≤ e < Stops[t]. shape is the number of a pair of rows g and of
// registers of columns j, see [SparseShapes]. The last register has tail columns; AVX2 computes all of it.
//
//go:noescape
func SparseAVX512(t *Sparse, m *float32, at int, to *float32, shape, tail, loaded int)

// SparseAVX2 is [SparseAVX512] for AVX2.
//
//go:noescape
func SparseAVX2(t *Sparse, m *float32, at int, to *float32, shape, tail, loaded int)

// SparseShape is how many rows and registers of columns are summed at the same time.
type SparseShape struct{ Rows, Vecs int }

// SparseShapes returns the shapes of the kernels for a number of lanes, in the order of their numbers. sparseShapes of
// gen/sparse.go is the same list.
func SparseShapes(lanes int) (shapes []SparseShape) {
	for _, vecs := range []int{1, 2, 3, 4, 6, 8, 12} {
		for _, rows := range []int{1, 2, 3, 5} {
			if vecs*rows <= 3*lanes/2 {
				shapes = append(shapes, SparseShape{rows, vecs})
			}
		}
	}
	return shapes
}
