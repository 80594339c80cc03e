package kernels

import "rollcall/nets/cpu/kernels/bf16"

// Conv2DWeights computes dw[k,r,s,c,o] = Σ_b Σ_i Σ_j x[k,b,Stride·i+r,Stride·j+s,c]·gy[k,b,i,j,o].
//
// Small weights are summed image by image, in chunks of images whose sums are then added in order. Weights that do not
// fit in the second cache are cut into blocks instead, and each block is summed over all images at once.
type Conv2DWeights[T Float] struct {
	Conv2DShape
	dw, x, gy []T
	part      []T             // [K,chunks,R,S,C,O] sums of dw, or of dU, one per chunk of images
	packed    []T             // [K] panels of gy
	rounded   packedMatrix[T] // gy
}

// The phases of Conv2DWeights: the first two for small weights, the others for large ones.
const (
	weightsImages = iota // sum some images of a client
	weightsReduce        // add the sums of the chunks at one place in the window
	weightsPack          // copy one panel of gy
	weightsBlocks        // sum one block of dw over all images of its client

	weightsTiles // Winograd's convolution instead: some channels of four planes of dU
	weightsFold  // some channels of dw
)

// largeWeights is the least number of weights per client that is cut into blocks: 1 MiB of float32.
const largeWeights = 1 << 18

// Run computes dw.
func (t *Conv2DWeights[T]) Run(e *Exec[T], s Conv2DShape, dw, x, gy []T) {
	t.set(s, dw, x, gy)
	if e.Products == nil && s.Winograd() {
		t.inTiles(e)
	} else {
		t.direct(e)
	}
}

func (t *Conv2DWeights[T]) set(s Conv2DShape, dw, x, gy []T) {
	t.Conv2DShape, t.dw, t.x, t.gy = s, dw, x, gy
}

func (t *Conv2DWeights[T]) direct(e *Exec[T]) {
	s := t.Conv2DShape
	if s.wLen() >= largeWeights {
		panels := blocks(s.O, PanelCols)
		if e.Products != nil {
			t.rounded.ensure(e, s.K, s.gradientPanels())
			e.For(t, weightsPack, s.K*panels)
		} else if panels > 1 {
			if t.packed == nil {
				t.packed = make([]T, len(t.gy))
			}
			e.For(t, weightsPack, s.K*panels)
		}
		e.For(t, weightsBlocks, s.K*s.R*s.S*blocks(s.C, widthBlock))
		return
	}
	t.begin()
	e.For(t, weightsImages, s.K*imageChunks(s.B))
	t.reduce(e)
}

// begin makes room for the sums of the chunks of images, in front of [Conv2DWeights.sum].
func (t *Conv2DWeights[T]) begin() {
	if t.part == nil && imageChunks(t.B) > 1 {
		t.part = make([]T, t.K*imageChunks(t.B)*t.wLen())
	}
}

// reduce computes dw from these sums.
func (t *Conv2DWeights[T]) reduce(e *Exec[T]) {
	if imageChunks(t.B) > 1 {
		e.For(t, weightsReduce, t.K*t.R*t.S)
	}
}

// Chunk implements [Task].
func (t *Conv2DWeights[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case weightsImages:
		sum := t.sum(s, i)
		k, lo, hi := imagesOf(i, t.B)
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			sum.add(s, n, s.oneOf(t.gy, n, t.yLen()))
		}
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
	case weightsTiles:
		t.tiles(i, s)
	case weightsFold:
		k, c, end := chunkOf(i, t.C, PanelCols)
		t.fold(s, k, c, end)
	}
}

// weightsSum is the sum of dw over a chunk of images: for every row of the window a product of [S·C, pixels] and
// [pixels, O].
type weightsSum[T Float] struct {
	t       *Conv2DWeights[T]
	dw      []T
	acc     bool // whether there is an image in dw
	rows    rowsProduct[T]
	rounded weightsProduct[T] // if operands are rounded
	turned  bf16.Operand[T]   // and its memory for an image
}

