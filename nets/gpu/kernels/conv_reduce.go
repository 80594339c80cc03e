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

// Launch returns the launch of conv_reduce, which reads the partial sums of every chunk and writes the gradient of the
// weights and of the bias.
func (a *ConvReduceArgs) Launch(Precision) Launch {
	bytes := 4 * (int64(a.Chunks) + 1) * (int64(a.N) + int64(a.O))
	return Launch{Geometry{X: ceil(a.N+a.O, reduceBlock), Threads: reduceThreads}, Cost{Bytes: bytes}}
}
