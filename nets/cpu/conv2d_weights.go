package cpu

import "rollcall/nets/cpu/bf16"

// Conv2DWeights computes dw[k,r,s,c,o] = Σ_b Σ_i Σ_j x[k,b,Stride·i+r,Stride·j+s,c]·gy[k,b,i,j,o].
//
// Small weights are summed image by image, in chunks of images whose sums are then added in order. Weights that do not
// fit in the second cache are cut into blocks instead, and each block is summed over all images at once.
type Conv2DWeights[T Float] struct {
	Conv2DShape
	dw, x, gy []T
	part      []T             // [K,chunks,R,S,C,O] sums of dw, one per chunk of images
	packed    []T             // [K] panels of gy
	rounded   packedMatrix[T] // gy
}

// The phases of Conv2DWeights: the first two for small weights, the others for large ones.
const (
	weightsImages = iota // sum some images of a client
	weightsReduce        // add the sums of the chunks at one place in the window
	weightsPack          // copy one panel of gy
	weightsBlocks        // sum one block of dw over all images of its client
)

// largeWeights is the least number of weights per client that is cut into blocks: 1 MiB of float32.
const largeWeights = 1 << 18

// Run computes dw.
func (t *Conv2DWeights[T]) Run(e *Exec[T], s Conv2DShape, dw, x, gy []T) {
	t.Conv2DShape, t.dw, t.x, t.gy = s, dw, x, gy
	if s.wLen() >= largeWeights {
		panels := blocks(s.O, PanelCols)
		if e.Products != nil {
			t.rounded.ensure(e, s.K, s.gradientPanels())
			e.For(t, weightsPack, s.K*panels)
		} else if panels > 1 {
			if t.packed == nil {
				t.packed = make([]T, len(gy))
			}
			e.For(t, weightsPack, s.K*panels)
		}
		e.For(t, weightsBlocks, s.K*s.R*s.S*blocks(s.C, widthBlock))
		return
	}
	if t.part == nil && imageChunks(s.B) > 1 {
		t.part = make([]T, s.K*imageChunks(s.B)*s.wLen())
	}
	e.For(t, weightsImages, s.K*imageChunks(s.B))
	if imageChunks(s.B) > 1 {
		e.For(t, weightsReduce, s.K*s.R*s.S)
	}
}

// Chunk implements [Task].
func (t *Conv2DWeights[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case weightsImages:
		t.addImages(i, s)
	case weightsReduce: // i: client and place in the window
		k, at, n := i/(t.R*t.S), i%(t.R*t.S)*t.C*t.O, t.C*t.O
		chunks := imageChunks(t.B)
		addParts(s, t.dw[k*t.wLen()+at:][:n], t.part[k*chunks*t.wLen()+at:], t.wLen(), chunks)
	case weightsPack:
		k, o, _ := chunkOf(i, t.O, PanelCols)
		n := t.B * t.yLen()
		if s.Products != nil {
			t.rounded.pack(s, k, t.gy[k*n:][:n], o)
			return
		}
		packPanel(t.packed[k*n:][:n], t.gy[k*n:][:n], n/t.O, t.O, o)
	case weightsBlocks:
		t.block(i, s)
	}
}

// addImages sums dw over chunk i of the images: for every row of the window a product of [S·C, pixels] and [pixels, O].
func (t *Conv2DWeights[T]) addImages(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	oh, ow := t.Out()
	dw := t.dw[k*t.wLen():]
	if imageChunks(t.B) > 1 {
		dw = t.part[i*t.wLen():]
	}
	dw = dw[:t.wLen()]
	if s.Products != nil {
		product := weightsProduct[T]{C: t.C, O: t.O, R: t.R, S: t.S, Stride: t.Stride, h: oh, w: ow, width: t.W}
		turned := product.room(s)
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			product.transpose(s, turned, t.x[n*t.xLen()+t.origin():(n+1)*t.xLen()])
			product.add(s, dw, turned, t.gy[n*t.yLen():][:t.yLen()], ow, 0, oh, n > k*t.B+lo)
		}
		return
	}
	block := min(oh, max(1, pixelBlock/ow))
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		for r := 0; r < oh; r += block {
			x := t.x[n*t.xLen()+t.origin()+r*t.Stride*t.W*t.C:]
			for o := 0; o < t.O; o += PanelCols {
				s.Tile = Tile[T]{
					A: x, B: t.gy[n*t.yLen()+r*ow*t.O+o:], C: dw[o:],
					M: t.S * t.C, N: min(PanelCols, t.O-o), Segs: min(block, oh-r), K: ow, Runs: t.R,
					ASeg: t.Stride * t.W * t.C, ARow: 1, AK: t.Stride * t.C, ARun: t.W * t.C,
					BSeg: ow * t.O, BRow: t.O, CRow: t.O, CRun: t.S * t.C * t.O, Acc: n > k*t.B+lo || r > 0,
				}
				s.Gemm(&s.Tile)
			}
		}
	}
}

