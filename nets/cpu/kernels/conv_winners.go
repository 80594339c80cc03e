package kernels

// winners is the memory of a thread for gradients that are not 0.
type winners[T Float] struct {
	pooled   Pooled[T]
	pixels   PixelLists[T]
	channels ChannelLists[T]
	ends     [2][]int32  // of the pixel lists: see [ConvBackward.writeInput]
	rows     RowLists[T] // of a matrix in front of a fully connected layer
	product  Sparse[T]
	block    []T     // of the matrix behind it
	image    []T     // x with room behind it
	sums     []T     // [O,R,padded(S·C)] dw of the chunk
	starts   []int32 // where the entries begin that an item of dx sums,
	stops    []int32 // and where they end
	input    []T     // dx of an image, if its pixels do not fill registers
}

// gradients sums dw and db over chunk i of the images, and writes dx of these images. Of the gradients in front of the
// pooling at least three of four are 0, and are left out: every sum is the one over all of them, to the bit, since a
// sum begins at +0 and a product with 0 does not change it, but for the sign of a zero whose terms are too small for
// float32 and for what infinite weights make of 0. The training of such weights ends at the same step: [Kernels.Step]
// makes NaN of them, which reaches the next loss.
func (t *ConvBackward[T]) gradients(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	_, ow := t.Out()
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
	row := padded(t.S * t.C)
	w.sums = ensure(w.sums, t.O*t.R*row)
	clear(w.sums[:t.O*t.R*row])
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		gy, arg := t.gy[n*t.yLen()+(t.OutPad*ow+t.OutPad)*t.O:], t.arg[n*t.argLen():]
		for r := 0; r < ch; r += block {
			w.pooled = Pooled[T]{
				Gy: gy[r/2*ow*t.O:], Arg: arg[r/2*(cw/2)*t.O:], Rows: min(block, ch-r) / 2,
				Pixels: cw / 2, Channels: t.O, Pitch: ow * t.O,
			}
			t.addWeights(s, db, n, r)
		}
		if t.dx != nil {
			w.pooled = Pooled[T]{Gy: gy, Arg: arg, Rows: 1, Pixels: cw / 2, Channels: t.O, Pitch: ow * t.O}
			t.writeInput(s, k, n)
		}
	}
	dw := t.partW[i*t.wLen():][:t.wLen()]
	for r := range t.R {
		s.Transpose(dw[r*t.S*t.C*t.O:], t.O, w.sums[r*row:], t.R*row, t.O, t.S*t.C)
	}
}

// addWeights adds the pooled rows, whose first is row r of dy of image n, to db and to the sums for dw.
func (t *ConvBackward[T]) addWeights(s *Scratch[T], db []T, n, r int) {
	w := &s.winners
	x, row := t.x[n*t.xLen():], padded(t.S*t.C)
	if row > t.S*t.C && len(x) == t.xLen() { // the last image
		w.image = ensure(w.image, t.xLen()+sparseLanes)
		copy(w.image, x)
		x = w.image
	}
	s.AddWinners(db, &w.pooled)
	s.ChannelWinners(&w.channels, &w.pooled)
	t.prefetch(s, n, r+2*w.pooled.Rows, 2*w.pooled.Rows)
	w.product = Sparse[T]{
		Values: w.channels.Values, Places: w.channels.Places, Starts: w.channels.Starts, Stops: w.channels.Stops,
		Items: t.O, M: x, At: r * t.W * t.C, MRow: t.W * t.C, Rows: t.R, Cols: t.S * t.C,
		To: w.sums, Step: t.R * row, Row: row, Add: true,
	}
	s.Sparse(&w.product)
}

// inputWeights says how the weights of dx are stored for [ConvBackward.writeInput]: mirrored in r and s, with o and c
// swapped, [K,R,taps,O,depth]. If channels are few, registers have several pixels of dx side by side: the weights for a
// tap of the first pixel have those of the other pixels, for the same pixel of dy, beside them, or zeros where the
// window ends.
type inputWeights struct{ pixels, taps, depth, len int }

