package cpu

// SubsampleShape holds the sizes of a shortcut without weights: x [N,H+2·Border,W+2·Border,C], y of every Stride-th
// pixel and O ≥ C channels, in a border of the same width; N images of all clients.
type SubsampleShape struct {
	N, H, W, C, O  int
	Stride, Border int
}

// Out returns height and width of y without its border.
func (s SubsampleShape) Out() (h, w int) { return blocks(s.H, s.Stride), blocks(s.W, s.Stride) }

// Subsample copies the pixels that are taken from x to y, or from the gradient of y to that of x.
type Subsample[T Float] struct {
	SubsampleShape
	x, y []T
}

// Forward sets y from x; the rest of y must be zero and stays so.
func (t *Subsample[T]) Forward(e *Exec[T], s SubsampleShape, y, x []T) {
	t.SubsampleShape, t.x, t.y = s, x, y
	e.For(t, forward, imageChunks(s.N))
}

// Backward sets dx from gy.
func (t *Subsample[T]) Backward(e *Exec[T], s SubsampleShape, dx, gy []T) {
	t.SubsampleShape, t.x, t.y = s, dx, gy
	e.For(t, backward, imageChunks(s.N))
}

// Chunk implements [Task].
func (t *Subsample[T]) Chunk(phase, i int, _ *Scratch[T]) {
	h, w := t.Out()
	xWidth, yWidth := t.W+2*t.Border, w+2*t.Border
	_, first, end := imagesOf(i, t.N)
	for n := first; n < end; n++ {
		if size := (t.H + 2*t.Border) * xWidth * t.C; phase == backward {
			clear(t.x[n*size:][:size])
		}
		for p := range h * w {
			row, col := p/w, p%w
			x := t.x[((n*(t.H+2*t.Border)+t.Border+row*t.Stride)*xWidth+t.Border+col*t.Stride)*t.C:][:t.C]
			y := t.y[((n*(h+2*t.Border)+t.Border+row)*yWidth+t.Border+col)*t.O:][:t.C]
			if phase == forward {
				copy(y, x)
			} else {
				copy(x, y)
			}
		}
	}
}
