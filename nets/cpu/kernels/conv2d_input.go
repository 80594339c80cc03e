package kernels

import "rollcall/nets/cpu/kernels/bf16"

// Conv2DInput computes dx, the gradient of the input of a convolution. It does not write the border of dx, which stays
// zero in a buffer made of zeros.
//
// A gradient with a stride would have to skip pixels. Instead dx is cut into parts, each of which is the result of a
// convolution with stride 1: write row u of dx, counted from the first that a window reads, as u = Stride·q + ρ. Only
// the places r = Stride·t + ρ of the window reach row u, from row q − t of gy:
//
//	dx[u] = Σ_t w[Stride·t + ρ]·gy[q − t]
//
// So the rows with the same remainder ρ are a convolution with every Stride-th place of the window. Columns likewise.
type Conv2DInput[T Float] struct {
	Conv2DShape
	dx, w, gy []T
	flipped   []T // [K] for every panel of n channels and every part: the weights [taps,taps,O,n], last taps first
	framed    []T // [K,B] gy in its frame, if tiles go through the images
	rounded   struct {
		w  bf16.Operand[T] // [K] flipped, padded and packed, if operands are rounded
		gy bf16.Operand[T] // [K,B] gy in its frame, if tiles go through the images
	}
	parts []inputPart
	frame frame
	rows  int  // of packed weights, all parts together
	gaps  bool // whether there are pixels that no window reaches: their gradient is 0
}

// remainder is a set of rows or columns of dx: u = Stride·q + rho for lo ≤ q < hi. taps places of the window reach it.
type remainder struct{ rho, taps, lo, hi int }

// inputPart is one part of dx: the pixels in the rows of one remainder and the columns of another.
type inputPart struct {
	rows, cols remainder
	before     int // how many places of the window belong to the parts in front of this one
	padded     int // how many rows of packed weights belong to the parts in front of this one
}

// frame is the border of zeros that gy needs around it, so that windows at its edges read zeros.
type frame struct {
	h, w, o                  int // of gy
	top, bottom, left, right int
}

func (f frame) width() int     { return f.left + f.w + f.right }
func (f frame) len() int       { return (f.top + f.h + f.bottom) * f.width() * f.o }
func (f frame) bordered() bool { return f.top+f.bottom+f.left+f.right > 0 }

// remainders returns the remainders along one axis that any place of the window reaches, and how many zeros they need
// before and behind gy. The axis has size pixels, pad zeros on each side and out windows.
func remainders(stride, window, pad, size, out int) (all []remainder, before, behind int) {
	for rho := range min(stride, window) {
		last := pad + size - 1 - rho
		if last < 0 {
			continue
		}
		r := remainder{rho: rho, taps: blocks(window-rho, stride), lo: max(0, blocks(pad-rho, stride))}
		r.hi = min(last/stride+1, out-1+r.taps) // behind the last window there may be pixels that a stride leaves over
		if r.lo < r.hi {
			all = append(all, r)
			before, behind = max(before, r.taps-1-r.lo), max(behind, r.hi-out)
		}
	}
	return all, before, behind
}

// The phases of Conv2DInput, in order. Maps narrower than narrow take inputPanels at the end, others inputImages.
const (
	inputClear  = iota // zero dx, if there are gaps
	inputFlip          // mirror the weights of one panel of channels
	inputFrame         // copy gy into its frame
	inputPanels        // dx of one panel of channels, all images of a client
	inputImages        // dx of some images of a client, all panels

	inputTransform // Winograd's convolution instead: the mirrored weights of one panel of channels
	inputTiles     // dx of some rows of tiles of a client
)

// Run computes dx.
func (t *Conv2DInput[T]) Run(e *Exec[T], s Conv2DShape, dx, w, gy []T) {
	t.set(s, dx, w, gy)
	if e.Products == nil && s.Winograd() {
		t.inTiles(e)
	} else {
		t.direct(e)
	}
}

func (t *Conv2DInput[T]) set(s Conv2DShape, dx, w, gy []T) {
	t.Conv2DShape, t.dx, t.w, t.gy = s, dx, w, gy
}

func (t *Conv2DInput[T]) direct(e *Exec[T]) {
	s := t.Conv2DShape
	t.begin(e)
	through := t.frame.w < narrow // whether tiles go through the images
	switch {
	case through && e.Products != nil:
		e.ensure(&t.rounded.gy, s.K*s.B*t.frame.len())
		e.For(t, inputFrame, s.K*s.B)
		joinImages(t.rounded.gy, s.K*s.B, t.frame.len())
	case through && t.frame.bordered():
		if t.framed == nil {
			t.framed = make([]T, s.K*s.B*t.frame.len())
		}
		e.For(t, inputFrame, s.K*s.B)
	}
	if through {
		e.For(t, inputPanels, s.K*blocks(s.C, PanelCols))
	} else {
		e.For(t, inputImages, s.K*imageChunks(s.B))
	}
}

// begin does what comes before all images: it mirrors the weights and, where no window reads, clears dx.
func (t *Conv2DInput[T]) begin(e *Exec[T]) {
	if t.parts == nil {
		t.prepare()
	}
	if e.Products != nil {
		e.ensure(&t.rounded.w, t.K*t.rows*t.C)
	} else if t.flipped == nil {
		t.flipped = make([]T, t.K*t.wLen())
	}
	if t.gaps {
		e.For(t, inputClear, t.K*t.B)
	}
	e.For(t, inputFlip, t.K*blocks(t.C, PanelCols))
}

// prepare finds the parts of dx and the frame of gy. They depend on the shape alone.
func (t *Conv2DInput[T]) prepare() {
	f := &t.frame
	f.h, f.w = t.Out()
	f.o = t.O
	var rows, cols []remainder
	rows, f.top, f.bottom = remainders(t.Stride, t.R, t.Pad, t.H-2*t.Border, f.h)
	cols, f.left, f.right = remainders(t.Stride, t.S, t.Pad, t.W-2*t.Border, f.w)
	before, reached := 0, 0
	t.rows = 0
	for _, r := range rows {
		for _, q := range cols {
			t.parts = append(t.parts, inputPart{r, q, before, t.rows})
			before += r.taps * q.taps
			t.rows += r.taps * bf16.Padded(q.taps*t.O)
			reached += (r.hi - r.lo) * (q.hi - q.lo)
		}
	}
	t.gaps = reached < (t.H-2*t.Border)*(t.W-2*t.Border)
}

// Chunk implements [Task].
func (t *Conv2DInput[T]) Chunk(phase, i int, s *Scratch[T]) {
	f := t.frame
	switch phase {
	case inputClear: // i: image
		clear(t.dx[i*t.xLen():][:t.xLen()])
	case inputFlip:
		k, c, _ := chunkOf(i, t.C, PanelCols)
		t.flip(s, k, c)
	case inputFrame: // i: image
		if s.Products != nil {
			roundInFrame(s, f, t.rounded.gy.From(i*f.len()), t.gy[i*t.yLen():][:t.yLen()])
			return
		}
		inFrame(f, t.framed[i*f.len():][:f.len()], t.gy[i*t.yLen():][:t.yLen()])
	case inputPanels:
		k, c, _ := chunkOf(i, t.C, PanelCols)
		gy := matrix[T]{plain: t.gy}
		switch {
		case s.Products != nil:
			gy = matrix[T]{rounded: t.rounded.gy}
		case f.bordered():
			gy.plain = t.framed
		}
		for j := range t.parts {
			p, a, x := t.product(s, j, k, c)
			p.throughImages(s, gy.from(k*t.B*f.len()+a), t.dx[k*t.B*t.xLen()+x:], t.B, f.len(), t.xLen())
		}
	case inputImages:
		k, lo, hi := imagesOf(i, t.B)
		images := t.images(s, k)
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			images.compute(s, n, s.oneOf(t.gy, n, t.yLen()))
		}
	case inputTransform:
		k, c, _ := chunkOf(i, t.C, s.GemmCols())
		t.transform(s, k, c)
	case inputTiles:
		t.tiles(i, s)
	}
}

// imageInput computes dx of images of client k. room is the memory for an image of gy in its frame.
type imageInput[T Float] struct {
	t    *Conv2DInput[T]
	k    int
	room matrix[T]
}

func (t *Conv2DInput[T]) images(s *Scratch[T], k int) imageInput[T] {
	in := imageInput[T]{t: t, k: k}
	if s.Products != nil {
		in.room.rounded = s.operand(operandA, t.frame.len())
		in.room.rounded.Clear()
	} else {
		in.room.plain = s.Buf(t.frame.len())
		clear(in.room.plain)
	}
	return in
}

// compute computes dx of image n from its gy.
func (in *imageInput[T]) compute(s *Scratch[T], n int, gy []T) {
	t := in.t
	a := in.room
	switch {
	case s.Products != nil:
		roundInFrame(s, t.frame, a.rounded, gy)
	case t.frame.bordered():
		inFrame(t.frame, a.plain, gy)
	default:
		a.plain = gy
	}
	for c := 0; c < t.C; c += PanelCols {
		for j := range t.parts {
			p, from, x := t.product(s, j, in.k, c)
			p.throughRows(s, a.from(from), t.dx[n*t.xLen()+x:])
		}
	}
}

// inFrame writes one image of gy into the middle of dst, whose border is zero and stays zero.
func inFrame[T Float](f frame, dst, gy []T) {
	for i := range f.h {
		copy(dst[((f.top+i)*f.width()+f.left)*f.o:], gy[i*f.w*f.o:][:f.w*f.o])
	}
}

// roundInFrame is inFrame with the numbers rounded.
func roundInFrame[T Float](s *Scratch[T], f frame, dst bf16.Operand[T], gy []T) {
	dst, row := dst.First(f.len()), f.w*f.o
	for i := range f.h {
		at := ((f.top+i)*f.width() + f.left) * f.o
		s.Products.Round(dst.From(at), gy[i*row:][:row])
		dst.Join(at, 2)
		dst.Join(at+row, 2)
	}
}

// product returns the product that computes part i of dx for client k and the panel of channels from c on. The product
// reads from element a of a framed image of gy and writes from element x of an image of dx.
func (t *Conv2DInput[T]) product(s *Scratch[T], i, k, c int) (p convProduct[T], a, x int) {
	part, f, n := t.parts[i], t.frame, min(PanelCols, t.C-c)
	r, q := part.rows, part.cols
	p = convProduct[T]{
		bStride: n, n: n, depth: q.taps * t.O,
		down:   taps{r.taps, 1, r.taps - 1 - r.lo, f.h},
		across: taps{q.taps, 1, q.taps - 1 - q.lo, f.w},
		aSeg:   f.width() * t.O, aCol: t.O, aRow: f.width() * t.O,
		cCol: t.Stride * t.C, cRow: t.Stride * t.W * t.C, rows: r.hi - r.lo, cols: q.hi - q.lo,
	}
	if s.Products != nil {
		p.b.rounded = t.rounded.w.From(k*t.rows*t.C + c*t.rows + n*part.padded)
	} else {
		p.b.plain = t.flipped[k*t.wLen()+(c*t.R*t.S+n*part.before)*t.O:]
	}
	row, col := t.Border-t.Pad+t.Stride*r.lo+r.rho, t.Border-t.Pad+t.Stride*q.lo+q.rho
	return p, ((f.top+r.lo-r.taps+1)*f.width() + f.left + q.lo - q.taps + 1) * t.O, (row*t.W+col)*t.C + c
}

// flip writes the weights of client k for the panel of channels from c on, mirrored, part by part.
func (t *Conv2DInput[T]) flip(s *Scratch[T], k, c int) {
	n := min(PanelCols, t.C-c)
	var dst []T
	if s.Products == nil {
		dst = t.flipped[k*t.wLen()+c*t.R*t.S*t.O:]
	}
	for i := range t.parts {
		part := &t.parts[i]
		r, q := part.rows, part.cols
		if s.Products != nil {
			dst = s.Buf(r.taps * q.taps * t.O * n)
		}
		t.mirror(s, dst, k, c, part)
		if s.Products == nil {
			dst = dst[r.taps*q.taps*t.O*n:]
			continue
		}
		depth := q.taps * t.O
		padded := bf16.Padded(depth)
		to := t.rounded.w.From(k*t.rows*t.C + c*t.rows + n*part.padded)
		for seg := range r.taps {
			s.Products.Pack(to.From(seg*padded*n), dst[seg*depth*n:], n, depth, n, padded)
		}
	}
}

// mirror writes the weights of one part to dst [taps,taps,O,n].
func (t *Conv2DInput[T]) mirror(s *Scratch[T], dst []T, k, c int, part *inputPart) {
	n := min(PanelCols, t.C-c)
	w, r, q := t.w[k*t.wLen():][:t.wLen()], part.rows, part.cols
	for i := range r.taps * q.taps {
		row, col := r.rho+t.Stride*(r.taps-1-i/q.taps), q.rho+t.Stride*(q.taps-1-i%q.taps)
		s.Transpose(dst[i*t.O*n:], n, w[((row*t.S+col)*t.C+c)*t.O:], t.O, n, t.O)
	}
}
