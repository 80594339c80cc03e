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

// winogradTiles is how many tiles are transformed and multiplied at a time, unless a row of tiles is longer: whole
// tiles of Gemm, and so few that what is transformed stays in the second cache if there are not too many channels.
const winogradTiles = 96

// winogradMaps are the maps of B images whose tiles are transformed, and the rows of tiles of their outputs.
type winogradMaps[T Float] struct {
	images               []T // from the first pixel of the first image on
	size                 int // elements from image to image
	rows, cols, channels int // pixels that may be read
	width                int // pixels from row to row
	top, left            int // rows and columns of zeros in front of them
	h, w                 int // of the outputs
}

// tiles returns the rows of tiles of an image, and the tiles in a row.
func (m *winogradMaps[T]) tiles() (rows, cols int) { return blocks(m.h, 2), blocks(m.w, 2) }

// winogradBlocks returns in how many blocks, of how many rows, the rows of the tiles of B images are computed.
func winogradBlocks(B, h, w int) (count, rows int) {
	all := B * blocks(h, 2)
	count = blocks(all, max(1, winogradTiles/blocks(w, 2)))
	return count, blocks(all, count)
}

// winogradPlane returns the elements from tile to tile of a plane with some channels, and from plane to plane. They
// are no power of two apart: the first cache has few places for such lines.
func winogradPlane(tiles, channels int) (row, plane int) {
	row = (blocks(channels, 16) + 1) * 16
	return row, tiles*row + 16
}

// winogradRows lends the rows of pixels of maps, with zeros around them where tiles read beyond.
type winogradRows[T Float] struct {
	*winogradMaps[T]
	need          int // pixels of a row that tiles read
	zeros, copies []T // one row, and four
}

// room returns the elements that winogradRows need.
func (m *winogradMaps[T]) room(need int) int { return 5 * need * m.channels }

func newWinogradRows[T Float](m *winogradMaps[T], need int, room []T) winogradRows[T] {
	clear(room[:m.room(need)])
	n := need * m.channels
	return winogradRows[T]{m, need, room[:n], room[n:]}
}

// row returns row u of an image, counted from the first row of zeros in front of it. The next four rows leave it be.
func (r *winogradRows[T]) row(image, u int) []T {
	n := r.need * r.channels
	at := u - r.top
	if at < 0 || at >= r.rows {
		return r.zeros
	}
	x := r.images[image*r.size+at*r.width*r.channels:]
	if r.left == 0 && r.cols >= r.need {
		return x[:n]
	}
	dst := r.copies[u%4*n:][:n]
	copy(dst[r.left*r.channels:], x[:min(r.cols, r.need-r.left)*r.channels])
	return dst
}

// The rows of Bᵀ: row r of a tile is row a of the pixels and sign times row b.
var winogradInput = [4]struct{ a, b, sign int }{{0, 2, -1}, {1, 2, 1}, {2, 1, -1}, {1, 3, -1}}

// winogradProduct computes block i of y, the convolution of maps with weights u [16] in panels. An image of y has size
// elements, and its rows are width pixels of O channels apart.
type winogradProduct[T Float] struct {
	winogradMaps[T]
	B, O, yWidth, ySize int
	u, y                []T
}

func (p *winogradProduct[T]) block(i int, s *Scratch[T]) {
	count, rows := winogradBlocks(p.B, p.h, p.w)
	perImage, cols := p.tiles()
	C, O := p.channels, p.O
	lo, hi := i*rows, min((i+1)*rows, p.B*perImage)
	if count == 0 || lo >= hi {
		return
	}
	rowV, planeV := winogradPlane(rows*cols, C)
	rowM, planeM := winogradPlane(rows*cols, O)
	need := 2*cols + 2
	buf := s.Buf(16*planeV + 16*planeM + p.room(need) + 4*cols*O)
	v, buf := buf[:16*planeV], buf[16*planeV:]
	m, buf := buf[:16*planeM], buf[16*planeM:]
	in := newWinogradRows(&p.winogradMaps, need, buf)
	buf = buf[p.room(need):]
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
		for o := 0; o < O; o += PanelCols {
			n := min(PanelCols, O-o)
			for c := 0; c < C; c += depthBlock {
				s.Tile = Tile[T]{
					A: v[plane*planeV+c:], B: p.u[(plane*O+o)*C+c*n:], C: m[plane*planeM+o:],
					M: (hi - lo) * cols, N: n, Segs: 1, K: min(depthBlock, C-c), Runs: 1,
					ARow: rowV, AK: 1, BRow: n, CRow: rowM, Acc: c > 0,
				}
				s.Gemm(&s.Tile)
			}
		}
	}
	for row := lo; row < hi; row++ {
		y := p.y[row/perImage*p.ySize+row%perImage*2*p.yWidth*O:]
		p.output(s, y, m[(row-lo)*cols*rowM:], planeM, rowM, 2*(row%perImage)+1 < p.h, buf)
	}
}

