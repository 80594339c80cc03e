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

// DotArgs are the arguments of dot; rows.cu says what each field means.
type DotArgs struct {
	X, Y, Partial uint64
	N             uint32
	_             uint32
}

// Launch returns the launch of dot, which reads x, and y if it is another. Dot takes no wave: its grid is one row of
// blocks.
func (a *DotArgs) Launch() Launch {
	l := squares(a.N)
	if a.X != a.Y {
		l.Bytes *= 2
	}
	return l
}

const dotBlock = 4096 // elements of one partial sum, as in dot.cuh

// Partials returns the number of partial sums, one for every block, of the products of n elements.
func Partials(n uint32) int { return ceil(n, dotBlock) }

// squares returns the launch of a kernel that sums the squares of n floats of a slot.
func squares(n uint32) Launch {
	return Launch{Geometry{X: Partials(n), Threads: flatThreads}, Cost{Bytes: 4 * int64(n)}}
}
