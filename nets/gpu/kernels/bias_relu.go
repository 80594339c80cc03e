package kernels

// BiasReLUArgs are the arguments of bias_relu and bias_relu_backward; bias_relu.cu says what each field means. Set the
// sizes, then call Split, before a launch of bias_relu_backward.
type BiasReLUArgs struct {
	Work, X, Y, Arg, GY, DX, Partial uint64
	BOffset                          uint32
	B, H, W, C                       uint32
	Side                             uint32 // 1 or 2
	Lanes, Chunks                    uint32
}

// biasChunks is the most chunks that the pixels of a slot are cut into: conv_reduce adds them one by one.
const biasChunks = 64

// Split sets Lanes and Chunks, which say how the sums are cut, from the sizes alone, so that the sums have the same
// order on every card. As in [NormArgs.Split] a chunk has 32 pixels for each thread, or more where chunks would be
// many.
func (a *BiasReLUArgs) Split() {
	n := NormArgs{B: 1, Pixels: uint32(volume(a.B, a.H/a.Side, a.W/a.Side)), C: a.C}
	n.Split()
	a.Lanes, a.Chunks = n.Lanes, min(n.Chunks, biasChunks)
}

// Forward returns the launch of bias_relu, which reads what windows have of x and writes y and, with pooling, arg.
func (a *BiasReLUArgs) Forward(p Precision) Launch {
	n := a.elements()
	return flat(uint32(n), p.act(int64(a.Side*a.Side+1)*n)+a.places())
}

// Backward returns the launch of bias_relu_backward, which reads gy and arg, or y where there is no arg, and writes dx
// and partial sums.
func (a *BiasReLUArgs) Backward(p Precision) Launch {
	n, vector := a.elements(), 1
	if a.C%4 == 0 {
		vector = 4
	}
	read := p.act(n) + a.places()
	if a.Side == 1 {
		read = p.act(2 * n)
	}
	tiles := ceil(a.C, vector*int(a.Lanes))
	return Launch{
		Geometry{X: tiles * int(a.Chunks), Threads: normThreads},
		Cost{Bytes: read + p.act(volume(a.B, a.H, a.W, a.C)) + 4*volume(a.Chunks, a.C)},
	}
}

// elements returns the number of elements of y of one slot.
func (a *BiasReLUArgs) elements() int64 { return volume(a.B, a.H/a.Side, a.W/a.Side, a.C) }

// places returns the bytes of arg of one slot.
func (a *BiasReLUArgs) places() int64 {
	if a.Side == 1 {
		return 0
	}
	return a.elements()
}
