package kernels

// HeadArgs are the arguments of head; head.cuh says what each field means.
type HeadArgs struct {
	Work, X, Labels, DX, Loss, Grad uint64
	W1Offset, B1Offset              uint32
	W2Offset, B2Offset              uint32
	B, I, J, O, P                   uint32
	Step, E, Capacity               uint32
}

// The sizes of head, as in head.cuh. Its one block per slot keeps all samples and all outputs of both layers in shared
// memory.
const (
	headThreads = 256
	headRows    = 128
	headHidden  = 64
	headOutputs = 16
)

// Fits returns whether head can take a batch and layers of these sizes. The number of inputs is free.
func (a *HeadArgs) Fits() bool { return a.B <= headRows && a.J <= headHidden && a.O <= headOutputs }

// Launch returns the launch of head, which reads x, both layers and the labels, and writes dx. It writes the gradients
// of both layers if Grad is set; else it updates their weights.
func (a *HeadArgs) Launch(p Precision) Launch {
	shared := 96 << 10
	if p == BF16 {
		shared = 72 << 10
	}
	x, w := volume(a.B, a.I), volume(a.I, a.J)+volume(a.J, a.O)
	return Launch{
		Geometry{X: 1, Threads: headThreads, Shared: shared},
		Cost{FLOP: 6 * int64(a.B) * w, Bytes: p.act(2*x + w)},
	}.plus(p.sink(a.Grad, w+int64(a.J+a.O)))
}
