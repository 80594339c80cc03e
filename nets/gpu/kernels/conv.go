package kernels

// ConvArgs are those of conv_forward and its gradients.
type ConvArgs struct {
	Work, X, Y, Arg, GY, DX, Partial uint64
	WOffset, BOffset                 uint32
	B, H, W, C, R, S, O, Pad         uint32
	Images                           uint32
	_                                uint32
}

// How the convolutions are launched: conv.cuh and conv_backward_filter.cu cut the same tiles from the same sizes.

const (
	convThreads   = 128
	convWindows   = 64        // of a tile at most
	convOutputs   = 32        // of a block
	convShared    = 99 * 1024 // bytes that a block may have on every card
	convResident  = 52        // steps of weights that stay in shared memory …
	convStreamed  = 20        // … and those that are there at a time if there are more
	convLD        = convOutputs + 4
	filterWarps   = 6
	filterThreads = 32 * filterWarps
)

// convTile is ConvTile of conv.cuh.
type convTile struct {
	depth, pitch          int // words of a pixel
	images, rows, columns int // of windows in a unit
	patch                 int // words
	units                 int // of a slot
}

// perWord is how many elements along a sum are in four bytes.
func perWord(p Precision) int {
	if p == BF16 {
		return 2
	}
	return 1
}

// pooled returns the rows and columns of windows of y.
func (a *ConvArgs) pooled() (rows, columns int) {
	return int(a.H+2*a.Pad-a.R+1) / 2, int(a.W+2*a.Pad-a.S+1) / 2
}

func convPitch(depth int) int {
	if depth <= 4 {
		return depth
	}
	return (depth+3)/8*8 + 4
}

// shrink chooses a tile of at most convWindows windows and cuts it until the patch, `fixed` bytes and `extra` bytes per
// window fit; ok is false if not even one window does.
func (t *convTile) shrink(a *ConvArgs, rows, columns, images, fixed, extra int) (ok bool) {
	t.columns = min(columns, convWindows)
	t.rows = min(rows, convWindows/t.columns)
	t.images = 1
	if t.columns == columns && t.rows == rows {
		t.images = min(convWindows/(rows*columns), images)
	}
	for {
		t.patch = ceil(t.images*(2*t.rows+int(a.R)-1)*(2*t.columns+int(a.S)-1)*t.pitch, 4) * 4
		if ok = fixed+4*t.patch+extra*t.images*t.rows*t.columns <= convShared; ok {
			break
		}
		switch {
		case t.images > 1:
			t.images = (t.images + 1) / 2
		case t.rows > 1:
			t.rows = (t.rows + 1) / 2
		case t.columns > 1:
			t.columns = (t.columns + 1) / 2
		default:
			return false
		}
	}
	t.units = ceil(images, t.images) * ceil(rows, t.rows) * ceil(columns, t.columns)
	return true
}

// rowGeometry is the launch of conv_forward or conv_backward_data: of an output of rows × columns windows with n
// channels that sums over `channels` per tap; the zero Geometry if a block has too little shared memory.
func (a *ConvArgs) rowGeometry(p Precision, rows, columns, channels, n int) Geometry {
	var t convTile
	t.depth = ceil(channels, 2*perWord(p)) * 2
	t.pitch = convPitch(t.depth)
	steps := ceil(int(a.R*a.S)*t.depth, 8)
	resident := steps
	if steps > convResident {
		resident = convStreamed
	}
	fixed := 4 * (resident*8*convLD + steps*4 + convOutputs)
	if !t.shrink(a, rows, columns, int(a.B), fixed, 0) {
		return Geometry{}
	}
	stages := 1
	if fixed+8*t.patch <= convShared {
		stages = 2
	}
	// A block should do enough with its weights, and there should be enough blocks: 32 of a slot, up to 8 units each.
	each := min(max(t.units/32, 1), 8)
	return Geometry{X: ceil(t.units, each) * ceil(n, convOutputs), Threads: convThreads, Shared: fixed +
		4*stages*t.patch}
}

