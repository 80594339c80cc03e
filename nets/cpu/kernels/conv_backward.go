package kernels

import "rollcall/nets/cpu/kernels/bf16"

// ConvBackward computes dw [K,R,S,C,O], db [K,O] and, if asked, dx [K,B,H,W,C], whose border is 0, from gy, the
// gradient of y.
type ConvBackward[T Float] struct {
	ConvShape
	x, gy      []T
	arg        []uint8
	dx, dw, db []T
	flipped    []T // the weights of dx: see [ConvBackward.flip]
	partW      []T // [K,chunks,R,S,C,O] sums of dw, one per chunk of images
	partB      []T // [K,chunks,O] sums of db, one per chunk of images
	w          []T
	packed     packedMatrix[T] // flipped
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
			t.flipped = make([]T, s.flippedLen(e.Products != nil))
		}
		e.For(t, convFlip, s.K*s.R*s.S)
		if e.Products != nil {
			t.packed.ensure(e, s.K, s.flippedPanels())
			e.For(t, convPackFlipped, s.K*blocks(s.C, PanelCols))
		}
	}
	e.For(t, convImages, s.K*imageChunks(s.B))
	e.For(t, convReduce, s.K)
}

// The phases of ConvBackward, in order.
const (
	convFlip        = iota // mirror the weights, if dx is wanted
	convPackFlipped        // pack a panel of the mirrored weights, if operands are rounded
	convImages             // go through the images: dx, and sums of dw and db per chunk
	convReduce             // add the sums of the chunks
)

// Chunk implements [Task].
func (t *ConvBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case convFlip: // i: client and position in the window
		t.flip(s, i/(t.R*t.S), i%(t.R*t.S))
	case convPackFlipped:
		k, c, _ := chunkOf(i, t.C, PanelCols)
		t.packed.pack(s, k, t.flipped[k*t.wLen():][:t.wLen()], c)
	case convImages:
		if s.Products != nil {
			t.roundedGradients(i, s)
			return
		}
		t.gradients(i, s)
	case convReduce: // i: client
		dw, db := t.dw[i*t.wLen():][:t.wLen()], t.db[i*t.O:][:t.O]
		chunks := imageChunks(t.B)
		addParts(s, dw, t.partW[i*chunks*t.wLen():], t.wLen(), chunks)
		addParts(s, db, t.partB[i*chunks*t.O:], t.O, chunks)
	}
}

