package kernels

// AverageShape holds the sizes of a mean over pixels: x [N,H+2·Border,W+2·Border,C] with a border that does not count,
// y [N,C]. N counts the images of all clients.
type AverageShape struct{ N, H, W, C, Border int }

// Average computes the mean of every channel, and its gradient.
type Average[T Float] struct {
	AverageShape
	y, x []T
}

// Forward computes y.
func (t *Average[T]) Forward(e *Exec[T], s AverageShape, y, x []T) {
	t.AverageShape, t.y, t.x = s, y, x
	e.For(t, forward, imageChunks(s.N))
}

// Backward computes dx, the gradient of x, from gy, the gradient of y. The border of dx must be zero and stays zero.
func (t *Average[T]) Backward(e *Exec[T], s AverageShape, dx, gy []T) {
	t.AverageShape, t.y, t.x = s, gy, dx
	e.For(t, backward, imageChunks(s.N))
}

// Chunk implements [Task].
func (t *Average[T]) Chunk(phase, i int, s *Scratch[T]) {
	factor, width := 1/T(t.H*t.W), t.W+2*t.Border
	_, first, end := imagesOf(i, t.N)
	for n := first; n < end; n++ {
		y := t.y[n*t.C:][:t.C]
		if phase == forward {
			clear(y)
		}
		for p := range t.H * t.W {
			row, col := n*(t.H+2*t.Border)+t.Border+p/t.W, t.Border+p%t.W
			x := t.x[(row*width+col)*t.C:][:t.C]
			if phase == forward {
				s.Axpy(y, factor, x)
			} else {
				s.Scale(x, factor, y)
			}
		}
	}
}
