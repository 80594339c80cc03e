package kernels

// Winograd's convolution F(2×2, 3×3) computes tiles of 2 × 2 outputs from tiles of 4 × 4 inputs, which overlap, with 16
// multiplications per pair of channels where the direct one has 36 (Lavin and Gray, Fast Algorithms for Convolutional
// Neural Networks, 2016). With weights g, inputs d and outputs y of one tile:
//
//	U = G·g·Gᵀ;  V = Bᵀ·d·B;  M[t,o] = Σ_c V[t,c]·U[c,o] for each of 16 planes and all tiles t;  y = Aᵀ·M·A
//
// dx is such a convolution of gy with mirrored weights. dw is
//
//	D = A·gy·Aᵀ;  dU[c,o] = Σ_t V[t,c]·D[t,o] for each of 16 planes;  dw = Gᵀ·dU·G
//
// The sums are shorter than the direct ones, and no less exact.

// fewWinograd is the least number of channels and outputs for which the products are worth their transforms.
const fewWinograd = 64

// Winograd reports whether the convolution, and its gradients, are computed by Winograd's algorithm where operands are
// not rounded. It depends on the shape alone, and neither on clients and images nor on the processor, since other
// numbers follow from it.
//
// The direct convolution leaves out the zeros around the maps, and the tiles of odd maps reach beyond them, so that
// small maps gain less, and some of them nothing: the three products must have 1.4 times as many multiplications.
func (s Conv2DShape) Winograd() bool {
	if s.R != 3 || s.S != 3 || s.Stride != 1 || min(s.C, s.O) < fewWinograd {
		return false
	}
	h, w := s.Out()
	rows, cols := s.down(), s.across()
	direct := 3 * rows.all(h) * cols.all(w) // of a pair of channels
	tiles := 2*blocks(h, 2)*blocks(w, 2) + blocks(rows.size, 2)*blocks(cols.size, 2)
	return 5*direct >= 7*16*tiles
}

// all returns how many pixels the first n windows read.
func (t taps) all(n int) (sum int) {
	for i := range n {
		lo, hi := t.of(i)
		sum += hi - lo
	}
	return sum
}

// winogradLen returns the elements of the transformed weights of one client: U of y and of dx, and dU.
func (s Conv2DShape) winogradLen() int { return 16 * s.C * s.O }

// How many tiles are transformed and multiplied at a time, unless a row of tiles is longer: so few that what is
// transformed stays in the second cache if there are not too many channels. If there are, U is read from memory for
// each block of tiles, so that y and dx take more of them. In dw a block is a part of the sum: its size is part of the
// result.
const (
	winogradTiles    = 128 // for y and dx
	winogradSumTiles = 96  // for dw
)

// winogradMaps is the sizes of the maps of which tiles are read, and of the maps of 2 × 2 outputs per tile.
type winogradMaps struct {
	size           int // elements from image to image
	rows, cols     int // pixels that may be read
	width          int // pixels from row to row
	top, left      int // rows and columns of zeros in front of them
	channels, need int // of a pixel, and the pixels of a row that tiles read
	h, w           int // of the outputs
}

// The maps of x, and of gy for dx and for dw.

func (s Conv2DShape) winogradX() winogradMaps {
	h, w := s.Out()
	return winogradMaps{
		size: s.xLen(), rows: h + 2, cols: w + 2, width: s.W, channels: s.C, need: 2*blocks(w, 2) + 2, h: h, w: w,
	}
}

func (s Conv2DShape) winogradFramed() winogradMaps {
	m := s.winogradGradient()
	m.top, m.left, m.h, m.w = 2-s.Pad, 2-s.Pad, s.H-2*s.Border, s.W-2*s.Border
	m.need = 2*blocks(m.w, 2) + 2
	return m
}

func (s Conv2DShape) winogradGradient() winogradMaps {
	h, w := s.Out()
	return winogradMaps{size: s.yLen(), rows: h, cols: w, width: w, channels: s.O, need: 2 * blocks(w, 2), h: h, w: w}
}

// tiles returns the rows of tiles of an image, and the tiles of a row.
func (m *winogradMaps) tiles() (rows, cols int) { return blocks(m.h, 2), blocks(m.w, 2) }

// blocks returns in how many blocks, of how many rows, the rows of tiles of B images are computed, tiles at a time.
func (m *winogradMaps) blocks(B, tiles int) (count, rows int) {
	perImage, cols := m.tiles()
	rows = min(B*perImage, max(1, tiles/cols))
	return blocks(B*perImage, rows), rows
}

