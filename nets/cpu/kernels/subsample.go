package kernels

// SubsampleShape holds the sizes of a shortcut without weights (option A of He et al., Deep residual learning for image
// recognition, 2016): x is [N,H+2·Border,W+2·Border,C]; y takes every Stride-th pixel, has O ≥ C channels, and a border
// of the same width. N counts the images of all clients.
type SubsampleShape struct {
	N, H, W, C, O  int
	Stride, Border int
}

// Out returns height and width of y without its border.
func (s SubsampleShape) Out() (h, w int) { return blocks(s.H, s.Stride), blocks(s.W, s.Stride) }

// Subsample copies every Stride-th pixel from x to y, or from the gradient of y to the gradient of x.
type Subsample[T Float] struct {
	SubsampleShape
	x, y []T
}

// Forward copies from x to y. The border of y and its channels from C on must be zero and stay zero.
func (t *Subsample[T]) Forward(e *Exec[T], s SubsampleShape, y, x []T) {
	t.SubsampleShape, t.x, t.y = s, x, y
	e.For(t, forward, imageChunks(s.N))
}

// Backward copies from gy to dx, and zeroes the rest of dx.
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
