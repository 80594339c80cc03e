package kernels

// ConvArgs are the arguments of conv_forward, conv_backward_data and conv_backward_filter; conv.cuh says what each
// field means. Set the sizes first; the method that returns the launch of a kernel sets HP, WP, Chunks and Tile.
type ConvArgs struct {
	Work, X, Y, Arg, GY, DX, Partial uint64
	WOffset, BOffset                 uint32
	B, H, W, C, R, S, O, Pad         uint32
	HP, WP                           uint32
	Images, Chunks                   uint32
	Pixel, _                         uint32 // 0 stands for C
	Tile                             ConvTile
}

// ConvTile says how one of the three kernels cuts a convolution into units of work, and a unit into what fits shared
// memory; conv.cuh says what each field means. It is computed here and handed to the kernel, so that the grid and the
// kernel cannot disagree. It depends on sizes and precision alone, so that sums have the same order on every card.
type ConvTile struct {
	Depth, Pitch, Slice, Slices    uint32
	Images, Rows, Columns          uint32
	Height, Width, Patch           uint32
	Bands, Strips, Units           uint32
	Tiles                          uint32
	Steps, Resident, Stages        uint32
	Windows                        uint32
	WarpTiles, Groups, Parts, Runs uint32
}

const (
	convThreads  = 128
	convWindows  = 64        // the most windows of a unit
	convOutputs  = 32        // outputs of a block
	convShared   = 99 * 1024 // bytes of shared memory that a block may have on every card from capability 8.0 on
	convResident = 52        // steps: so many or fewer weights stay in shared memory (at most 59,904 bytes) …
	convStreamed = 20        // … of more than that, so many are there at a time
	convSlice    = 16        // words of the depth that a patch holds at a time, if a filter of 3×3 taps stays there
	convFew      = 8         // steps: for so many or fewer conv_forward has a kernel with fewer registers

	convBlocks    = 256 // of conv_forward and conv_backward_data that keep a card busy to the end
	filterWarps   = 6
	filterThreads = 32 * filterWarps
	filterWindows = 128 // the most windows of a unit on tensor cores
	filterFew     = 3   // channels: with so many or fewer, a tile of rows has 8 taps
)

// Forward cuts conv_forward for a grid of so many slots and returns its launch, which reads x and w and writes y and,
// in bytes, arg. The sizes must have passed Fits.
func (a *ConvArgs) Forward(p Precision, slots int) Launch {
	a.HP, a.WP, a.Pixel = a.sizes()
	g := a.rowGeometry(p, slots, a.HP, a.WP, a.C, a.O, 2)
	x, w, y, flop := a.volumes()
	return Launch{g, Cost{FLOP: flop, Bytes: p.act(x+w+y) + y}}
}

// BackwardData cuts conv_backward_data for a grid of so many slots and returns its launch, which reads gy, arg in
// bytes, and w, and writes dx. The sizes must have passed Fits.
func (a *ConvArgs) BackwardData(p Precision, slots int) Launch {
	a.HP, a.WP, a.Pixel = a.sizes()
	g := a.rowGeometry(p, slots, (a.H+1)/2, (a.W+1)/2, a.O, a.C, 1)
	_, w, y, flop := a.volumes()
	return Launch{g, Cost{FLOP: flop, Bytes: p.act(y+w+volume(a.B, a.H, a.W, a.C)) + y}}
}

// BackwardFilter cuts conv_backward_filter and returns its launch, which reads x, gy and arg in bytes, and writes the
// partial sums of dw and db. The sizes must have passed Fits, and Images must be set.
func (a *ConvArgs) BackwardFilter(p Precision) Launch {
	a.HP, a.WP, a.Pixel = a.sizes()
	a.Chunks = uint32(ceil(a.B, int(a.Images)))
	g := a.filterGeometry(p)
	x, w, y, flop := a.volumes()
	return Launch{g, Cost{FLOP: flop, Bytes: p.act(x+y) + y + 4*int64(a.Chunks)*(w+int64(a.O))}}
}

