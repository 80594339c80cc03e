package cpu

// ConvShape holds the sizes of a batched convolution, stride 1, with bias, ReLU and 2×2 max pooling behind it.
//
//	x [K,B,H,W,C] with a constant border of Pad pixels inside H×W; w [K,R,S,C,O]; bias [K,O]
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
}

// Run computes y and arg. The border of y must be zero and stays zero.
func (t *ConvForward[T]) Run(e *Exec[T], s ConvShape, y []T, arg []uint8, x, w, b []T) {
	t.ConvShape, t.y, t.arg, t.x, t.w, t.b = s, y, arg, x, w, b
	e.For(t, forward, s.K*imageChunks(s.B))
}

// Chunk implements [Task].
func (t *ConvForward[T]) Chunk(_, i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	_, ow := t.Out()
	block := min(ch, rowsPerBlock(cw*t.O))
	rows := s.Buf(block * cw * t.O)
	w, bias := t.w[k*t.wLen():][:t.wLen()], t.b[k*t.O:][:t.O]
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		x := t.x[n*t.xLen():][:t.xLen()]
		y := t.y[n*t.yLen():][:t.yLen()]
		arg := t.arg[n*t.argLen():][:t.argLen()]
		for r := 0; r < ch; r += block {
			count := min(block, ch-r)
			t.rows(s, rows, x[r*t.W*t.C:], w, count)
			for p := 0; p < count; p += 2 {
				top, bottom := rows[p*cw*t.O:][:cw*t.O], rows[(p+1)*cw*t.O:][:cw*t.O]
				out := y[(((r+p)/2+t.OutPad)*ow+t.OutPad)*t.O:][:cw/2*t.O]
				s.PoolReLU(out, arg[(r+p)/2*cw/2*t.O:][:cw/2*t.O], top, bottom, bias)
			}
		}
	}
}

// rowsPerBlock returns how many rows of n elements are computed before they are pooled: an even number, so small that
// 16 KiB of float32 hold them and the first cache has room for the rest.
func rowsPerBlock(n int) int { return max(2, 4096/n&^1) }

// rows computes count rows of the convolution: out [count,W−S+1,O] from the rows of x that start at x[0].
func (t *ConvForward[T]) rows(s *Scratch[T], out, x, w []T, count int) {
	_, cw := t.Conv()
	p := convProduct[T]{
		segs: t.R, depth: t.S * t.C, aSeg: t.W * t.C, aCol: t.C, aRow: t.W * t.C,
		cCol: t.O, cRow: cw * t.O, rows: count, cols: cw,
	}
	p.throughPanels(s, x, w, out)
}

// ConvBackward computes dw [K,R,S,C,O], db [K,O] and, if asked, dx [K,B,H,W,C], whose border is 0, from gy, the
// gradient of y.
type ConvBackward[T Float] struct {
	ConvShape
	x, gy      []T
	arg        []uint8
	dx, dw, db []T
	flipped    []T // [K,R,S,O,C] w mirrored in r and s, with o and c swapped: the weights of dx
	partW      []T // [K,chunks,R,S,C,O] sums of dw, one per chunk of images
	partB      []T // [K,chunks,O] sums of db, one per chunk of images
	w          []T
}

// Run computes the gradients. If dx is nil, it computes dw and db alone. The border of dx must be zero and stays zero.
func (t *ConvBackward[T]) Run(e *Exec[T], s ConvShape, dx, dw, db, x, w, gy []T, arg []uint8) {
	t.ConvShape, t.x, t.w, t.gy, t.arg, t.dx, t.dw, t.db = s, x, w, gy, arg, dx, dw, db
	if t.partW == nil {
		t.partW = make([]T, s.K*imageChunks(s.B)*s.wLen())
		t.partB = make([]T, s.K*imageChunks(s.B)*s.O)
	}
	if dx != nil {
		if t.flipped == nil {
			t.flipped = make([]T, s.K*s.wLen())
		}
		e.For(t, convFlip, s.K*s.R*s.S)
	}
	e.For(t, convImages, s.K*imageChunks(s.B))
	e.For(t, convReduce, s.K)
}

// The phases of ConvBackward, in order.
const (
	convFlip   = iota // mirror the weights, if dx is wanted
	convImages        // go through the images: dx, and sums of dw and db per chunk
	convReduce        // add the sums of the chunks
)

// Chunk implements [Task].
func (t *ConvBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case convFlip: // i: client and position in the window
		k, p, n := i/(t.R*t.S), i%(t.R*t.S), t.C*t.O
		src := t.w[k*t.wLen()+p*n:][:n]
		dst := t.flipped[k*t.wLen()+(t.R*t.S-1-p)*n:][:n]
		s.Transpose(dst, t.C, src, t.O, t.C, t.O)
	case convImages:
		t.gradients(i, s)
	case convReduce: // i: client
		dw, db := t.dw[i*t.wLen():][:t.wLen()], t.db[i*t.O:][:t.O]
		chunks := imageChunks(t.B)
		addParts(s, dw, t.partW[i*chunks*t.wLen():], t.wLen(), chunks)
		addParts(s, db, t.partB[i*chunks*t.O:], t.O, chunks)
	}
}

// addParts sets sum to the sum of n parts, added in order. Part i begins at element i·stride of parts and is as long as
// sum.
func addParts[T Float](s *Scratch[T], sum, parts []T, stride, n int) {
	copy(sum, parts)
	for i := 1; i < n; i++ {
		s.Axpy(sum, 1, parts[i*stride:][:len(sum)])
	}
}