func (s ConvShape) inputWeights() inputWeights {
	const most = 2 * sparseLanes // so that all sums of a window of five rows are in registers
	pixels := max(1, min(most/s.C, s.S))
	taps, depth := s.S+pixels-1, padded(pixels*s.C)
	return inputWeights{pixels, taps, depth, s.R * taps * s.O * depth}
}

// flippedLen returns the elements of the weights of dx of all clients.
func (s ConvShape) flippedLen(rounded bool) int {
	if rounded {
		return s.K * s.wLen()
	}
	return s.K * s.inputWeights().len
}

// writeInput writes dx of image n, of client k, inside the border: dx[i+r,j+s,c] += w[r,s,c,o]·dy[i,j,o] for the
// winners of dy, row after row of them. The pooled row is the image's first.
func (t *ConvBackward[T]) writeInput(s *Scratch[T], k, n int) {
	w, in := &s.winners, t.inputWeights()
	ch, cw := t.Conv()
	pixels := t.W - 2*t.Pad // in a row of dx
	items, depth, cols := blocks(pixels, in.pixels), in.depth, in.pixels*t.C
	dx := t.dx[n*t.xLen():][:t.xLen()]
	out, first, row := dx, t.Pad*t.C, t.W*t.C
	if depth > t.C {
		first, row = 0, items*depth
		w.input = ensure(w.input, t.H*row)
		out = w.input
	}
	w.pixels.ensure(cw/2, t.O)
	w.pixels.Depth = depth
	// Windows of dx read S pixels of dy, from S−1 before: ends[j] is how many entries come before pixel j−S+1.
	last := t.S + cw - 1
	for i := range w.ends {
		w.ends[i] = ensure(w.ends[i], last+t.S+in.pixels)
		clear(w.ends[i][:t.S])
		w.pixels.Ends[i] = w.ends[i][t.S:]
	}
	w.starts, w.stops = ensure(w.starts, items), ensure(w.stops, items)
	w.product = Sparse[T]{
		Items: items, Starts: w.starts, Stops: w.stops, M: t.flipped[k*in.len:],
		MStep: -in.pixels * t.O * depth, MRow: -in.taps * t.O * depth, Cols: cols, Step: depth, Row: row,
	}
	p := &w.product
	for y := range ch {
		i := y % 2
		if i == 0 {
			t.listPixels(s, n, y)
		}
		ends := w.ends[i]
		for j := range t.S + in.pixels - 1 {
			ends[last+1+j] = ends[last]
		}
		for j := range items {
			at := t.Pad + j*in.pixels
			w.starts[j], w.stops[j] = ends[at], ends[at+in.taps]
		}
		top, bottom := max(0, t.Pad-y), min(t.R, t.H-t.Pad-y) // the rows of the window that are inside
		p.Values, p.Places = w.pixels.Values[i], w.pixels.Places[i]
		p.At, p.Rows = ((t.R-1-top)*in.taps+t.S-1-t.Pad)*t.O*depth, bottom-top
		p.To = out[(y+top)*row+first:]
		if y > 0 { // the last row of the window is new
			p.Loaded = t.R - 1 - top
		}
		s.Sparse(p)
	}
	if depth == t.C {
		return
	}
	for y := t.Pad; y < t.H-t.Pad; y++ {
		to, whole := dx[(y*t.W+t.Pad)*t.C:][:pixels*t.C], pixels/in.pixels
		s.Narrow(to, out[y*row:], whole, cols, depth)
		copy(to[whole*cols:], out[y*row+whole*depth:])
	}
}

// listPixels lists the winners of rows y and y+1 of dy of image n.
func (t *ConvBackward[T]) listPixels(s *Scratch[T], n, y int) {
	w := &s.winners
	s.PixelWinners(&w.pixels, &w.pooled)
	w.pooled.Gy, w.pooled.Arg = w.pooled.Gy[w.pooled.Pitch:], w.pooled.Arg[w.pooled.Pixels*t.O:]
	if n+1 < t.K*t.B { // the rows of the next image, which addWeights reads here and there
		s.Prefetch(t.x[(n+1)*t.xLen()+y*t.W*t.C:][:2*t.W*t.C], nil)
	}
}
