package kernels

// Conv2DArgs are the arguments of conv2d_forward, conv2d_backward_data and conv2d_backward_filter; conv2d.cuh says what
// each field means. Set the sizes first; the method that returns the launch of a kernel sets OH and OW.
type Conv2DArgs struct {
	Work, X, Y, GY, DX, DW      uint64
	WOffset                     uint32
	B, H, W, C, R, S, O, U, Pad uint32
	OH, OW                      uint32
	Images                      uint32 // 1 … B: see ChunkImages
	DWStride                    uint32
	Step, E                     uint32
}

const (
	conv2DDepth  = 128     // bytes of a stage along the sum
	conv2DWindow = 8       // bytes of a Window of conv2d.cuh
	conv2DNarrow = 32      // a product of so few columns has the narrowest tile
	conv2DMiddle = 64      // a product of so few columns has the next one
	conv2DFew    = 32      // a product of so few rows of weights has another tile
	conv2DTall   = 1024    // with strides, a product of so many rows of weights has a tall tile
	conv2DMany   = 1 << 20 // so has one of so many weights
	conv2DBlocks = 64      // of a slot that conv2d_backward_filter should have at least
)

// conv2DTile is the part of a product that a block computes, and how many stages of it are in shared memory. The sizes
// of a tile are template parameters of its kernel, and so stand in conv2d.cuh as well; tests fail where the two
// disagree.
type conv2DTile struct{ rows, columns, stages, threads int }

// pixelTile returns the tile of a product of n columns whose rows are pixels.
func (a *Conv2DArgs) pixelTile(p Precision, n uint32) conv2DTile {
	switch {
	case n <= conv2DNarrow:
		return conv2DTile{128, 32, 3, 128}
	case p == FP32:
		return conv2DTile{128, 64, 3, 128}
	case n <= conv2DMiddle:
		return conv2DTile{256, 64, 2, 128}
	case a.U > 1:
		return conv2DTile{256, 128, 2, 256}
	}
	return conv2DTile{128, 128, 3, 128}
}

// filterTile returns the tile of the gradient of the weights.
func (a *Conv2DArgs) filterTile(p Precision) conv2DTile {
	rows := a.R * a.S * a.C
	switch {
	case p != FP32 && rows <= conv2DFew:
		return conv2DTile{32, 64, 3, 128}
	case a.O <= conv2DNarrow:
		return conv2DTile{128, 32, 3, 128}
	case p == FP32 || a.O <= conv2DMiddle:
		return conv2DTile{128, 64, 3, 128}
	case a.U > 1 && rows >= conv2DTall || a.U == 1 && rows*a.O >= conv2DMany:
		return conv2DTile{256, 128, 2, 256}
	}
	return conv2DTile{128, 128, 3, 128}
}

// shared returns the bytes of all stages of a tile.
func (t conv2DTile) shared() int { return t.stages * (t.rows + t.columns) * conv2DDepth }

// Out returns the height and the width of y.
func (a *Conv2DArgs) Out() (rows, columns uint32) {
	return (a.H+2*a.Pad-a.R)/a.U + 1, (a.W+2*a.Pad-a.S)/a.U + 1
}

// Forward returns the launch of conv2d_forward, which reads x and w and writes y. The sizes must
// have passed Fits.
func (a *Conv2DArgs) Forward(p Precision) Launch {
	rows, columns := a.Out()
	t := a.pixelTile(p, a.O)
	x, w, y := a.volumes()
	return a.launch(t, ceil(a.B*rows*columns, t.rows)*ceil(a.O, t.columns), t.rows*conv2DWindow, p.act(x+w+y))
}

// BackwardData returns the launch of conv2d_backward_data, which reads gy and w and writes dx.
// Each of the U² classes of pixels has tiles of its own.
func (a *Conv2DArgs) BackwardData(p Precision) Launch {
	t := a.pixelTile(p, a.C)
	tiles := 0
	for i := range a.U {
		for j := range a.U {
			tiles += ceil(a.B*((a.H-i+a.U-1)/a.U)*((a.W-j+a.U-1)/a.U), t.rows)
		}
	}
	x, w, y := a.volumes()
	return a.launch(t, tiles*ceil(a.C, t.columns), t.rows*conv2DWindow, p.act(y+w+x))
}

// BackwardFilter returns the launch of conv2d_backward_filter, which reads x and gy. It writes dw of every chunk in
// float if DW is set; else it updates w. Images must be set.
func (a *Conv2DArgs) BackwardFilter(p Precision) Launch {
	chunks := ceil(a.B, int(a.Images))
	x, w, y := a.volumes()
	l := a.launch(a.filterTile(p), a.filterTiles(p)*chunks, 0, p.act(x+y))
	return l.plus(p.sink(a.DW, int64(chunks)*w))
}

// launch sets OH and OW, and returns a launch of so many blocks whose shared memory holds the stages and `extra` bytes.
// All three products take the same operations.
func (a *Conv2DArgs) launch(t conv2DTile, blocks, extra int, bytes int64) Launch {
	a.OH, a.OW = a.Out()
	macs := volume(a.B, a.OH, a.OW, a.R, a.S, a.C, a.O)
	return Launch{
		Geometry{X: blocks, Threads: t.threads, Shared: t.shared() + extra},
		Cost{FLOP: 2 * macs, Bytes: bytes},
	}
}

// volumes returns the number of elements of x, w and y of one slot.
func (a *Conv2DArgs) volumes() (x, w, y int64) {
	rows, columns := a.Out()
	return volume(a.B, a.H, a.W, a.C), volume(a.R, a.S, a.C, a.O), volume(a.B, rows, columns, a.O)
}

// filterTiles returns how many tiles cover the weights.
func (a *Conv2DArgs) filterTiles(p Precision) int {
	t := a.filterTile(p)
	return ceil(a.R*a.S*a.C, t.rows) * ceil(a.O, t.columns)
}

// ChunkImages returns how many images one partial sum of conv2d_backward_filter should hold: few enough for there to
// be work for all multiprocessors, and all B if the weights alone have tiles enough. Partial sums are written and read
// again: on tensor cores, half of the blocks are enough for a single sum, and a quarter where windows are of one pixel,
// since memory is the limit there.
func (a *Conv2DArgs) ChunkImages(p Precision) uint32 {
	blocks, tiles := conv2DBlocks*128/a.filterTile(p).threads, a.filterTiles(p)
	if p != FP32 {
		if a.R*a.S == 1 {
			blocks /= 4
		}
		if tiles >= blocks/2 {
			return a.B
		}
	}
	return uint32(ceil(a.B, ceil(blocks, tiles)))
}

// Fits reports whether the kernels can count the elements of the maps and weights of a slot, fewer than 2³¹, and the
// rows and columns of a map, fewer than 2¹³.
func (a *Conv2DArgs) Fits() bool {
	const most, elements = 1<<13 - 1, 1<<31 - 1
	if max(a.H, a.W, a.R, a.S, a.Pad) > most {
		return false
	}
	rows, columns := a.Out()
	images, wide := uint64(a.B), uint64(max(a.C, a.O))
	return images*uint64(a.H+2*a.Pad)*uint64(a.W+2*a.Pad)*wide <= elements &&
		images*uint64(rows)*uint64(columns)*wide <= elements &&
		uint64(a.R)*uint64(a.S)*uint64(a.C)*uint64(a.O) <= elements
}