// gradients sums dw and db over chunk i of the images, and writes dx of these images.
func (t *ConvBackward[T]) gradients(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	// dy is the gradient of the convolution's result in front of the pooling, with the border that dx reads:
	// [block+2·bh, cw+2·bw, O]. dx needs all rows of an image. Without dx a block of a few rows, which the first cache
	// holds, is enough.
	bh, bw := t.R-1-t.Pad, t.S-1-t.Pad
	block := ch
	if t.dx == nil {
		bh, bw = 0, 0
		block = min(ch, rowsPerBlock(cw*t.O))
	}
	dyw := cw + 2*bw
	dy := s.Buf((block + 2*bh) * dyw * t.O)
	clearBorder(dy, block, cw, bh, bw, t.O)
	inner := dy[(bh*dyw+bw)*t.O:]
	dw, db := t.partW[i*t.wLen():][:t.wLen()], t.partB[i*t.O:][:t.O]
	clear(db)
	acc := false
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		x := t.x[n*t.xLen():][:t.xLen()]
		for r := 0; r < ch; r += block {
			count := min(block, ch-r)
			t.unpool(s, inner, db, n, r, count, dyw)
			// Load the next rows of gy and arg, which are far away, while the product below leaves memory idle.
			if r+count < ch {
				s.Prefetch(t.pooled(n, r+count, min(block, ch-r-count)))
			} else if n+1 < t.K*t.B {
				s.Prefetch(t.pooled(n+1, 0, block))
			}
			t.weights(s, dw, x[r*t.W*t.C:], inner, count, dyw, acc)
			acc = true
		}
		if t.dx != nil {
			t.input(s, t.dx[n*t.xLen():][:t.xLen()], dy, dyw, t.flipped[k*t.wLen():][:t.wLen()])
		}
	}
}

// pooled returns the parts of gy and arg that belong to rows r … r+count of image n, from the first element to the
// last. The part of gy includes the border between its rows.
func (t *ConvBackward[T]) pooled(n, r, count int) (gy []T, arg []uint8) {
	_, ow := t.Out()
	_, cw := t.Conv()
	row := cw / 2 * t.O
	gy = t.gy[n*t.yLen()+((r/2+t.OutPad)*ow+t.OutPad)*t.O:][:(count/2-1)*ow*t.O+row]
	return gy, t.arg[n*t.argLen()+r/2*row:][:count/2*row]
}

// unpool writes rows r … r+count of the dy of image n, dyw pixels wide, and adds them to db.
func (t *ConvBackward[T]) unpool(s *Scratch[T], dy, db []T, n, r, count, dyw int) {
	_, ow := t.Out()
	_, cw := t.Conv()
	gy, arg := t.pooled(n, r, count)
	row := cw / 2 * t.O
	for p := range count / 2 {
		top, bottom := dy[2*p*dyw*t.O:][:2*row], dy[(2*p+1)*dyw*t.O:][:2*row]
		s.UnpoolReLU(top, bottom, db, gy[p*ow*t.O:][:row], arg[p*row:][:row])
	}
}

// clearBorder zeroes the border of maps [h+2·bh, w+2·bw, n].
func clearBorder[T Float](x []T, h, w, bh, bw, n int) {
	row := (w + 2*bw) * n
	clear(x[:bh*row+bw*n])
	for i := range h - 1 {
		clear(x[(bh+i)*row+(bw+w)*n:][:2*bw*n])
	}
	clear(x[(bh+h-1)*row+(bw+w)*n:])
}

// weights adds the share of some rows of one image to dw: dw[r,(s,c),o] += Σ_i Σ_j x[i+r,j+s,c]·dy[i,j,o]. For every r
// this is a product of [S·C, pixels] and [pixels, O]. If acc is false, it sets dw instead of adding.
func (t *ConvBackward[T]) weights(s *Scratch[T], dw, x, dy []T, rows, dyw int, acc bool) {
	_, cw := t.Conv()
	for o := 0; o < t.O; o += PanelCols {
		s.Tile = Tile[T]{
			A: x, B: dy[o:], C: dw[o:],
			M: t.S * t.C, N: min(PanelCols, t.O-o), Segs: rows, K: cw, Runs: t.R,
			ASeg: t.W * t.C, ARow: 1, AK: t.C, ARun: t.W * t.C,
			BSeg: dyw * t.O, BRow: t.O, CRow: t.O, CRun: t.S * t.C * t.O, Acc: acc,
		}
		s.Gemm(&s.Tile)
	}
}

// input writes dx of one image inside the border: dx[i,j,c] = Σ_r Σ_s Σ_o dy[i+r,j+s,o]·flipped[r,s,o,c].
func (t *ConvBackward[T]) input(s *Scratch[T], dx, dy []T, dyw int, flipped []T) {
	p := convProduct[T]{
		segs: t.R, depth: t.S * t.O, aSeg: dyw * t.O, aCol: t.O, aRow: dyw * t.O,
		cCol: t.C, cRow: t.W * t.C, rows: t.H - 2*t.Pad, cols: t.W - 2*t.Pad,
	}
	p.throughPanels(s, dy, flipped, dx[(t.Pad*t.W+t.Pad)*t.C:])
}
