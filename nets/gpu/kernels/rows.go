package kernels

// RowsArgs are the arguments of begin and round_weights; rows.cu says what each field means.
type RowsArgs struct {
	Work uint64
	P    uint32
	_    uint32
}

// Begin returns the launch of begin, which reads the start of a slot and writes its row and the copy of it.
func (a *RowsArgs) Begin(p Precision) Launch { return flat(a.P, 8*int64(a.P)+p.copied(int64(a.P))) }

// Round returns the launch of round_weights, which reads the row of a slot and writes the copy of it. Only BF16 has
// copies.
func (a *RowsArgs) Round() Launch { return flat(a.P, 4*int64(a.P)+BF16.copied(int64(a.P))) }

// CombineArgs are the arguments of combine; rows.cu says what each field means.
type CombineArgs struct {
	Dst, C, Src uint64
	Terms, P    uint32
}

// Launch returns the launch of combine, which reads every term and writes dst. Combine takes no wave: its grid is one
// row of blocks.
func (a *CombineArgs) Launch() Launch { return flat(a.P, 4*int64(a.P)*(int64(a.Terms)+1)) }

// SumSquaresArgs are the arguments of sum_squares; rows.cu says what each field means.
type SumSquaresArgs struct {
	X, Partial uint64
	N          uint32
	_          uint32
}

// Launch returns the launch of sum_squares, which reads x. It takes no wave: its grid is one row of blocks.
func (a *SumSquaresArgs) Launch() Launch { return squares(a.N) }

const squaresBlock = 4096 // elements of one partial sum of squares, as in squares.cuh

// Partials returns the number of partial sums, one for every block, of the squares of n elements.
func Partials(n uint32) int { return ceil(n, squaresBlock) }

// squares returns the launch of a kernel that sums the squares of n floats of a slot.
func squares(n uint32) Launch {
	return Launch{Geometry{X: Partials(n), Threads: flatThreads}, Cost{Bytes: 4 * int64(n)}}
}
