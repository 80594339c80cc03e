package kernels

// Conv2DArgs are those of conv2d_forward and its gradients.
type Conv2DArgs struct {
	Work, X, Y, GY, DX, DW      uint64
	WOffset                     uint32
	B, H, W, C, R, S, O, U, Pad uint32
	Images                      uint32 // per chunk of DW: [Conv2DArgs.ChunkImages] or 1 … B
	DWStride                    uint32
}

// How the convolutions without bias and pooling are launched: the tiles of conv2d.cuh, by columns.

const (
	conv2DThreads = 128
	conv2DDepth   = 128 // bytes of a stage along the sum
	conv2DWindow  = 8   // bytes of a Window
	conv2DNarrow  = 32  // CONV2D_NARROW and MIDDLE: up to so many columns
	conv2DMiddle  = 64
	conv2DBlocks  = 64 // of a client that conv2d_backward_filter should have at least
)

// conv2DTile is rows × columns of a product, and how many stages it is copied in.
type conv2DTile struct{ rows, columns, stages int }

// conv2DTileOf is the tile of a product of n columns; filter says whether its rows are those of weights.
func conv2DTileOf(p Precision, n uint32, filter bool) conv2DTile {
	switch {
	case n <= conv2DNarrow:
		return conv2DTile{128, 32, 3}
	case p == FP32 || n <= conv2DMiddle && filter:
		return conv2DTile{128, 64, 3}
	case n <= conv2DMiddle:
		return conv2DTile{256, 64, 2}
	}
	return conv2DTile{128, 128, 3}
}

func (t conv2DTile) shared() int { return t.stages * (t.rows + t.columns) * conv2DDepth }

// Out returns the rows and columns of y.
func (a *Conv2DArgs) Out() (rows, columns uint32) {
	return (a.H+2*a.Pad-a.R)/a.U + 1, (a.W+2*a.Pad-a.S)/a.U + 1
}

// launch is that of a kernel of so many tiles, whose product costs the same for all.
func (a *Conv2DArgs) launch(tiles, shared int, bytes int64) Launch {
	rows, columns := a.Out()
	macs := volume(a.B, rows, columns, a.R, a.S, a.C, a.O)
	return Launch{Geometry{X: tiles, Threads: conv2DThreads, Shared: shared}, Cost{FLOP: 2 * macs, Bytes: bytes}}
}

// sizes are the elements of x, w, y (as many as gy).
func (a *Conv2DArgs) sizes() (x, w, y int64) {
	rows, columns := a.Out()
	return volume(a.B, a.H, a.W, a.C), volume(a.R, a.S, a.C, a.O), volume(a.B, rows, columns, a.O)
}

// Forward is the launch of conv2d_forward: x, w, y. The sizes must have passed [Conv2DArgs.Fits].
func (a *Conv2DArgs) Forward(p Precision) Launch {
	rows, columns := a.Out()
	t := conv2DTileOf(p, a.O, false)
	x, w, y := a.sizes()
	return a.launch(ceil(a.B*rows*columns, t.rows)*ceil(a.O, t.columns), t.shared()+t.rows*conv2DWindow, p.act(x+w+y))
}

// BackwardData is the launch of conv2d_backward_data: gy, w, dx. There are tiles of each of the U² classes of pixels.
func (a *Conv2DArgs) BackwardData(p Precision) Launch {
	t := conv2DTileOf(p, a.C, false)
	tiles := 0
	for i := range a.U {
		for j := range a.U {
			tiles += ceil(a.B*((a.H-i+a.U-1)/a.U)*((a.W-j+a.U-1)/a.U), t.rows)
		}
	}
	x, w, y := a.sizes()
	return a.launch(tiles*ceil(a.C, t.columns), t.shared()+t.rows*conv2DWindow, p.act(y+w+x))
}

// BackwardFilter is the launch of conv2d_backward_filter: x, gy, and dw of every chunk in float; Images must be set.
func (a *Conv2DArgs) BackwardFilter(p Precision) Launch {
	chunks := ceil(a.B, int(a.Images))
	x, w, y := a.sizes()
	return a.launch(a.filterTiles(p)*chunks, conv2DTileOf(p, a.O, true).shared(), p.act(x+y)+4*int64(chunks)*w)
}

// filterTiles is how many tiles the weights take.
func (a *Conv2DArgs) filterTiles(p Precision) int {
	t := conv2DTileOf(p, a.O, true)
	return ceil(a.R*a.S*a.C, t.rows) * ceil(a.O, t.columns)
}

// ChunkImages is how many images a partial sum of conv2d_backward_filter should hold: few enough for there to be work
// for all multiprocessors, all B if the weights alone have tiles enough.
func (a *Conv2DArgs) ChunkImages(p Precision) uint32 {
	chunks := ceil(conv2DBlocks, a.filterTiles(p))
	return uint32(ceil(a.B, chunks))
}

// Fits reports whether the kernels can count the elements of a client's maps, 2³¹ at most, and the rows and columns of
// one.
func (a *Conv2DArgs) Fits() bool {
	const most, elements = 1<<13 - 1, 1<<31 - 1
	rows, columns := a.Out()
	wide := max(uint64(a.C), uint64(a.O))
	return max(a.H, a.W, a.R, a.S, a.Pad) <= most && uint64(a.B)*uint64(a.H+2*a.Pad)*uint64(a.W+
		2*a.Pad)*wide <= elements &&
		uint64(a.B)*uint64(rows)*uint64(columns)*wide <= elements &&
		uint64(a.R)*uint64(a.S)*uint64(a.C)*uint64(a.O) <= elements
}
