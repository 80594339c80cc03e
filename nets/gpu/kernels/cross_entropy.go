package kernels

// CrossEntropyArgs are the arguments of cross_entropy; cross_entropy.cu says what each field means.
type CrossEntropyArgs struct {
	Work, Logits, Labels, Loss, DLogits uint64
	B, O, Step, E, Capacity             uint32
	_                                   uint32
}

const softmaxThreads = 512 // ROW_THREADS of softmax.cuh: the block of cross_entropy and of score

// Launch returns the launch of cross_entropy, which reads the logits and, if DLogits is set, writes their gradient. One
// block serves a slot, because the sum over the batch has a fixed order.
func (a *CrossEntropyArgs) Launch(p Precision) Launch {
	n := volume(a.B, a.O)
	return Launch{Geometry{X: 1, Threads: softmaxThreads}, Cost{Bytes: 4*n + when(a.DLogits, p.act(n))}}
}