// ForwardKernel returns the name of the kernel that Forward launches, without the precision: on tensor cores, slices of
// the depth and few steps have one of their own.
func (a ConvArgs) ForwardKernel(p Precision) string {
	a.Forward(p, 1)
	switch {
	case a.Tile.Slices > 0:
		return "conv_forward_3x3"
	case p != FP32 && a.Tile.Steps <= convFew:
		return "conv_forward_few"
	}
	return "conv_forward"
}

// BackwardDataKernel returns the name of the kernel that BackwardData launches, like ForwardKernel.
func (a ConvArgs) BackwardDataKernel(p Precision) string {
	if a.BackwardData(p, 1); a.Tile.Slices > 0 {
		return "conv_backward_data_3x3"
	}
	return "conv_backward_data"
}

// FilterKernel returns the name of the kernel that BackwardFilter launches, without the precision: few rows of dw have
// one of their own.
func (a ConvArgs) FilterKernel(p Precision) string {
	if a.BackwardFilter(p); a.Tile.WarpTiles == 1 {
		return "conv_backward_filter_few"
	}
	return "conv_backward_filter"
}

// Fits reports whether the shared memory of a block is enough for a convolution of so many channels and outputs: up to
// more than 900 in float32 with 3×3 windows, 400 with 5×5. Images must be set.
func (a ConvArgs) Fits(p Precision) bool {
	return a.Forward(p, 1).X > 0 && a.BackwardData(p, 1).X > 0 && a.BackwardFilter(p).X > 0
}

// ChunkImages returns how many images one partial sum of conv_backward_filter should hold. With few images there is
// work for all multiprocessors; but every partial sum is written and read once, so that a large filter wants more.
func (a *ConvArgs) ChunkImages() uint32 {
	images := uint32(4)
	for images < 16 && a.R*a.S*a.C*a.O > 2048*images {
		images *= 2
	}
	return min(images, a.B)
}

// ConvPixel returns how many elements a pixel of C channels should have in memory, for convolutions to read. A fourth
// beside three channels costs a third more, but a pixel is then read at once.
func ConvPixel(C uint32) uint32 {
	if C%4 == 3 {
		return C + 1
	}
	return C
}

// sizes returns the height and the width of y, and the elements of a pixel of x: C unless more are set.
func (a *ConvArgs) sizes() (rows, columns, pixel uint32) {
	return (a.H + 2*a.Pad - a.R + 1) / 2, (a.W + 2*a.Pad - a.S + 1) / 2, max(a.C, a.Pixel)
}

// volumes returns the number of elements of x, w and y (arg has as many as y) of one slot, and the operations of each
// of the three products.
func (a *ConvArgs) volumes() (x, w, y, flop int64) {
	rows, columns, pixel := a.sizes()
	w = volume(a.R, a.S, a.C, a.O)
	windows := volume(a.B, rows, columns)
	return volume(a.B, a.H, a.W, pixel), w, windows * int64(a.O), 2 * 4 * windows * w
}