// sum returns the sum over chunk i of the images, without any yet.
func (t *Conv2DWeights[T]) sum(s *Scratch[T], i int) weightsSum[T] {
	k, _, _ := imagesOf(i, t.B)
	oh, ow := t.Out()
	dw := t.dw[k*t.wLen():]
	if imageChunks(t.B) > 1 {
		dw = t.part[i*t.wLen():]
	}
	sum := weightsSum[T]{t: t, dw: dw[:t.wLen()]}
	if s.Products != nil {
		sum.rounded = weightsProduct[T]{C: t.C, O: t.O, R: t.R, S: t.S, Stride: t.Stride, h: oh, w: ow, width: t.W}
		sum.turned = sum.rounded.room(s)
	} else {
		sum.rows = rowsProduct[T]{C: t.C, O: t.O, S: t.S, down: t.down(), w: ow, width: t.W, dyWidth: ow}
	}
	return sum
}

// add adds image n, with its gy.
func (a *weightsSum[T]) add(s *Scratch[T], n int, gy []T) {
	t := a.t
	oh, ow := t.Out()
	x := t.x[n*t.xLen()+t.origin() : (n+1)*t.xLen()]
	if s.Products != nil {
		a.rounded.transpose(s, a.turned, x)
		s.prefetchRounded(t.x, n+1, t.xLen())
		a.rounded.add(s, a.dw, a.turned, gy, ow, 0, oh, a.acc)
	} else {
		block := min(oh, max(1, pixelBlock/ow))
		for r := 0; r < oh; r += block {
			a.rows.add(s, a.dw, x, gy[r*ow*t.O:], r, min(block, oh-r), a.acc || r > 0)
		}
	}
	a.acc = true
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
		if s.Products != nil {
			t.gather(a, x, rows, pixelRuns{p, 1, depth, depth})
			t.roundedBlock(s, dw, a[:depth*rows], k, p, min(chunksPerBlock, chunks-p/size), size)
			continue
		}
		runs := t.runs(at, p, depth)
		t.gather(a, x, rows, runs)
		for o := 0; o < t.O; o += PanelCols {
			b, stride, n := panel(gy, packed, pixels, t.O, o)
			s.Tile = Tile[T]{
				A: a, B: b[runs.first*stride:], C: dw[o:], M: rows, N: n, Segs: runs.count, Runs: 1, K: runs.len,
				ASeg: runs.len * rows, ARow: 1, AK: rows, BSeg: runs.apart * stride, BRow: stride, CRow: t.O,
				Acc: p > 0,
			}
			s.Gemm(&s.Tile)
		}
	}
}

// pixelRuns is count runs of len pixels, apart pixels from one to the next.
type pixelRuns struct{ first, count, len, apart int }

// runs returns the pixels p … p+depth of all images of a client without those for which place at of the window reads a
// zero beside the image: without the rows that do, or else without the columns. It leaves all of them in if the pixels
// are not whole images.
func (t *Conv2DWeights[T]) runs(at, p, depth int) pixelRuns {
	oh, ow := t.Out()
	top, bottom := t.down().windows(at/t.S, 0, oh)
	left, right := t.across().windows(at%t.S, 0, ow)
	switch {
	case depthBlock%(oh*ow) != 0:
	case bottom-top < oh:
		return pixelRuns{p + top*ow, depth / (oh * ow), (bottom - top) * ow, oh * ow}
	case right-left < ow:
		return pixelRuns{p + left, depth / ow, right - left, ow}
	}
	return pixelRuns{p, 1, depth, depth}
}

// gather copies, for every pixel of the runs, rows channels that one place of the window reads. x begins with those of
// the first pixel of a client.
func (t *Conv2DWeights[T]) gather(dst, x []T, rows int, runs pixelRuns) {
	oh, ow := t.Out()
	for i := range runs.count {
		for j := range runs.len {
			p := runs.first + i*runs.apart + j
			from := p/(oh*ow)*t.xLen() + (p/ow%oh*t.W+p%ow)*t.Stride*t.C
			copy(dst[(i*runs.len+j)*rows:][:rows], x[from:])
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