// flip writes the weights of dx at a position in the window: [K,R,S,O,C], which is w mirrored in r and s, with o and c
// swapped; see [inputWeights] for those that are not rounded.
func (t *ConvBackward[T]) flip(s *Scratch[T], k, position int) {
	n := t.C * t.O
	src := t.w[k*t.wLen()+position*n:][:n]
	if s.Products != nil {
		s.Transpose(t.flipped[k*t.wLen()+(t.R*t.S-1-position)*n:], t.C, src, t.O, t.C, t.O)
		return
	}
	i := t.inputWeights()
	for q := range i.pixels {
		at := ((t.R-1-position/t.S)*i.taps+t.S-1-position%t.S+q)*t.O*i.depth + q*t.C
		s.Transpose(t.flipped[k*i.len+at:], i.depth, src, t.O, t.C, t.O)
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

// pooled returns the parts of gy and arg that belong to rows r … r+count of image n, from the first element to the
// last. The part of gy includes the border between its rows.
func (t *ConvBackward[T]) pooled(n, r, count int) (gy []T, arg []uint8) {
	_, ow := t.Out()
	_, cw := t.Conv()
	row := cw / 2 * t.O
	gy = t.gy[n*t.yLen()+((r/2+t.OutPad)*ow+t.OutPad)*t.O:][:(count/2-1)*ow*t.O+row]
	return gy, t.arg[n*t.argLen()+r/2*row:][:count/2*row]
}

// prefetch asks for what the next rows of dy are made of, at most block rows from row r of image n on, or from the
// first row of the next image: gy and arg are far away, and the product after this leaves memory idle.
func (t *ConvBackward[T]) prefetch(s *Scratch[T], n, r, block int) {
	ch, _ := t.Conv()
	if r < ch {
		s.Prefetch(t.pooled(n, r, min(block, ch-r)))
	} else if n+1 < t.K*t.B {
		s.Prefetch(t.pooled(n+1, 0, block))
	}
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

// roundedRows is how many rows of dy are computed at a time without dx, if operands are rounded: the sum over their
// pixels is cut into chunks, and few rows would make small ones.
const roundedRows = 16

// roundedGradients is gradients where operands are rounded. A variant that can unpools into operands directly.
func (t *ConvBackward[T]) roundedGradients(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	p := weightsProduct[T]{C: t.C, O: t.O, R: t.R, S: t.S, Stride: 1, h: ch, w: cw, width: t.W}
	turned := p.room(s)
	bh, bw, block := t.R-1-t.Pad, t.S-1-t.Pad, ch
	if t.dx == nil {
		bh, bw, block = 0, 0, min(ch, roundedRows)
	}
	dyw := cw + 2*bw
	size, first := (block+2*bh)*dyw*t.O, (bh*dyw+bw)*t.O // of dy, with its border
	unpooler, direct := s.Products.(bf16.Unpooler[T])
	direct = direct && (t.O == 16 || t.O == 32)
	var dy []T
	var rows, packed bf16.Operand[T] // dy as operand A for dx, and as operand B for dw
	if direct {
		if t.dx != nil {
			rows = s.operand(operandA, size)
			rows.Clear()
		}
		packed = s.operand(operandB, bf16.Padded(block*p.pitch())*t.O)
		packed.Clear()
	} else {
		dy = s.Buf(size)
		clearBorder(dy, block, cw, bh, bw, t.O)
	}
	dw, db := t.partW[i*t.wLen():][:t.wLen()], t.partB[i*t.O:][:t.O]
	clear(db)
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		p.transpose(s, turned, t.x[n*t.xLen():][:t.xLen()])
		s.prefetchRounded(t.x, n+1, t.xLen())
		for r := 0; r < ch; r += block {
			count, acc := min(block, ch-r), r > 0 || n > k*t.B+lo
			if !direct {
				t.unpool(s, dy[first:], db, n, r, count, dyw)
				p.add(s, dw, turned, dy[first:], dyw, r, count, acc)
				continue
			}
			t.unpoolRounded(unpooler, rows, packed, db, n, r, count, dyw, p.pitch())
			if count < block { // what the rows of the last block have left
				packed.From(count * p.pitch() * t.O).Clear()
			}
			t.prefetch(s, n, r+count, block)
			p.multiply(s, dw, turned, packed, t.O, r, count, acc)
		}
		if t.dx != nil {
			a := matrix[T]{rounded: rows}
			if !direct {
				a = s.left(dy)
			}
			t.input(s, t.dx[n*t.xLen():][:t.xLen()], a, dyw, matrix[T]{rounded: t.packed.panel(k, 0)})
		}
	}
}

// unpoolRounded writes rows r … r+count of the dy of image n to operands, and adds them to db: to rows, whose rows are
// dyw pixels wide and have a border, unless there is no dx, and to packed, whose rows are pitch pixels apart.
func (t *ConvBackward[T]) unpoolRounded(
	u bf16.Unpooler[T], rows, packed bf16.Operand[T], db []T, n, r, count, dyw, pitch int,
) {
	_, ow := t.Out()
	_, cw := t.Conv()
	gy, arg := t.pooled(n, r, count)
	row := cw / 2 * t.O
	if t.dx != nil {
		rows = rows.From(((t.R-1-t.Pad)*dyw + t.S - 1 - t.Pad) * t.O)
	}
	for i := range count / 2 {
		var top, bottom bf16.Operand[T]
		if t.dx != nil {
			top, bottom = rows.From(2*i*dyw*t.O), rows.From((2*i+1)*dyw*t.O)
		}
		u.Unpool(packed.From(2*i*pitch*t.O), packed.From((2*i+1)*pitch*t.O), top, bottom,
			db, gy[i*ow*t.O:][:row], arg[i*row:][:row])
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

// input writes dx of one image inside the border: dx[i,j,c] = Σ_r Σ_s Σ_o dy[i+r,j+s,o]·flipped[r,s,o,c].
func (t *ConvBackward[T]) input(s *Scratch[T], dx []T, dy matrix[T], dyw int, flipped matrix[T]) {
	p := convProduct[T]{
		down: taps{t.R, 1, t.R - 1 - t.Pad, t.H - t.R + 1}, across: taps{t.S, 1, t.S - 1 - t.Pad, t.W - t.S + 1},
		depth: t.S * t.O, aSeg: dyw * t.O, aCol: t.O, aRow: dyw * t.O,
		cCol: t.C, cRow: t.W * t.C, rows: t.H - 2*t.Pad, cols: t.W - 2*t.Pad,
	}
	p.throughPanels(s, dy, flipped, dx[(t.Pad*t.W+t.Pad)*t.C:])
}
