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

// over is the launch of tiles that cover a matrix [M,N].
func (t linearTile) over(M, N uint32) Geometry {
	return Geometry{X: blocks(M, t.rows) * blocks(N, t.columns), Threads: linearThreads, Shared: linearStages * (t.rows + t.columns) * t.depth}
}

// Forward is the geometry of linear_forward.
func (a *LinearArgs) Forward(p Precision) Geometry {
	if a.O <= narrowOutputs {
		return linearNarrow(p).over(a.B, a.O)
	}
	return linearForward.over(a.B, a.O)
}

// BackwardData is the geometry of linear_backward_data.
func (a *LinearArgs) BackwardData(Precision) Geometry { return linearBackward.over(a.B, a.I) }

// BackwardFilter is the geometry of linear_backward_filter.
func (a *LinearArgs) BackwardFilter(p Precision) Geometry {
	if a.O <= narrowOutputs {
		return linearNarrow(p).over(a.I, a.O)
	}
	return linearBackward.over(a.I, a.O)
}
