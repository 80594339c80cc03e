package kernels

// Conv2DBackward computes the gradients of a convolution: dw and, if it is wanted, dx.
//
// If both can be computed image by image, an image of gy is in the cache for both, and need not be in memory: where the
// convolution's output is normalised, gy is the gradient of the normalisation's input, which nothing else reads, and is
// computed here.
type Conv2DBackward[T Float] struct {
	weights Conv2DWeights[T]
	input   Conv2DInput[T]
	plus    []T
	norm    *NormBackward[T]
}

// Run computes dw, and dx unless it is nil. It adds plus to dx unless that is nil, too. If norm is not nil, it computes
// gy, after norm.Run: then gy is memory for it, perhaps that of norm's x.
func (t *Conv2DBackward[T]) Run(e *Exec[T], s Conv2DShape, dx, dw, x, w, gy, plus []T, norm *NormBackward[T]) {
	t.plus, t.norm = plus, norm
	if !s.byImage(dx != nil, e.Products != nil) {
		if norm != nil {
			norm.All(e, gy)
		}
		t.weights.Run(e, s, dw, x, gy)
		if dx != nil {
			t.input.Run(e, s, dx, w, gy)
		}
		if plus != nil {
			e.For(t, backwardSum, s.K*imageChunks(s.B))
		}
		return
	}
	t.weights.set(s, dw, x, gy)
	t.input.set(s, dx, w, gy)
	t.weights.begin()
	if dx != nil {
		t.input.begin(e)
	}
	e.For(t, backwardImages, s.K*imageChunks(s.B))
	t.weights.reduce(e)
}

// The phases of Conv2DBackward. A chunk is some images of a client in both.
const (
	backwardImages = iota // dw and dx, image by image
	backwardSum           // the sum of dx and plus
)

// Chunk implements [Task].
func (t *Conv2DBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.weights.B)
	if phase == backwardSum {
		for n := k*t.weights.B + lo; n < k*t.weights.B+hi; n++ {
			t.sum(s, n)
		}
		return
	}
	sum := t.weights.sum(s, i)
	var input imageInput[T]
	if t.input.dx != nil {
		input = t.input.images(s, k)
	}
	for n := k*t.weights.B + lo; n < k*t.weights.B+hi; n++ {
		gy := t.gradient(s, n)
		sum.add(s, n, gy)
		if t.input.dx != nil {
			input.compute(s, n, gy)
			t.sum(s, n)
		}
	}
}

// sum adds image n of plus to dx.
func (t *Conv2DBackward[T]) sum(s *Scratch[T], n int) {
	if t.plus != nil {
		size := t.input.xLen()
		s.Axpy(t.input.dx[n*size:][:size], 1, t.plus[n*size:][:size])
	}
}

// gradient returns image n of gy.
func (t *Conv2DBackward[T]) gradient(s *Scratch[T], n int) []T {
	if t.norm == nil {
		return s.oneOf(t.weights.gy, n, t.weights.yLen())
	}
	size := t.weights.yLen()
	if cap(s.image) < size {
		s.image = make([]T, size)
	}
	gy := s.image[:size]
	t.norm.Image(s, gy, n)
	t.norm.prefetch(s, n+1)
	return gy
}

// byImage says whether [Conv2DBackward] takes gy an image at a time. dx says whether it computes dx, and rounded
// whether operands are rounded.
func (s Conv2DShape) byImage(dx, rounded bool) bool {
	_, w := s.Out()
	return s.wLen() < largeWeights && (!dx || w >= narrow) && (rounded || !s.Winograd())
}
