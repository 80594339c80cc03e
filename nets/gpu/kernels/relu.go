package kernels

// ReLUArgs are the arguments of relu_backward; relu.cu says what each field means.
type ReLUArgs struct {
	Work, Y, GY, D uint64
	N              uint32
	_              uint32
}

// Launch returns the launch of relu_backward, which reads y and gy and writes d.
func (a *ReLUArgs) Launch(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }
