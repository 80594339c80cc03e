package kernels

// ConvReduceArgs are the arguments of conv_reduce; conv_reduce.cu says what each field means.
type ConvReduceArgs struct {
	Work, Partial, Grad uint64
	WOffset, BOffset    uint32
	N, O, Chunks, P     uint32
	Step, E             uint32
}

const (
	reduceThreads = 128
	reduceBlock   = 512 // sums of a block: four per thread
)

// Launch returns the launch of conv_reduce, which reads the partial sums of every chunk. It writes the gradient of the
// weights and of the bias if Grad is set; else it updates them.
func (a *ConvReduceArgs) Launch(p Precision) Launch {
	n := int64(a.N) + int64(a.O)
	read := Cost{Bytes: 4 * int64(a.Chunks) * n}
	return Launch{Geometry{X: ceil(a.N+a.O, reduceBlock), Threads: reduceThreads}, read}.plus(p.sink(a.Grad, n))
}
