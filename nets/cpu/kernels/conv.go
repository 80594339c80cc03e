package kernels

// ConvShape holds the sizes of a batched convolution, stride 1, with bias, ReLU and 2×2 max pooling behind it.
//
//	x [K,B,H,W,C] with a border of Pad zeros inside H×W; w [K,R,S,C,O]; bias [K,O]
//	conv  [H−R+1, W−S+1, O] per image, both even; y [K,B,(H−R+1)/2+2·OutPad,(W−S+1)/2+2·OutPad,O], its border 0
type ConvShape struct {
	K, B, H, W, C, R, S, O int
	Pad, OutPad            int
}

// Conv returns height and width of the convolution's result before pooling.
func (s ConvShape) Conv() (h, w int) { return s.H - s.R + 1, s.W - s.S + 1 }

// Out returns height and width of y, border included.
func (s ConvShape) Out() (h, w int) {
	h, w = s.Conv()
	return h/2 + 2*s.OutPad, w/2 + 2*s.OutPad
}

// Elements of one image of x, of one client's w, and of one image of y and arg.

func (s ConvShape) xLen() int   { return s.H * s.W * s.C }
func (s ConvShape) wLen() int   { return s.R * s.S * s.C * s.O }
func (s ConvShape) yLen() int   { h, w := s.Out(); return h * w * s.O }
func (s ConvShape) argLen() int { h, w := s.Conv(); return h / 2 * (w / 2) * s.O }

// The matrices of the products for y, and for dx.

func (s ConvShape) panels() panelSizes        { return panelSizes{s.R, s.S * s.C, s.O} }
func (s ConvShape) flippedPanels() panelSizes { return panelSizes{s.R, s.S * s.O, s.C} }

// imagesPerChunk is how many images of a client a chunk has. Every chunk sums dw over its own images, and the sums are
// then added in order, so another number gives other results.
const imagesPerChunk = 16

// imageChunks returns how many chunks the B images of a client make.
func imageChunks(B int) int { return blocks(B, imagesPerChunk) }

// imagesOf returns the client k of chunk i and its images, lo ≤ image < hi, where every client has B images.
func imagesOf(i, B int) (k, lo, hi int) { return chunkOf(i, B, imagesPerChunk) }

// optional returns n elements of x from at on, or nil if x is nil.
func optional[T Float](x []T, at, n int) []T {
	if x == nil {
		return nil
	}
	return x[at:][:n]
}

// ConvForward computes y and arg, the position of each pooling maximum in its window, [K,B,(H−R+1)/2,(W−S+1)/2,O].
//
// It computes a few rows of the convolution at a time and pools them while they are in the cache.
type ConvForward[T Float] struct {
	ConvShape
	x, w, b []T
	y       []T
	arg     []uint8
	packed  packedMatrix[T] // w
}

// Run computes y and arg. The border of y must be zero and stays zero.
func (t *ConvForward[T]) Run(e *Exec[T], s ConvShape, y []T, arg []uint8, x, w, b []T) {
	t.ConvShape, t.y, t.arg, t.x, t.w, t.b = s, y, arg, x, w, b
	if e.Products != nil {
		t.packed.ensure(e, s.K, s.panels())
		e.For(t, convPack, s.K*blocks(s.O, PanelCols))
	}
	e.For(t, forward, s.K*imageChunks(s.B))
}

// convPack is the phase of ConvForward that packs the weights; a chunk is one panel.
const convPack = forward + 1

// Chunk implements [Task].
func (t *ConvForward[T]) Chunk(phase, i int, s *Scratch[T]) {
	if phase == convPack {
		k, o, _ := chunkOf(i, t.O, PanelCols)
		t.packed.pack(s, k, t.w[k*t.wLen():][:t.wLen()], o)
		return
	}
	k, lo, hi := imagesOf(i, t.B)
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		if s.Products == nil && t.ConvShape.byPixels() {
			t.byPixels(s, k, n)
		} else {
			t.byOutputs(s, k, n)
		}
	}
}

// byOutputs computes y and arg of image n of client k.
func (t *ConvForward[T]) byOutputs(s *Scratch[T], k, n int) {
	ch, cw := t.Conv()
	_, ow := t.Out()
	block := min(ch, rowsPerBlock(cw*t.O))
	rows := s.Buf(block * cw * t.O)
	w, bias := matrix[T]{plain: t.w[k*t.wLen():][:t.wLen()]}, t.b[k*t.O:][:t.O]
	if s.Products != nil {
		w = matrix[T]{rounded: t.packed.panel(k, 0)}
	}
	x := s.left(t.x[n*t.xLen():][:t.xLen()])
	s.prefetchRounded(t.x, n+1, t.xLen())
	y := t.y[n*t.yLen():][:t.yLen()]
	arg := t.arg[n*t.argLen():][:t.argLen()]
	for r := 0; r < ch; r += block {
		count := min(block, ch-r)
		t.rows(s, rows, x.from(r*t.W*t.C), w, r, count)
		for p := 0; p < count; p += 2 {
			top, bottom := rows[p*cw*t.O:][:cw*t.O], rows[(p+1)*cw*t.O:][:cw*t.O]
			out := y[(((r+p)/2+t.OutPad)*ow+t.OutPad)*t.O:][:cw/2*t.O]
			s.PoolReLU(out, arg[(r+p)/2*cw/2*t.O:][:cw/2*t.O], top, bottom, bias)
		}
	}
}

// rowsPerBlock returns how many rows of n elements are computed before they are pooled: an even number, so small that
// 16 KiB of float32 hold them and the first cache has room for the rest.
func rowsPerBlock(n int) int { return max(2, 4096/n&^1) }

// rows computes rows r … r+count of the convolution: out [count,W−S+1,O] from the rows of x that start at x[0].
func (t *ConvForward[T]) rows(s *Scratch[T], out []T, x, w matrix[T], r, count int) {
	_, cw := t.Conv()
	p := convProduct[T]{
		down: taps{t.R, 1, t.Pad - r, t.H - 2*t.Pad}, across: taps{t.S, 1, t.Pad, t.W - 2*t.Pad}, depth: t.S * t.C,
		aSeg: t.W * t.C, aCol: t.C, aRow: t.W * t.C, cCol: t.O, cRow: cw * t.O, rows: count, cols: cw,
	}
	p.throughPanels(s, x, w, out)
}
