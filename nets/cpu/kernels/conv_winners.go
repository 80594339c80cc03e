package kernels

// winners is the memory of a thread for gradients that are not 0.
type winners[T Float] struct {
	pixels   PixelLists[T]
	channels ChannelLists[T]
	ends     [2][]int32 // of the pixel lists: see [ConvBackward.listPixels]
	product  Sparse[T]
	image    []T // x with room behind it
	sums     []T // [O,R,padded(S·C)] dw of the chunk
	input    []T // [H,W,padded(C)] dx of an image, if C is no multiple of sparseLanes
}

// ensure returns x if it has n elements, else new memory.
func ensure[T any](x []T, n int) []T {
	if len(x) < n {
		return make([]T, n)
	}
	return x
}

// gradients sums dw and db over chunk i of the images, and writes dx of these images. Of the gradients in front of the
// pooling at least three of four are 0, and are left out: every sum is the one over all of them, to the bit, since a sum
// begins at +0 and a product with 0 does not change it, but for the sign of a zero whose terms are too small for float32
// and for what infinite weights make of 0. The training of such weights ends at the same step: [Kernels.Step] makes NaN
// of them, which reaches the next loss.
func (t *ConvBackward[T]) gradients(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	db := t.partB[i*t.O:][:t.O]
	clear(db)
	// Without dx a block of a few rows is summed before it is added to dw.
	block := ch
	if t.dx == nil {
		block = min(ch, rowsPerBlock(cw*t.O))
	}
	w := &s.winners
	w.channels.ensure(block/2, cw/2, t.O)
	w.channels.Row, w.channels.Pixel = t.W*t.C, t.C
	n := t.O * t.R * padded(t.S*t.C)
	w.sums = ensure(w.sums, n)
	clear(w.sums[:n])
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		for r := 0; r < ch; r += block {
			t.addWeights(s, db, n, r, min(block, ch-r))
		}
		if t.dx != nil {
			t.writeInput(s, k, n)
		}
	}
	dw, row := t.partW[i*t.wLen():][:t.wLen()], padded(t.S*t.C)
	for r := range t.R {
		s.Transpose(dw[r*t.S*t.C*t.O:], t.O, w.sums[r*row:], t.R*row, t.O, t.S*t.C)
	}
}

// pooledRow returns row p of image n of gy and arg, with all that follows.
func (t *ConvBackward[T]) pooledRow(n, p int) (gy []T, arg []uint8) {
	_, ow := t.Out()
	_, cw := t.Conv()
	return t.gy[n*t.yLen()+((p+t.OutPad)*ow+t.OutPad)*t.O:], t.arg[n*t.argLen()+p*cw/2*t.O:]
}

// addWeights adds rows r … r+count of image n to dw, and to db.
func (t *ConvBackward[T]) addWeights(s *Scratch[T], db []T, n, r, count int) {
	w := &s.winners
	_, cw := t.Conv()
	x := t.x[n*t.xLen():]
	if padded(t.S*t.C) > t.S*t.C && len(x) == t.xLen() { // the last image
		w.image = ensure(w.image, t.xLen()+sparseLanes)
		copy(w.image, x)
		x = w.image
	}
	w.channels.reset()
	for p := 0; p < count; p += 2 {
		gy, arg := t.pooledRow(n, (r+p)/2)
		s.AddWinners(db, gy[:cw/2*t.O], arg)
		s.ChannelWinners(&w.channels, p*t.W*t.C, gy, arg, cw/2, t.O)
	}
	t.prefetch(s, n, r+count, count)
	row := padded(t.S * t.C)
	w.product = Sparse[T]{
		Values: w.channels.Values, Places: w.channels.Places, Starts: w.channels.Starts, Stops: w.channels.Stops,
		Items: t.O, M: x, At: r * t.W * t.C, MRow: t.W * t.C, Rows: t.R, Cols: t.S * t.C,
		To: w.sums, Step: t.R * row, Row: row, Add: true,
	}
	s.Sparse(&w.product)
}

// writeInput writes dx of image n, of client k, inside the border: dx[i+r,j+s,c] += w[r,s,c,o]·dy[i,j,o] for the winners
// of dy, row after row of them.
func (t *ConvBackward[T]) writeInput(s *Scratch[T], k, n int) {
	w := &s.winners
	ch, _ := t.Conv()
	depth := padded(t.C)
	dx := t.dx[n*t.xLen():][:t.xLen()]
	out := dx
	if depth > t.C {
		w.input = ensure(w.input, t.H*t.W*depth)
		out = w.input
	}
	inside := func(row int) []T { return out[(row*t.W+t.Pad)*depth:][:(t.W-2*t.Pad)*depth] }
	for p := range ch / 2 {
		t.listPixels(s, n, p)
		if n+1 < t.K*t.B { // the rows of the next image, which addWeights reads here and there
			s.Prefetch(t.x[(n+1)*t.xLen()+2*p*t.W*t.C:][:2*t.W*t.C], nil)
		}
		for i, ends := range w.ends {
			y := 2*p + i
			top, bottom := max(0, t.Pad-y), min(t.R, t.H-t.Pad-y)
			w.product = Sparse[T]{
				Values: w.pixels.Values[i], Places: w.pixels.Places[i], Starts: ends[t.Pad:], Stops: ends[t.Pad+t.S:],
				Items: t.W - 2*t.Pad, Rows: bottom - top, Cols: t.C, M: t.flipped[k*t.wLen():],
				At: ((t.R-1-top)*t.S + t.S - 1 - t.Pad) * t.O * t.C, MStep: -t.O * t.C, MRow: -t.S * t.O * t.C,
				To: out[((y+top)*t.W+t.Pad)*depth:], Step: depth, Row: t.W * depth, Loaded: t.R - 1 - top,
			}
			if y == 0 {
				w.product.Loaded = 0
			}
			s.Sparse(&w.product)
		}
	}
	if depth == t.C {
		return
	}
	for row := t.Pad; row < t.H-t.Pad; row++ {
		s.Narrow(dx[(row*t.W+t.Pad)*t.C:], inside(row), t.W-2*t.Pad, t.C, depth)
	}
}

// listPixels lists the winners of the pixels of two rows of dy of image n, those of row p of gy. Windows of dx read S
// pixels of them, from S−1 before: ends[j] is how many entries come before pixel j−S+1.
func (t *ConvBackward[T]) listPixels(s *Scratch[T], n, p int) {
	w := &s.winners
	_, cw := t.Conv()
	w.pixels.ensure(cw/2, t.O)
	w.pixels.Depth = t.C
	gy, arg := t.pooledRow(n, p)
	for i := range w.ends {
		w.ends[i] = ensure(w.ends[i], cw+2*t.S-1)
		clear(w.ends[i][:t.S])
		w.pixels.Ends[i] = w.ends[i][t.S:]
	}
	s.PixelWinners(&w.pixels, gy, arg, cw/2, t.O)
	for _, ends := range w.ends {
		for j := range t.S - 1 {
			ends[t.S+cw+j] = ends[t.S+cw-1]
		}
	}
}