// plane returns the elements from tile to tile of a plane with some channels, and those of the plane, for the tiles of
// so many rows. No lines that are used together are a power of two apart: the first cache has few places for them.
func (m *winogradMaps) plane(rows, channels int) (row, plane int) {
	_, cols := m.tiles()
	row = (blocks(channels, 16) + 1) * 16
	return row, rows*cols*row + 16
}

// winogradRows lends the rows of pixels of maps, with zeros around them where tiles read beyond.
type winogradRows[T Float] struct {
	winogradMaps
	images        []T // from the first pixel of the first image on
	zeros, copies []T // one row, and four
}

// rowsRoom returns the elements that winogradRows need.
func (m *winogradMaps) rowsRoom() int { return 5 * m.need * m.channels }

func newWinogradRows[T Float](m winogradMaps, images, room []T) winogradRows[T] {
	clear(room[:m.rowsRoom()])
	n := m.need * m.channels
	return winogradRows[T]{m, images, room[:n], room[n:]}
}

// row returns row u of an image, counted from the first row of zeros in front of it. It stays as it is until row u + 4
// is asked for.
func (r *winogradRows[T]) row(image, u int) []T {
	n, at := r.need*r.channels, u-r.top
	if at < 0 || at >= r.rows {
		return r.zeros
	}
	x := r.images[image*r.size+at*r.width*r.channels:]
	if r.left == 0 && r.cols >= r.need {
		return x[:n]
	}
	row := r.copies[u%4*n:][:n]
	copy(row[r.left*r.channels:], x[:min(r.cols, r.need-r.left)*r.channels])
	return row
}

// winogradInput are the rows of Bᵀ: row a of a tile plus sign times row b.
var winogradInput = [4]struct{ a, b, sign int }{{0, 2, -1}, {1, 2, 1}, {2, 1, -1}, {1, 3, -1}}

// winogradLayer is the sizes of a convolution of B images with transformed weights: y [B] has size elements from image
// to image, and rows of width pixels of O channels.
type winogradLayer struct {
	winogradMaps
	B, O, yWidth, ySize int
}

// The layers that compute y and dx.

func (s Conv2DShape) winogradForward() winogradLayer {
	_, w := s.Out()
	return winogradLayer{s.winogradX(), s.B, s.O, w, s.yLen()}
}

func (s Conv2DShape) winogradBackward() winogradLayer {
	return winogradLayer{s.winogradFramed(), s.B, s.C, s.W, s.xLen()}
}

// blocks returns in how many blocks, of how many rows, the rows of tiles are computed.
func (p *winogradLayer) blocks() (count, rows int) { return p.winogradMaps.blocks(p.B, winogradTiles) }

// room returns the elements that a thread computes with.
func (p *winogradLayer) room() int {
	_, rows := p.blocks()
	_, planeV := p.plane(rows, p.channels)
	_, planeM := p.plane(rows, p.O)
	return 16*(planeV+planeM) + p.rowsRoom() + p.twoRows()
}

// twoRows returns the elements of two rows of y with whole tiles.
func (p *winogradLayer) twoRows() int {
	_, cols := p.tiles()
	return 4 * cols * p.O
}

// winogradBlock computes block i of y from the pixels of x on, and from u [16,C,O] in panels.
func winogradBlock[T Float](p winogradLayer, s *Scratch[T], i int, y, x, u []T) {
	_, rows := p.blocks()
	perImage, cols := p.tiles()
	C, O := p.channels, p.O
	lo, hi := i*rows, min((i+1)*rows, p.B*perImage)
	rowV, planeV := p.plane(rows, C)
	rowM, planeM := p.plane(rows, O)
	buf := s.Buf(p.room())
	v, buf := buf[:16*planeV], buf[16*planeV:]
	m, buf := buf[:16*planeM], buf[16*planeM:]
	edge, buf := buf[:p.twoRows()], buf[p.twoRows():]
	in := newWinogradRows(p.winogradMaps, x, buf)
	wide := s.GemmCols()
	for row := lo; row < hi; row++ {
		var d [4][]T
		for j := range d {
			d[j] = in.row(row/perImage, row%perImage*2+j)
		}
		for r, of := range winogradInput {
			s.tiles = TileRow[T]{
				V: v[4*r*planeV+(row-lo)*cols*rowV:], Plane: planeV, Row: rowV, A: d[of.a], B: d[of.b],
				Sign: T(of.sign), Pixel: C, Tiles: cols, Channels: C,
			}
			s.WinogradInput(&s.tiles)
		}
	}
	for plane := range 16 {
		for o := 0; o < O; o += wide {
			n := min(wide, O-o)
			for c := 0; c < C; c += depthBlock {
				s.Tile = Tile[T]{
					A: v[plane*planeV+c:], B: u[(plane*O+o)*C+c*n:], C: m[plane*planeM+o:],
					M: (hi - lo) * cols, N: n, Segs: 1, K: min(depthBlock, C-c), Runs: 1,
					ARow: rowV, AK: 1, BRow: n, CRow: rowM, Acc: c > 0,
				}
				s.Gemm(&s.Tile)
			}
		}
	}
	for row := lo; row < hi; row++ {
		y := y[row/perImage*p.ySize+row%perImage*2*p.yWidth*O:]
		n, next, both := p.w*O, p.yWidth*O, row%perImage*2+1 < p.h
		if tile := m[(row-lo)*cols*rowM:]; both && 2*n == len(edge) {
			s.WinogradOutput(y[:n], y[next:][:n], tile, planeM, rowM, cols, O)
		} else {
			half := len(edge) / 2
			s.WinogradOutput(edge[:half], edge[half:], tile, planeM, rowM, cols, O)
			copy(y[:n], edge)
			if both {
				copy(y[next:][:n], edge[half:])
			}
		}
	}
}