// rowGeometry sets the tile of conv_forward or conv_backward_data and returns the geometry. The result has rows ×
// columns windows of 2×2 pixels and n outputs; every tap sums over `channels`. The geometry is zero if a block has too
// little shared memory.
func (a *ConvArgs) rowGeometry(p Precision, slots int, rows, columns, channels, n, stages uint32) Geometry {
	var t ConvTile
	t.Depth = uint32(ceil(channels, 2*perWord(p)) * 2)
	t.Steps = uint32(ceil(a.R*a.S*t.Depth, 8))
	t.Resident = t.Steps
	if t.Steps > convResident {
		t.Resident = convStreamed
	}
	t.Slice = t.Depth
	whole := t.Depth%convSlice == 0 && channels == t.Depth*uint32(perWord(p))
	if p != FP32 && a.R == 3 && a.S == 3 && whole && t.Resident == t.Steps {
		t.Slice, t.Slices = convSlice, t.Depth/convSlice
	}
	t.Pitch = convPitch(t.Slice)
	weights := 4 * (t.Resident*convStep(p) + t.Steps*4 + convOutputs) // bytes, with the offsets of words and the bias
	if !t.shrink(a, rows, columns, a.B, convRoom{windows: convWindows, patches: 1, fixed: weights}) {
		return Geometry{}
	}
	t.Stages = 1
	if t.Slices < 2 && weights+4*stages*t.Patch <= convShared {
		t.Stages = stages
	}
	t.Tiles = uint32(ceil(n, convOutputs))
	a.Tile = t
	// A block loads its weights once and should then do enough with them; but there should be enough blocks. So a slot
	// has 16 blocks, or more if each would have over 16 units, or if there are few slots.
	each := min(max(t.Units/16, 1), 16)
	for each > 2 && slots*ceil(t.Units, int(each))*int(t.Tiles) < convBlocks {
		each /= 2
	}
	return Geometry{
		X: ceil(t.Units, int(each)) * int(t.Tiles), Threads: convThreads, Shared: int(weights + 4*t.Stages*t.Patch),
	}
}

// filterGeometry sets the tile of conv_backward_filter and returns the geometry, which is zero if a block has too
// little shared memory.
func (a *ConvArgs) filterGeometry(p Precision) Geometry {
	var t ConvTile
	t.setWords(a, p)
	step, raw, once := filterBytes(p)
	fits := func(stages uint32) convRoom {
		room := convRoom{windows: convWindows, patches: stages, fixed: step * once, window: once + stages*raw}
		if p != FP32 {
			room.windows, room.fixed = filterWindows, step*room.window
		}
		if p != FP32 && a.C <= filterFew {
			room.gap = 1 // reads of taps of two rows meet no bank twice
		}
		return room
	}
	// Two stages are worth units of half the size, but no smaller ones.
	images, one := min(a.Images, a.B), t
	if !one.shrink(a, a.HP, a.WP, images, fits(1)) {
		return Geometry{}
	}
	if t.shrink(a, a.HP, a.WP, images, fits(2)) && 2*t.windows() >= one.windows() {
		t.Stages = 2
	} else {
		t, t.Stages = one, 1
	}
	t.Windows = (t.windows() + step - 1) / step * step
	t.Tiles = uint32(ceil(a.O, convOutputs))
	t.setRows(a, p)
	a.Tile = t
	g := Geometry{X: int(a.Chunks * t.Runs * t.Tiles), Threads: filterThreads}
	sums := 4096*filterWarps*int(t.WarpTiles) + 16*filterThreads // where the warps add up their sums of dw and db
	g.Shared = max(int(t.Stages*(4*t.Patch+t.Windows*raw)+t.Windows*once), sums)
	return g
}

// filterBytes returns how many windows make a step of conv_backward_filter whole, and the bytes of a window: gy and arg
// in a stage, and what there is once, dY in fp32 and a table. On tensor cores the table takes one word of three: with
// less room the units of some convolutions would be cut otherwise, and their sums would have other bits.
func filterBytes(p Precision) (step, raw, once uint32) {
	if p == FP32 {
		return 2, 4 * (40 + 8), 4 * 4 * (convOutputs + 4 + 1)
	}
	return 4, 4 * (convOutputs/uint32(perWord(p)) + convOutputs/4), 4 * 3
}

// setWords sets the words of a pixel for conv_backward_filter. On tensor cores four words are read at once; in bf16 a
// word is one channel of two pixels, or two channels of one pixel if ldmatrix can read a tile of channels.
func (t *ConvTile) setWords(a *ConvArgs, p Precision) {
	switch {
	case p == FP32:
		t.Depth = uint32(ceil(a.C, 2) * 2)
	case p == BF16 && a.C%32 == 0:
		t.Depth = a.C / 2
	default:
		t.Depth = uint32(ceil(a.C, 4) * 4)
	}
	t.Pitch = convPitch(t.Depth)
}

