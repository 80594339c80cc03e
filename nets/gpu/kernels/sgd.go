package kernels

// ClipArgs are the arguments of grad_squares and clip_scale; sgd.cu says what each field means.
type ClipArgs struct {
	Work, Grad, Partial, Scale uint64
	P, N                       uint32
}

// Squares returns the launch of grad_squares, which reads the gradient of every slot.
func (a *ClipArgs) Squares(Precision) Launch { return squares(a.N) }

// Scales returns the launch of clip_scale, which reads the partial sums of a slot and writes one scale. One block
// serves a slot, because the sums are added in a fixed order.
func (a *ClipArgs) Scales(Precision) Launch {
	return Launch{Geometry{X: 1, Threads: flatThreads}, Cost{Bytes: 8*int64(Partials(a.N)) + 4}}
}

// SGDArgs are the arguments of sgd and track; sgd.cu says what each field means.
type SGDArgs struct {
	Work, Grad, Scale uint64
	P, N, First       uint32
	Step, E           uint32
	_                 uint32
}

// Launch returns the launch of sgd, which reads the gradients of elements First … N−1 of a row and updates these. N
// must be above First.
func (a *SGDArgs) Launch(p Precision) Launch {
	n := int64(a.N - a.First)
	return flat(a.N-a.First, 4*n).plus(p.update(n))
}

// Running returns the launch of track, which moves the P−N running statistics of every slot. P must be above N.
func (a *SGDArgs) Running(Precision) Launch { return flat(a.P-a.N, 12*int64(a.P-a.N)) }