// inTiles computes y by Winograd's algorithm.
func (t *Conv2DForward[T]) inTiles(e *Exec[T]) {
	t.packed = e.Room(t.K * t.winogradLen())
	p := t.winogradForward()
	count, _ := p.blocks()
	e.For(t, conv2DTransform, t.K*blocks(t.O, e.GemmCols()))
	e.For(t, conv2DTiles, t.K*count)
}

// transform transforms the weights of client k for the panel of outputs from o on.
func (t *Conv2DForward[T]) transform(s *Scratch[T], k, o int) {
	plane := t.C * t.O
	u := t.packed[16*k*plane+o*t.C:]
	s.WinogradWeights(u, plane, t.w[9*k*plane+o:], plane, t.O, t.C, min(s.GemmCols(), t.O-o))
}

// tiles computes chunk i of y.
func (t *Conv2DForward[T]) tiles(i int, s *Scratch[T]) {
	p := t.winogradForward()
	count, _ := p.blocks()
	k, n := i/count, t.winogradLen()
	winogradBlock(p, s, i%count, t.y[k*t.B*t.yLen():], t.x[k*t.B*t.xLen()+t.origin():], t.packed[k*n:][:n])
}

// inTiles computes dx by Winograd's algorithm.
func (t *Conv2DInput[T]) inTiles(e *Exec[T]) {
	t.flipped = e.Room(t.K * t.winogradLen())
	p := t.winogradBackward()
	count, _ := p.blocks()
	e.For(t, inputTransform, t.K*blocks(t.C, e.GemmCols()))
	e.For(t, inputTiles, t.K*count)
}

// transform mirrors and transforms the weights of client k for the panel of channels from c on.
func (t *Conv2DInput[T]) transform(s *Scratch[T], k, c int) {
	plane, n := t.C*t.O, min(s.GemmCols(), t.C-c)
	w := s.Buf(9 * t.O * n)
	for i := range 9 {
		s.Transpose(w[i*t.O*n:], n, t.w[(9*k+8-i)*plane+c*t.O:], t.O, n, t.O)
	}
	s.WinogradWeights(t.flipped[16*k*plane+c*t.O:], plane, w, t.O*n, n, t.O, n)
}

// tiles computes chunk i of dx.
func (t *Conv2DInput[T]) tiles(i int, s *Scratch[T]) {
	p := t.winogradBackward()
	count, _ := p.blocks()
	k, n := i/count, t.winogradLen()
	dx := t.dx[k*t.B*t.xLen()+t.Border*(t.W+1)*t.C:]
	winogradBlock(p, s, i%count, dx, t.gy[k*t.B*t.yLen():], t.flipped[k*n:][:n])
}

// winogradGroups returns in how many groups of images dU of a client is summed.
func (s Conv2DShape) winogradGroups() int {
	if s.wLen() >= largeWeights {
		return 1
	}
	return imageChunks(s.B)
}

// winogradChannels is how many channels of dU a chunk computes if the weights are large.
const winogradChannels = 128

// inTiles computes dw by Winograd's algorithm.
func (t *Conv2DWeights[T]) inTiles(e *Exec[T]) {
	chunks := t.winogradGroups()
	t.part = e.Room(t.K * chunks * t.winogradLen())
	if t.wLen() >= largeWeights {
		chunks = 4 * blocks(t.C, winogradChannels)
	}
	e.For(t, weightsTiles, t.K*chunks)
	e.For(t, weightsFold, t.K*blocks(t.C, PanelCols))
}