// setRows deals the rows of dw to the warps.
func (t *ConvTile) setRows(a *ConvArgs, p Precision) {
	rows := a.R * a.S * a.C
	tiles := ceil(rows, 32)
	switch {
	case p == FP32:
	case a.C <= filterFew: // 8 taps, and 8 rows of the taps that are left over
		tiles = ceil(rows, int(8*a.C+8))
	default: // 8 times four channels
		tiles = ceil(a.R*a.S*uint32(ceil(a.C, 4)), 8)
	}
	t.WarpTiles = 3
	if tiles == 1 && (p == FP32 || a.C <= filterFew) {
		t.WarpTiles = 1
	}
	groups := ceil(uint32(tiles), int(t.WarpTiles))
	t.Groups = uint32(min(groups, 3)) // a divisor of the number of warps
	if groups >= filterWarps || groups > 3 && p != FP32 {
		t.Groups = filterWarps
	}
	t.Parts = filterWarps / t.Groups
	t.Runs = uint32(ceil(uint32(groups), int(t.Groups)))
}

// convRoom is what a unit may have.
type convRoom struct {
	windows       uint32 // the most
	patches       uint32 // in shared memory
	fixed, window uint32 // bytes beside patches: of a unit, and of each window
	gap           uint32 // columns of a patch beyond those that the windows need
}

// shrink sets the windows of a unit, and with them the patch. It starts with as many windows as may be and halves them
// until a unit fits shared memory. It returns false if not even one window fits.
func (t *ConvTile) shrink(a *ConvArgs, rows, columns, images uint32, room convRoom) bool {
	t.Columns = min(columns, convWindows)
	t.Rows = min(rows, room.windows/t.Columns)
	t.Images = 1
	if t.Columns == columns && t.Rows == rows {
		t.Images = min(room.windows/(rows*columns), images)
	}
	for {
		t.Height, t.Width = 2*t.Rows+a.R-1, 2*t.Columns+a.S-1+room.gap
		t.Patch = (t.Images*t.Height*t.Width*t.Pitch + 3) / 4 * 4
		if room.fixed+4*room.patches*t.Patch+room.window*t.windows() <= convShared {
			break
		}
		switch {
		case t.Images > 1:
			t.Images = (t.Images + 1) / 2
		case t.Rows > 1:
			t.Rows = (t.Rows + 1) / 2
		case t.Columns > 1:
			t.Columns = (t.Columns + 1) / 2
		default:
			return false
		}
	}
	t.Bands, t.Strips = uint32(ceil(rows, int(t.Rows))), uint32(ceil(columns, int(t.Columns)))
	t.Units = uint32(ceil(images, int(t.Images))) * t.Bands * t.Strips
	return true
}

// windows returns how many windows a unit has.
func (t *ConvTile) windows() uint32 { return t.Images * t.Rows * t.Columns }

// perWord returns how many neighbouring elements of a sum are in four bytes.
func perWord(p Precision) int {
	if p == BF16 {
		return 2
	}
	return 1
}

// convStep returns how many words the weights of a step take in shared memory. In fp32 a row of 32 is padded by 4.
func convStep(p Precision) uint32 {
	if p == FP32 {
		return 8 * (convOutputs + 4)
	}
	return 8 * convOutputs
}

// convPitch returns how many words a pixel takes in shared memory. Neighbouring windows are 2·pitch words apart; with
// 2·pitch = 8 or 24 modulo 32, the 8-byte loads of half a warp meet no bank twice.
func convPitch(depth uint32) uint32 {
	if depth <= 4 {
		return depth
	}
	return (depth+3)/8*8 + 4
}