// pixelBlock is how many pixels of a panel of gy the first cache holds beside the rest of a product.
const pixelBlock = 256

// block computes one block of dw, some channels c at one place (r, s) of the window, over all images: a product of
// [rows, pixels] and [pixels, O], depthBlock pixels at a time.
func (t *Conv2DWeights[T]) block(i int, s *Scratch[T]) {
	per := blocks(t.C, widthBlock)
	k, at, rows := i/(t.R*t.S*per), i/per%(t.R*t.S), blocks(t.C, per)
	lo := i % per * rows
	rows = min(rows, t.C-lo)
	oh, ow := t.Out()
	pixels := t.B * oh * ow
	x := t.x[k*t.B*t.xLen()+t.origin()+(at/t.S*t.W+at%t.S)*t.C+lo:]
	gy := t.gy[k*t.B*t.yLen():][:pixels*t.O]
	packed := optional(t.packed, k*len(gy), len(gy))
	dw := t.dw[k*t.wLen()+(at*t.C+lo)*t.O:]
	a := s.Buf(depthBlock * rows)
	chunks, size := bf16.Chunks(pixels) // if operands are rounded
	whole := depthBlock
	if s.Products != nil {
		whole = chunksPerBlock * size
	}
	for p := 0; p < pixels; p += whole {
		depth := min(whole, pixels-p)
		for q := range depth {
			n, row, col := (p+q)/(oh*ow), (p+q)/ow%oh, (p+q)%ow
			copy(a[q*rows:][:rows], x[n*t.xLen()+(row*t.W+col)*t.Stride*t.C:][:rows])
		}
		if s.Products != nil {
			t.roundedBlock(s, dw, a[:depth*rows], k, p, min(chunksPerBlock, chunks-p/size), size)
			continue
		}
		for o := 0; o < t.O; o += PanelCols {
			b, stride, n := panel(gy, packed, pixels, t.O, o)
			s.Tile = Tile[T]{
				A: a, B: b[p*stride:], C: dw[o:], M: rows, N: n, Segs: 1, Runs: 1, K: depth,
				ARow: 1, AK: rows, BRow: stride, CRow: t.O, Acc: p > 0,
			}
			s.Gemm(&s.Tile)
		}
	}
}

// roundedBlock adds the products of a [pixels,rows] with gy from pixel p on to rows rows of dw, where operands are
// rounded: chunks chunks of size pixels.
func (t *Conv2DWeights[T]) roundedBlock(s *Scratch[T], dw, a []T, k, p, chunks, size int) {
	pixels := t.B * t.yLen() / t.O
	ld := chunks * size
	depth := min(ld, pixels-p)
	rows := len(a) / depth
	turned := s.operand(operandA, rows*ld)
	if depth < ld {
		turned.Clear()
	}
	s.Products.Transpose(turned, ld, a, rows, depth, rows)
	for o := 0; o < t.O; o += PanelCols {
		n := min(PanelCols, t.O-o)
		s.product = bf16.Product[T]{
			A: turned, B: t.rounded.panel(k, o).From(p * n), C: dw[o:],
			M: rows, N: n, Segs: 1, Chunks: chunks, Size: size, ARow: ld, CRow: t.O, Acc: p > 0, Runs: 1,
		}
		s.Products.Multiply(&s.product)
	}
}
