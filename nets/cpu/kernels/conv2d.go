package kernels

import "rollcall/nets/cpu/kernels/bf16"

// Conv2DShape holds the sizes of a batched convolution of any stride, without bias.
//
//	x [K,B,H,W,C] with a border of Border zeros inside H×W; w [K,R,S,C,O]
//	the windows reach Pad ≤ Border pixels into the border
//	y [K,B,⌊(H−2·Border+2·Pad−R)/Stride⌋+1,⌊(W−2·Border+2·Pad−S)/Stride⌋+1,O], without a border
type Conv2DShape struct {
	K, B, H, W, C, R, S, O int
	Stride, Border, Pad    int
}

// Out returns height and width of y.
func (s Conv2DShape) Out() (h, w int) {
	grow := 2 * (s.Pad - s.Border)
	return (s.H+grow-s.R)/s.Stride + 1, (s.W+grow-s.S)/s.Stride + 1
}

func (s Conv2DShape) xLen() int { return s.H * s.W * s.C }       // one image
func (s Conv2DShape) wLen() int { return s.R * s.S * s.C * s.O } // one client
func (s Conv2DShape) yLen() int { h, w := s.Out(); return h * w * s.O }

// The places of the windows in rows and columns of x.

func (s Conv2DShape) down() taps   { return taps{s.R, s.Stride, s.Pad, s.H - 2*s.Border} }
func (s Conv2DShape) across() taps { return taps{s.S, s.Stride, s.Pad, s.W - 2*s.Border} }

// The matrices of the products for y, and for dw if the weights are large.

func (s Conv2DShape) panels() panelSizes         { return panelSizes{s.R, s.S * s.C, s.O} }
func (s Conv2DShape) gradientPanels() panelSizes { return panelSizes{1, s.B * s.yLen() / s.O, s.O} }

// origin returns the first element of an image that a window reads.
func (s Conv2DShape) origin() int { return (s.Border - s.Pad) * (s.W + 1) * s.C }

// narrow is the least width of maps whose rows are worth a tile each. In narrower maps a tile of one row would have too
// few rows of its own to be fast, and a tile takes the same pixel of every image instead.
const narrow = 8

// panel returns columns lo … lo+n of a matrix [depth,cols] as the B of a tile, with the distance of its rows.
//
// If the matrix is no wider than a panel, b is the matrix itself. Otherwise b is a part of packed, where panels
// [depth,n] follow one another: packed rows are in neighbouring cache lines, while the rows of a wide matrix would
// share a few sets of the cache.
func panel[T Float](matrix, packed []T, depth, cols, lo int) (b []T, stride, n int) {
	n = min(PanelCols, cols-lo)
	if cols <= PanelCols {
		return matrix, cols, n
	}
	return packed[lo*depth:][:n*depth], n, n
}

// packPanel copies columns lo … lo+PanelCols of a matrix [depth,cols] to the place in packed where [panel] looks.
func packPanel[T Float](packed, matrix []T, depth, cols, lo int) {
	n := min(PanelCols, cols-lo)
	dst := packed[lo*depth:][:n*depth]
	copyColumns(dst, matrix[lo:], depth, cols, n)
}

// copyColumns copies the first n columns of a matrix [rows,cols] to dst [rows,n].
func copyColumns[T Float](dst, matrix []T, rows, cols, n int) {
	for i := range rows {
		copy(dst[i*n:][:n], matrix[i*cols:])
	}
}

// Conv2DForward computes y[k,b,i,j,o] = Σ_r Σ_s Σ_c w[k,r,s,c,o]·x[k,b,Stride·i+r,Stride·j+s,c], where the pixels of x
// count from the first that a window reads.
type Conv2DForward[T Float] struct {
	Conv2DShape
	y, x, w []T
	packed  []T // [K] panels of w, or of U in Winograd's convolution
	rounded struct {
		w packedMatrix[T]
		x bf16.Operand[T] // [K,B], if tiles go through the images
	}
}

// The phases of Conv2DForward: packing if there are several panels or if operands are rounded, then one of the last
// two.
const (
	conv2DPack   = iota // a chunk is one panel of weights
	conv2DRound         // a chunk is one image, if operands are rounded and tiles go through the images
	conv2DPanels        // narrow maps; a chunk is one panel of weights and all images of its client
	conv2DImages        // wide maps; a chunk is some images of a client and all panels

	conv2DTransform // Winograd's convolution instead; a chunk is one panel of weights
	conv2DTiles     // a chunk is some rows of tiles of a client
)

