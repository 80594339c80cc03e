package cpu

// Conv2DInput computes dx, the gradient of a convolution's input. The border is left as it is: zero in a buffer made of
// zeros.
//
// With rows u = Stride·q + ρ counted from the windows' first element, only the places r = Stride·t + ρ of the window
// reach row u, from row q − t of gy. So the rows of one remainder ρ, and likewise the columns, are the result of a
// convolution of stride 1 with every Stride-th place of the window: dx[u] = Σ_t w[Stride·t + ρ]·gy[q − t].
type Conv2DInput[T Float] struct {
	Conv2DShape
	dx, w, gy []T
	flipped   []T // [K] of every panel of C and part the weights [taps,taps,O,n], last taps first
	framed    []T // [K,B] gy in its frame, if tiles go through the images
	parts     []inputPart
	frame     frame
	gaps      bool // whether there are pixels that no window reaches
}

// remainder is the rows or columns u = Stride·q + rho for q from lo to hi, which taps places of the window reach.
type remainder struct{ rho, taps, lo, hi int }

// inputPart is the rows of one remainder and the columns of another.
type inputPart struct {
	rows, cols remainder
	before     int // places of the window that the parts in front of it have
}

// frame is the border of zeros that gy needs for the windows at its edges.
type frame struct {
	h, w, o                  int // of gy
	top, bottom, left, right int
}

func (f frame) width() int     { return f.left + f.w + f.right }
func (f frame) len() int       { return (f.top + f.h + f.bottom) * f.width() * f.o }
func (f frame) bordered() bool { return f.top+f.bottom+f.left+f.right > 0 }

// remainders returns those that any place of the window reaches, along an axis of size pixels with pad zeros on each
// side and out windows, and the zeros they need in front of gy and behind.
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

const (
	inputClear = iota
	inputFlip
	inputFrame
	inputPanels
	inputImages
)

// Run computes dx.
func (t *Conv2DInput[T]) Run(e *Exec[T], s Conv2DShape, dx, w, gy []T) {
	t.Conv2DShape, t.dx, t.w, t.gy = s, dx, w, gy
	if t.flipped == nil {
		t.flipped = make([]T, s.K*s.wLen())
		t.prepare()
	}
	through := t.frame.w < narrow // whether tiles go through the images
	panels := s.K * blocks(s.C, PanelCols)
	if t.gaps {
		e.For(t, inputClear, s.K*s.B)
	}
	e.For(t, inputFlip, panels)
	if through && t.frame.bordered() {
		if t.framed == nil {
			t.framed = make([]T, s.K*s.B*t.frame.len())
		}
		e.For(t, inputFrame, s.K*s.B)
	}
	if through {
		e.For(t, inputPanels, panels)
	} else {
		e.For(t, inputImages, s.K*imageChunks(s.B))
	}
}

func (t *Conv2DInput[T]) prepare() {
	f := &t.frame
	f.h, f.w = t.Out()
	f.o = t.O
	var rows, cols []remainder
	rows, f.top, f.bottom = remainders(t.Stride, t.R, t.Pad, t.H-2*t.Border, f.h)
	cols, f.left, f.right = remainders(t.Stride, t.S, t.Pad, t.W-2*t.Border, f.w)
	before, reached := 0, 0
	for _, r := range rows {
		for _, q := range cols {
			t.parts = append(t.parts, inputPart{r, q, before})
			before += r.taps * q.taps
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
		inFrame(f, t.framed[i*f.len():][:f.len()], t.gy[i*t.yLen():][:t.yLen()])
	case inputPanels:
		k, c, _ := chunkOf(i, t.C, PanelCols)
		gy := t.gy
		if f.bordered() {
			gy = t.framed
		}
		for j := range t.parts {
			p, a, x := t.product(j, k, c)
			p.throughImages(s, gy[k*t.B*f.len()+a:], t.dx[k*t.B*t.xLen()+x:], t.B, f.len(), t.xLen())
		}
	case inputImages:
		t.images(i, s)
	}
}

// images computes dx of one chunk of images.
func (t *Conv2DInput[T]) images(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	f := t.frame
	room := s.Buf(f.len())
	clear(room)
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		gy := t.gy[n*t.yLen():][:t.yLen()]
		if f.bordered() {
			inFrame(f, room, gy)
			gy = room
		}
		for c := 0; c < t.C; c += PanelCols {
			for j := range t.parts {
				p, a, x := t.product(j, k, c)
				p.throughRows(s, gy[a:], t.dx[n*t.xLen()+x:])
			}
		}
	}
}

// inFrame writes one image of gy into the middle of dst, whose border is zero and stays so.
func inFrame[T Float](f frame, dst, gy []T) {
	for i := range f.h {
		copy(dst[((f.top+i)*f.width()+f.left)*f.o:], gy[i*f.w*f.o:][:f.w*f.o])
	}
}

// product is part i of dx for channels c … of client k, which begins at element a of a framed image of gy, at x of one
// of dx.
func (t *Conv2DInput[T]) product(i, k, c int) (p convProduct[T], a, x int) {
	part, f, n := t.parts[i], t.frame, min(PanelCols, t.C-c)
	r, q := part.rows, part.cols
	p = convProduct[T]{
		b: t.flipped[k*t.wLen()+(c*t.R*t.S+n*part.before)*t.O:], bStride: n, n: n, segs: r.taps, depth: q.taps * t.O,
		aSeg: f.width() * t.O, aCol: t.O, aRow: f.width() * t.O,
		cCol: t.Stride * t.C, cRow: t.Stride * t.W * t.C, rows: r.hi - r.lo, cols: q.hi - q.lo,
	}
	row, col := t.Border-t.Pad+t.Stride*r.lo+r.rho, t.Border-t.Pad+t.Stride*q.lo+q.rho
	return p, ((f.top+r.lo-r.taps+1)*f.width() + f.left + q.lo - q.taps + 1) * t.O, (row*t.W+col)*t.C + c
}

// flip writes the weights of channels c … of client k, turned round, part by part.
func (t *Conv2DInput[T]) flip(s *Scratch[T], k, c int) {
	n := min(PanelCols, t.C-c)
	w, dst := t.w[k*t.wLen():][:t.wLen()], t.flipped[k*t.wLen()+c*t.R*t.S*t.O:]
	for _, part := range t.parts {
		r, q := part.rows, part.cols
		for i := range r.taps * q.taps {
			row, col := r.rho+t.Stride*(r.taps-1-i/q.taps), q.rho+t.Stride*(q.taps-1-i%q.taps)
			s.Transpose(dst, n, w[((row*t.S+col)*t.C+c)*t.O:], t.O, n, t.O)
			dst = dst[t.O*n:]
		}
	}
}
