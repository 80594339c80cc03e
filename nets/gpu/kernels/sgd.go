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
	P, N              uint32
	Step, E           uint32
}

// Launch returns the launch of sgd, which reads the gradient, reads and writes the row, and writes the rounded weights.
// A slot with momentum also reads and writes that, a slot with drift also reads that.
func (a *SGDArgs) Launch(p Precision) Launch {
	n := int64(a.N)
	l := flat(a.N, 12*n+p.rounded(n))
	l.Momentum, l.Drift = 8*n, 4*n
	return l
}

// Running returns the launch of track, which moves the P−N running statistics of every slot. P must be above N.
func (a *SGDArgs) Running(Precision) Launch { return flat(a.P-a.N, 12*int64(a.P-a.N)) }
