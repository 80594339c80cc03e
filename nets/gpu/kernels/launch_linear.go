package kernels

// How the fully connected layers are launched: the tiles of gemm.cuh, by kernel.

const (
	linearThreads = 128
	linearStages  = 3
	narrowOutputs = 16 // NARROW: layers of so few outputs have tiles of their own
)

// linearTile is rows × columns of a matrix; its stages hold `depth` bytes of each along the sum.
type linearTile struct{ rows, columns, depth int }

var (
	linearForward  = linearTile{64, 64, 128}
	linearBackward = linearTile{128, 64, 128}
)

// linearNarrow is the tile of layers of few outputs, 64 elements deep.
func linearNarrow(p Precision) linearTile {
	if p == BF16 {
		return linearTile{32, narrowOutputs, 64 * 2}
	}
	return linearTile{32, narrowOutputs, 64 * 4}
}

// over is the launch of tiles that cover a matrix [M,N], and moves so many bytes.
func (a *LinearArgs) over(t linearTile, M, N uint32, bytes int64) Launch {
	tiles, shared := ceil(M, t.rows)*ceil(N, t.columns), linearStages*(t.rows+t.columns)*t.depth
	return Launch{
		Geometry{X: tiles, Threads: linearThreads, Shared: shared},
		Cost{FLOP: 2 * volume(a.B, a.I, a.O), Bytes: bytes},
	}
}

// sizes are the elements of x, w, y.
func (a *LinearArgs) sizes() (x, w, y int64) {
	return volume(a.B, a.I), volume(a.I, a.O), volume(a.B, a.O)
}

// Forward is the launch of linear_forward: x, w, y, the latter in float if YFloat.
func (a *LinearArgs) Forward(p Precision) Launch {
	t := linearForward
	if a.O <= narrowOutputs {
		t = linearNarrow(p)
	}
	x, w, y := a.sizes()
	if a.YFloat != 0 {
		return a.over(t, a.B, a.O, p.act(x+w)+4*y)
	}
	return a.over(t, a.B, a.O, p.act(x+w+y))
}

// BackwardData is the launch of linear_backward_data: gy, w, dx.
func (a *LinearArgs) BackwardData(p Precision) Launch {
	x, w, y := a.sizes()
	return a.over(linearBackward, a.B, a.I, p.act(y+w+x))
}

// BackwardFilter is the launch of linear_backward_filter: x, gy, and dw in float.
func (a *LinearArgs) BackwardFilter(p Precision) Launch {
	t := linearBackward
	if a.O <= narrowOutputs {
		t = linearNarrow(p)
	}
	x, w, y := a.sizes()
	return a.over(t, a.I, a.O, p.act(x+y)+4*w)
}