// output computes two rows of y, or one, from a row of tiles. room is as large as two rows of whole tiles.
func (p *winogradProduct[T]) output(s *Scratch[T], y, m []T, plane, row int, both bool, room []T) {
	_, cols := p.tiles()
	n, wide := p.w*p.O, 2*cols*p.O
	if both && wide == n {
		s.WinogradOutput(y[:n], y[p.yWidth*p.O:][:n], m, plane, row, cols, p.O)
		return
	}
	s.WinogradOutput(room[:wide], room[wide:][:wide], m, plane, row, cols, p.O)
	copy(y[:n], room)
	if both {
		copy(y[p.yWidth*p.O:][:n], room[wide:])
	}
}

// inTiles computes y by Winograd's algorithm.
func (t *Conv2DForward[T]) inTiles(e *Exec[T]) {
	if t.packed == nil {
		t.packed = make([]T, t.K*t.winogradLen())
	}
	h, w := t.Out()
	count, _ := winogradBlocks(t.B, h, w)
	e.For(t, conv2DTransform, t.K*blocks(t.O, PanelCols))
	e.For(t, conv2DTiles, t.K*count)
}

// winograd returns the product that computes y of client k.
func (t *Conv2DForward[T]) winograd(k int) winogradProduct[T] {
	h, w := t.Out()
	return winogradProduct[T]{
		winogradMaps: winogradMaps[T]{
			images: t.x[k*t.B*t.xLen()+t.origin():], size: t.xLen(),
			rows: h + 2, cols: w + 2, channels: t.C, width: t.W, h: h, w: w,
		},
		B: t.B, O: t.O, yWidth: w, ySize: t.yLen(),
		u: t.packed[k*16*t.C*t.O:][:16*t.C*t.O], y: t.y[k*t.B*t.yLen():],
	}
}

// winogradPack transforms the weights of client k for the panel of outputs from o on.
func (t *Conv2DForward[T]) winogradPack(s *Scratch[T], k, o int) {
	plane, n := t.C*t.O, min(PanelCols, t.O-o)
	s.WinogradWeights(t.packed[16*k*plane+o*t.C:], plane, t.w[9*k*plane+o:], plane, t.O, t.C, n)
}

// inTiles computes dx by Winograd's algorithm.
func (t *Conv2DInput[T]) inTiles(e *Exec[T]) {
	if t.flipped == nil {
		t.flipped = make([]T, t.K*t.winogradLen())
	}
	count, _ := winogradBlocks(t.B, t.H-2*t.Border, t.W-2*t.Border)
	e.For(t, inputTransform, t.K*blocks(t.C, PanelCols))
	e.For(t, inputTiles, t.K*count)
}

// winograd returns the product that computes dx of client k.
func (t *Conv2DInput[T]) winograd(k int) winogradProduct[T] {
	h, w := t.Out()
	inner := (t.Border*t.W + t.Border) * t.C
	return winogradProduct[T]{
		winogradMaps: winogradMaps[T]{
			images: t.gy[k*t.B*t.yLen():], size: t.yLen(), rows: h, cols: w, channels: t.O, width: w,
			top: 2 - t.Pad, left: 2 - t.Pad, h: t.H - 2*t.Border, w: t.W - 2*t.Border,
		},
		B: t.B, O: t.C, yWidth: t.W, ySize: t.xLen(),
		u: t.flipped[k*16*t.C*t.O:][:16*t.C*t.O], y: t.dx[k*t.B*t.xLen()+inner:],
	}
}

// winogradFlip transforms the mirrored weights of client k for the panel of channels from c on.
func (t *Conv2DInput[T]) winogradFlip(s *Scratch[T], k, c int) {
	plane, n := t.C*t.O, min(PanelCols, t.C-c)
	w := s.Buf(9 * t.O * n)
	for i := range 9 {
		s.Transpose(w[i*t.O*n:], n, t.w[(9*k+8-i)*plane+c*t.O:], t.O, n, t.O)
	}
	s.WinogradWeights(t.flipped[16*k*plane+c*t.O:], plane, w, t.O*n, n, t.O, n)
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
	groups := t.winogradGroups()
	if t.part == nil {
		t.part = make([]T, t.K*groups*t.winogradLen())
	}
	chunks := groups
	if t.wLen() >= largeWeights {
		chunks = 4 * blocks(t.C, winogradChannels)
	}
	e.For(t, weightsTiles, t.K*chunks)
	e.For(t, weightsFold, t.K*blocks(t.C, PanelCols))
}

// winogradGradient are the rows of A, as winogradInput those of Bᵀ; −1 is a row of zeros.
var winogradGradient = [4]struct{ a, b, sign int }{{0, -1, 1}, {0, 1, 1}, {0, 1, -1}, {-1, 1, -1}}