// filterGeometry is the launch of conv_backward_filter; the zero Geometry if a block has too little shared memory.
func (a *ConvArgs) filterGeometry(p Precision) Geometry {
	var t convTile
	per, ld := perWord(p), convLD
	if per == 2 {
		ld = 40
	}
	tiles, perWarp := ceil(a.R*a.S*a.C, 32), 3
	if tiles == 1 {
		perWarp = 1
	}
	all := ceil(tiles, perWarp)
	groups := min(all, 3)
	if all >= filterWarps {
		groups = filterWarps
	}
	t.depth = ceil(a.C, 2) * 2
	t.pitch = convPitch(t.depth)
	rows, columns := a.pooled()
	row := 4 * (ld + 1)
	if !t.shrink(a, rows, columns, int(min(a.Images, a.B)), 8*row, 4/per*row) {
		return Geometry{}
	}
	steps := ceil(t.images*t.rows*t.columns*4, 8*per)
	g := Geometry{X: ceil(a.B, int(a.Images)) * ceil(all, groups) * ceil(a.O, convOutputs), Threads: filterThreads}
	g.Shared = max(4*t.patch+steps*8*row, filterThreads*16)
	if groups < filterWarps {
		g.Shared = max(g.Shared, groups*perWarp*4096) // where warps add what they have
	}
	return g
}

// sizes are the elements of x, w, y (as many as arg and gy) and the operations of each of the products.
func (a *ConvArgs) sizes() (x, w, y, flop int64) {
	rows, columns := a.pooled()
	w = volume(a.R, a.S, a.C, a.O)
	windows := int64(a.B) * int64(rows) * int64(columns)
	return volume(a.B, a.H, a.W, a.C), w, windows * int64(a.O), 2 * 4 * windows * w
}

// Forward is the launch of conv_forward: x, w, y, and arg in bytes. The sizes must have passed [ConvArgs.Fits].
func (a *ConvArgs) Forward(p Precision) Launch {
	rows, columns := a.pooled()
	x, w, y, flop := a.sizes()
	return Launch{a.rowGeometry(p, rows, columns, int(a.C), int(a.O)), Cost{FLOP: flop, Bytes: p.act(x+w+y) + y}}
}

// BackwardData is the launch of conv_backward_data: gy, w, dx, and arg in bytes.
func (a *ConvArgs) BackwardData(p Precision) Launch {
	g := a.rowGeometry(p, ceil(a.H, 2), ceil(a.W, 2), int(a.O), int(a.C))
	x, w, y, flop := a.sizes()
	return Launch{g, Cost{FLOP: flop, Bytes: p.act(y+w+x) + y}}
}

// BackwardFilter is the launch of conv_backward_filter: x, gy, arg in bytes, and the partial sums of dw and db; Images
// must be set.
func (a *ConvArgs) BackwardFilter(p Precision) Launch {
	x, w, y, flop := a.sizes()
	chunks := int64(ceil(a.B, int(a.Images)))
	return Launch{a.filterGeometry(p), Cost{FLOP: flop, Bytes: p.act(x+y) + y + 4*chunks*(w+int64(a.O))}}
}

// Fits reports whether a block has the shared memory for a convolution of so many channels, in and out: in float32 up
// to 900 and more for 3×3, 400 for 5×5. Images must be set.
func (a *ConvArgs) Fits(p Precision) bool {
	return a.Forward(p).X > 0 && a.BackwardData(p).X > 0 && a.BackwardFilter(p).X > 0
}

// ChunkImages is how many images a partial sum of conv_backward_filter should hold: few, for there to be work for all
// multiprocessors, but more the larger the filter is, since each partial sum is written and read once.
func (a *ConvArgs) ChunkImages() uint32 {
	images := uint32(4)
	for images < 16 && a.R*a.S*a.C*a.O > 4096*images {
		images *= 2
	}
	return min(images, a.B)
}