// Run computes y.
func (t *Conv2DForward[T]) Run(e *Exec[T], s Conv2DShape, y, x, w []T) {
	t.Conv2DShape, t.y, t.x, t.w = s, y, x, w
	if e.Products == nil && s.Winograd() {
		t.inTiles(e)
	} else {
		t.direct(e)
	}
}

func (t *Conv2DForward[T]) direct(e *Exec[T]) {
	s, panels := t.Conv2DShape, blocks(t.O, PanelCols)
	_, width := s.Out()
	if e.Products != nil {
		t.rounded.w.ensure(e, s.K, s.panels())
		e.For(t, conv2DPack, s.K*panels)
		if width < narrow {
			e.ensure(&t.rounded.x, s.K*s.B*s.xLen())
			e.For(t, conv2DRound, s.K*s.B)
			joinImages(t.rounded.x, s.K*s.B, s.xLen())
		}
	} else if panels > 1 {
		if t.packed == nil {
			t.packed = make([]T, s.K*s.wLen())
		}
		e.For(t, conv2DPack, s.K*panels)
	}
	if width < narrow {
		e.For(t, conv2DPanels, s.K*panels)
	} else {
		e.For(t, conv2DImages, s.K*imageChunks(s.B))
	}
}

// Chunk implements [Task].
func (t *Conv2DForward[T]) Chunk(phase, i int, s *Scratch[T]) {
	oh, ow := t.Out()
	p := convProduct[T]{
		down: t.down(), across: t.across(), depth: t.S * t.C,
		aSeg: t.W * t.C, aCol: t.Stride * t.C, aRow: t.Stride * t.W * t.C,
		cCol: t.O, cRow: ow * t.O, rows: oh, cols: ow,
	}
	switch phase {
	case conv2DPack:
		k, o, _ := chunkOf(i, t.O, PanelCols)
		if s.Products != nil {
			t.rounded.w.pack(s, k, t.w[k*t.wLen():][:t.wLen()], o)
			return
		}
		packPanel(t.packed[k*t.wLen():][:t.wLen()], t.w[k*t.wLen():][:t.wLen()], t.R*p.depth, t.O, o)
	case conv2DTransform:
		k, o, _ := chunkOf(i, t.O, s.GemmCols())
		t.transform(s, k, o)
	case conv2DTiles:
		t.tiles(i, s)
	case conv2DRound:
		s.Products.Round(t.rounded.x.From(i*t.xLen()), t.x[i*t.xLen():][:t.xLen()])
	case conv2DPanels:
		k, o, _ := chunkOf(i, t.O, PanelCols)
		p.b, p.bStride, p.n = t.panel(s, k, o)
		x := matrix[T]{plain: t.x}
		if s.Products != nil {
			x = matrix[T]{rounded: t.rounded.x}
		}
		p.throughImages(s, x.from(k*t.B*t.xLen()+t.origin()), t.y[k*t.B*t.yLen()+o:], t.B, t.xLen(), t.yLen())
	case conv2DImages:
		k, lo, hi := imagesOf(i, t.B)
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			x := s.left(t.x[n*t.xLen():][:t.xLen()]).from(t.origin())
			s.prefetchRounded(t.x, n+1, t.xLen())
			for o := 0; o < t.O; o += PanelCols {
				p.b, p.bStride, p.n = t.panel(s, k, o)
				p.throughRows(s, x, t.y[n*t.yLen()+o:])
			}
		}
	}
}

// panel returns the weights of client k for the panel of outputs from o on, as [panel] does.
func (t *Conv2DForward[T]) panel(s *Scratch[T], k, o int) (b matrix[T], stride, n int) {
	if s.Products != nil {
		n := min(PanelCols, t.O-o)
		return matrix[T]{rounded: t.rounded.w.panel(k, o)}, n, n
	}
	at, size := k*t.wLen(), t.wLen()
	b.plain, stride, n = panel(t.w[at:][:size], optional(t.packed, at, size), t.R*t.S*t.C, t.O, o)
	return b, stride, n
}
