package ptx

// mmaShape is a shape of mma.sync: D = A·B + C, A [16][K], B [K][8], C and D [16][8].
type mmaShape int

// The shapes, named after the depth K and the type of A and B. C and D are f32.
const (
	m16n8k8TF32 mmaShape = iota
	m16n8k16BF16
)

// depth returns the columns of A, which are the rows of B.
func (s mmaShape) depth() int {
	if s == m16n8k8TF32 {
		return 8
	}
	return 16
}

// a returns which element of A a lane holds in its element i: 4 of tf32, one a register, or 8 of bf16, two a register,
// the first in the low half. (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "… mma.m16n8k16".)
func (s mmaShape) a(lane, i int) (row, column int) {
	group, thread := lane>>2, lane&3
	if s == m16n8k8TF32 {
		return group + 8*(i&1), thread + 4*(i>>1)
	}
	return group + 8*(i>>1&1), 2*thread + i&1 + 8*(i>>2)
}

// b returns which element of B a lane holds in its element i: 2 of tf32 or 4 of bf16.
func (s mmaShape) b(lane, i int) (row, column int) {
	group, thread := lane>>2, lane&3
	if s == m16n8k8TF32 {
		return thread + 4*i, group
	}
	return 2*thread + i&1 + 8*(i>>1), group
}

// c returns which element of C, and of D, a lane holds in its register i of 4.
func (mmaShape) c(lane, i int) (row, column int) { return lane>>2 + 8*(i>>1), 2*(lane&3) + i&1 }

// matrixElement returns which element of an 8×8 matrix of 16-bit elements ldmatrix puts into half i of a lane's
// register, 0 the low half, 1 the high one. The addresses of matrix m's rows come from the lanes 8m … 8m+7. With
// .trans, lanes get columns in place of rows.
func matrixElement(lane, i int, trans bool) (row, column int) {
	row, column = lane>>2, 2*(lane&3)+i
	if trans {
		row, column = column, row
	}
	return row, column
}