// tiles computes chunk i of dU: all of it from a group of images or, if the weights are large, four planes of some
// channels from all images. Planes 4r … 4r+3 are made of the same row of every tile.
func (t *Conv2DWeights[T]) tiles(i int, s *Scratch[T]) {
	if t.wLen() < largeWeights {
		k, lo, hi := imagesOf(i, t.B)
		p := t.winograd(k, lo, hi, t.part[i*t.winogradLen():])
		p.sum(s, 0, 4, 0, t.C)
		return
	}
	per := blocks(t.C, winogradChannels)
	k, r, size := i/per/4, i/per%4, blocks(t.C, per)
	c := i % per * size
	p := t.winograd(k, 0, t.B, t.part[k*t.winogradLen():])
	p.sum(s, r, r+1, c, min(size, t.C-c))
}

// winogradSum sums dU [16,C,O] over B images.
type winogradSum[T Float] struct {
	x, gy winogradMaps[T]
	B     int
	du    []T
}

// winograd returns the sum over images lo … hi−1 of client k.
func (t *Conv2DWeights[T]) winograd(k, lo, hi int, du []T) winogradSum[T] {
	h, w := t.Out()
	return winogradSum[T]{
		x: winogradMaps[T]{
			images: t.x[(k*t.B+lo)*t.xLen()+t.origin():], size: t.xLen(),
			rows: h + 2, cols: w + 2, channels: t.C, width: t.W, h: h, w: w,
		},
		gy: winogradMaps[T]{
			images: t.gy[(k*t.B+lo)*t.yLen():], size: t.yLen(),
			rows: h, cols: w, channels: t.O, width: w, h: h, w: w,
		},
		B: hi - lo, du: du,
	}
}

// sum sums planes 4·from … 4·to−1 of channels c … c+n−1, a block of tiles at a time.
func (p *winogradSum[T]) sum(s *Scratch[T], from, to, c, n int) {
	C, O := p.x.channels, p.gy.channels
	count, rows := winogradBlocks(p.B, p.x.h, p.x.w)
	perImage, cols := p.x.tiles()
	rowV, planeV := winogradPlane(rows*cols, n)
	rowD, planeD := winogradPlane(rows*cols, O)
	needX, needY := 2*cols+2, 2*cols
	buf := s.Buf(4*planeV + 4*planeD + p.x.room(needX) + p.gy.room(needY))
	v, buf := buf[:4*planeV], buf[4*planeV:]
	d, buf := buf[:4*planeD], buf[4*planeD:]
	xs, ys := newWinogradRows(&p.x, needX, buf), newWinogradRows(&p.gy, needY, buf[p.x.room(needX):])
	for block := range count {
		lo, hi := block*rows, min((block+1)*rows, p.B*perImage)
		for r := from; r < to; r++ {
			ofX, ofY := winogradInput[r], winogradGradient[r]
			for row := lo; row < hi; row++ {
				image, u := row/perImage, row%perImage*2
				s.tiles = TileRow[T]{
					V: v[(row-lo)*cols*rowV:], Plane: planeV, Row: rowV,
					A: xs.row(image, u+ofX.a)[c:], B: xs.row(image, u+ofX.b)[c:],
					Sign: T(ofX.sign), Pixel: C, Tiles: cols, Channels: n,
				}
				s.WinogradInput(&s.tiles)
				s.tiles = TileRow[T]{
					V: d[(row-lo)*cols*rowD:], Plane: planeD, Row: rowD, A: ys.zeros, B: ys.zeros,
					Sign: T(ofY.sign), Pixel: O, Tiles: cols, Channels: O,
				}
				if ofY.a >= 0 {
					s.tiles.A = ys.row(image, u+ofY.a)
				}
				if ofY.b >= 0 {
					s.tiles.B = ys.row(image, u+ofY.b)
				}
				s.WinogradGradient(&s.tiles)
			}
			for plane := range 4 {
				du := p.du[(4*r+plane)*C*O+c*O:]
				for o := 0; o < O; o += PanelCols {
					s.Tile = Tile[T]{
						A: v[plane*planeV:], B: d[plane*planeD+o:], C: du[o:],
						M: n, N: min(PanelCols, O-o), Segs: 1, K: (hi - lo) * cols, Runs: 1,
						ARow: 1, AK: rowV, BRow: rowD, CRow: O, Acc: block > 0,
					}
					s.Gemm(&s.Tile)
				}
			}
		}
	}
}

// winogradFold computes dw of channels c … end−1 of client k from dU, and adds up the groups first.
func (t *Conv2DWeights[T]) winogradFold(s *Scratch[T], k, c, end int) {
	plane, groups, n := t.C*t.O, t.winogradGroups(), (end-c)*t.O
	du := t.part[k*groups*16*plane+c*t.O:]
	if groups > 1 {
		for i := range 16 {
			at := du[i*plane:]
			for group := 1; group < groups; group++ {
				s.Axpy(at[:n], 1, at[group*16*plane:][:n])
			}
		}
	}
	s.WinogradWeightsGrad(t.dw[9*k*plane+c*t.O:], plane, du, plane, n)
}