// tiles computes chunk i of dU: all of it from a group of images or, if the weights are large, four planes of some
// channels from all images.
func (t *Conv2DWeights[T]) tiles(i int, s *Scratch[T]) {
	if t.wLen() < largeWeights {
		k, lo, hi := imagesOf(i, t.B)
		t.addTiles(s, t.part[i*t.winogradLen():], k*t.B+lo, hi-lo, 0, 4, 0, t.C)
		return
	}
	per := blocks(t.C, winogradChannels)
	k, r, size := i/per/4, i/per%4, blocks(t.C, per)
	c := i % per * size
	t.addTiles(s, t.part[k*t.winogradLen():], k*t.B, t.B, r, r+1, c, min(size, t.C-c))
}

// winogradGradient are the rows of A, as winogradInput those of Bᵀ; −1 is a row of zeros.
var winogradGradient = [4]struct{ a, b, sign int }{{0, -1, 1}, {0, 1, 1}, {0, 1, -1}, {-1, 1, -1}}

// addTiles sums du [16,C,O] over B images from image first on, a block of tiles at a time: planes 4·from … 4·to−1, of
// which four are made of one row of every tile, and channels c … c+n−1.
func (t *Conv2DWeights[T]) addTiles(s *Scratch[T], du []T, first, B, from, to, c, n int) {
	x, gy := t.winogradX(), t.winogradGradient()
	count, rows := x.blocks(B, winogradSumTiles)
	perImage, cols := x.tiles()
	rowV, planeV := x.plane(rows, n)
	rowD, planeD := gy.plane(rows, t.O)
	buf := s.Buf(4*(planeV+planeD) + x.rowsRoom() + gy.rowsRoom())
	v, buf := buf[:4*planeV], buf[4*planeV:]
	d, buf := buf[:4*planeD], buf[4*planeD:]
	xs := newWinogradRows(x, t.x[first*t.xLen()+t.origin():], buf)
	ys := newWinogradRows(gy, t.gy[first*t.yLen():], buf[x.rowsRoom():])
	for block := range count {
		lo, hi := block*rows, min((block+1)*rows, B*perImage)
		for r := from; r < to; r++ {
			for row := lo; row < hi; row++ {
				image, u := row/perImage, row%perImage*2
				of := winogradInput[r]
				s.tiles = TileRow[T]{
					V: v[(row-lo)*cols*rowV:], Plane: planeV, Row: rowV,
					A: xs.row(image, u+of.a)[c:], B: xs.row(image, u+of.b)[c:],
					Sign: T(of.sign), Pixel: t.C, Tiles: cols, Channels: n,
				}
				s.WinogradInput(&s.tiles)
				of = winogradGradient[r]
				s.tiles = TileRow[T]{
					V: d[(row-lo)*cols*rowD:], Plane: planeD, Row: rowD, A: ys.zeros, B: ys.zeros,
					Sign: T(of.sign), Pixel: t.O, Tiles: cols, Channels: t.O,
				}
				if of.a >= 0 {
					s.tiles.A = ys.row(image, u+of.a)
				}
				if of.b >= 0 {
					s.tiles.B = ys.row(image, u+of.b)
				}
				s.WinogradGradient(&s.tiles)
			}
			for plane := range 4 {
				at := ((4*r+plane)*t.C + c) * t.O
				for o := 0; o < t.O; o += PanelCols {
					s.Tile = Tile[T]{
						A: v[plane*planeV:], B: d[plane*planeD+o:], C: du[at+o:],
						M: n, N: min(PanelCols, t.O-o), Segs: 1, K: (hi - lo) * cols, Runs: 1,
						ARow: 1, AK: rowV, BRow: rowD, CRow: t.O, Acc: block > 0,
					}
					s.Gemm(&s.Tile)
				}
			}
		}
	}
}

// fold computes dw of channels c … end−1 of client k from dU, whose groups it adds up in order.
func (t *Conv2DWeights[T]) fold(s *Scratch[T], k, c, end int) {
	plane, groups, n := t.C*t.O, t.winogradGroups(), (end-c)*t.O
	du := t.part[k*groups*16*plane+c*t.O:]
	for group := 1; group < groups; group++ {
		for i := range 16 {
			s.Axpy(du[i*plane:][:n], 1, du[(group*16+i)*plane:][:n])
		}
	}
	s.WinogradWeightsGrad(t.dw[9*k*plane+c*t.O:], plane, du, plane, n)
}
