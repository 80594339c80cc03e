package kernels

// LinearArgs are the arguments of linear_forward, linear_backward_data and linear_backward_filter; linear.cuh says what
// each field means.
type LinearArgs struct {
	Work, X, Y, GY, DX, Grad, Partial uint64
	WOffset, BOffset                  uint32
	B, I, O, P                        uint32
	ReLU, YFloat                      uint32 // 0 or 1
	Parts                             uint32 // 1 or more: see ForwardParts
	Step, E                           uint32
	_                                 uint32
}

const (
	linearThreads = 128
	linearStages  = 3
	narrowOutputs = 16   // a layer of so few outputs has a tile of its own
	wideInputs    = 1024 // a layer of so many inputs, and more than 64 outputs, has another on tensor cores
	partInputs    = 512  // of a part of its sums
)

// linearTile is the part of a matrix that a block computes. The sizes of a tile are template parameters of its kernel,
// and so stand in linear.cuh as well; tests fail where the two disagree.
type linearTile struct {
	rows, columns int
	depth         int // bytes along the sum that a stage holds, of each row and column
}

var (
	forwardTile  = linearTile{64, 64, 128}
	backwardTile = linearTile{128, 64, 128}
	wideTile     = linearTile{128, 128, 128}
)

// narrowTile returns the tile of a layer of few outputs, 64 elements deep.
func narrowTile(p Precision) linearTile { return linearTile{32, narrowOutputs, 64 * p.Act()} }

// ForwardParts returns into how many parts linear_forward should cut the sum over the inputs, 1 if the kernel is to
// write y itself.
func (a *LinearArgs) ForwardParts(p Precision) uint32 {
	if a.wide(p) && a.O%4 == 0 {
		return uint32(ceil(a.I, partInputs))
	}
	return 1
}

// Forward returns the launch of linear_forward, which reads x and w and writes y, in float if YFloat is set. With
// several parts it writes the sums of every part, in float.
func (a *LinearArgs) Forward(p Precision) Launch {
	if a.Parts > 1 {
		x, w, y := a.volumes()
		l := a.launch(wideTile, a.B, a.O, p.act(x+w)+4*int64(a.Parts)*y)
		l.X *= int(a.Parts)
		return l
	}
	t := forwardTile
	if a.O <= narrowOutputs {
		t = narrowTile(p)
	}
	x, w, y := a.volumes()
	if a.YFloat != 0 {
		return a.launch(t, a.B, a.O, p.act(x+w)+4*y)
	}
	return a.launch(t, a.B, a.O, p.act(x+w+y))
}

// Reduce returns the launch of linear_reduce, which reads the sums of all parts and writes y.
func (a *LinearArgs) Reduce(p Precision) Launch {
	_, _, y := a.volumes()
	bytes := 4 * int64(a.Parts) * y
	if a.YFloat != 0 {
		return flat(a.B*a.O, bytes+4*y)
	}
	return flat(a.B*a.O, bytes+p.act(y))
}

// BackwardData returns the launch of linear_backward_data, which reads gy and w and writes dx.
func (a *LinearArgs) BackwardData(p Precision) Launch {
	x, w, y := a.volumes()
	return a.launch(a.backwardTile(p), a.B, a.I, p.act(y+w+x))
}

// BackwardFilter returns the launch of linear_backward_filter, which reads x and gy. It writes dw and db if Grad is
// set; else it updates w and the bias.
func (a *LinearArgs) BackwardFilter(p Precision) Launch {
	t := a.backwardTile(p)
	if a.O <= narrowOutputs {
		t = narrowTile(p)
	}
	x, w, y := a.volumes()
	return a.launch(t, a.I, a.O, p.act(x+y)).plus(p.sink(a.Grad, w+int64(a.O)))
}

// backwardTile returns the tile of the gradients of a layer of more than 16 outputs.
func (a *LinearArgs) backwardTile(p Precision) linearTile {
	if a.wide(p) {
		return wideTile
	}
	return backwardTile
}

// wide reports whether a layer has the wide tile.
func (a *LinearArgs) wide(p Precision) bool {
	return p != FP32 && a.I >= wideInputs && int(a.O) > backwardTile.columns
}

// launch returns the launch of a kernel whose tiles cover a result [M,N]. All three products take the same operations.
func (a *LinearArgs) launch(t linearTile, M, N uint32, bytes int64) Launch {
	tiles, shared := ceil(M, t.rows)*ceil(N, t.columns), linearStages*(t.rows+t.columns)*t.depth
	return Launch{
		Geometry{X: tiles, Threads: linearThreads, Shared: shared},
		Cost{FLOP: 2 * volume(a.B, a.I, a.O), Bytes: bytes},
	}
}

// volumes returns the number of elements of x, w and y of one slot.
func (a *LinearArgs) volumes() (x, w, y int64) {
	return volume(a.B, a.I), volume(a.I, a.O), volume(a.B, a.O)
}
