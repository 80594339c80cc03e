package kernels

// AddArgs are the arguments of add; add.cu says what each field means.
type AddArgs struct {
	Work, A, B, Y uint64
	N             uint32
	_             uint32
}

// Launch returns the launch of add, which reads a and b and writes y.
func (a *AddArgs) Launch(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }
