package kernels

// BiasReLUShape holds the sizes of a bias and a ReLU behind a convolution, with 2×2 max pooling if Pool: x [K,B,H,W,C],
// y [K,B,h+2·OutPad,w+2·OutPad,C] with a border of zeros. h and w are H and W, with pooling ⌊H/2⌋ and ⌊W/2⌋: the last
// row and the last column of odd maps are left out.
type BiasReLUShape struct {
	K, B, H, W, C int
	OutPad        int
	Pool          bool
}

// Out returns height and width of y without its border.
func (s BiasReLUShape) Out() (h, w int) { return s.H / s.window(), s.W / s.window() }

// ArgLen returns the elements of arg, the places of the maxima: 0 without pooling.
func (s BiasReLUShape) ArgLen() int {
	if !s.Pool {
		return 0
	}
	return s.K * s.B * s.pixels() * s.C
}

// window returns the side of the square of x that a pixel of y sees.
func (s BiasReLUShape) window() int {
	if s.Pool {
		return 2
	}
	return 1
}

// pixels returns the pixels of an image of y without its border.
func (s BiasReLUShape) pixels() int {
	h, w := s.Out()
	return h * w
}

// line returns where row i of image n of y begins: in x its first row, in arrays of the shape of y, and in arg. It has
// run elements.
func (s BiasReLUShape) line(n, i int) (x, y, arg, run int) {
	h, w := s.Out()
	width := w + 2*s.OutPad
	x = (n*s.H + i*s.window()) * s.W * s.C
	y = ((n*(h+2*s.OutPad)+s.OutPad+i)*width + s.OutPad) * s.C
	return x, y, (n*h + i) * w * s.C, w * s.C
}

// BiasReLUForward computes y = max(0, bias + x), or y = max(0, bias + the largest of four pixels of x). The border of y
// must be zero and stays zero. arg [K,B,h,w,C] gets the place of each maximum, as [Kernels.PoolReLU] says; it is nil
// without pooling.
type BiasReLUForward[T Float] struct {
	BiasReLUShape
	y, x, bias []T // bias [K,C]
	arg        []uint8
}

// Run computes y and arg.
func (t *BiasReLUForward[T]) Run(e *Exec[T], s BiasReLUShape, y []T, arg []uint8, x, bias []T) {
	t.BiasReLUShape, t.y, t.arg, t.x, t.bias = s, y, arg, x, bias
	e.For(t, forward, s.K*imageChunks(s.B))
}

// Chunk implements [Task].
func (t *BiasReLUForward[T]) Chunk(_, i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	bias := t.bias[k*t.C:][:t.C]
	h, _ := t.Out()
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		for i := range h {
			x, at, arg, run := t.line(n, i)
			y := t.y[at:][:run]
			if t.Pool {
				row := t.W * t.C
				s.PoolReLU(y, t.arg[arg:][:run], t.x[x:][:row], t.x[x+row:][:row], bias)
				continue
			}
			copy(y, t.x[x:])
			s.BiasReLU(y, run/t.C, t.C, bias, true)
		}
	}
}

// BiasReLUBackward computes dx, which is the gradient of y where the ReLU is open and, with pooling, the maximum is,
// and 0 elsewhere; and dbias, the sum of dx over the pixels of all images.
type BiasReLUBackward[T Float] struct {
	BiasReLUShape
	dx, db, y, gy []T // db [K,C]
	arg           []uint8
	part          []float64 // [K,chunks,C] the sums of each chunk of images
}

// The phases of BiasReLUBackward, in order.
const (
	biasImages = iota // dx and sums of db of some images of a client
	biasReduce        // db of one client
)

// Run computes dx and db from y and arg, which the forward pass wrote, and gy, the gradient of y.
func (t *BiasReLUBackward[T]) Run(e *Exec[T], s BiasReLUShape, dx, db, y, gy []T, arg []uint8) {
	t.BiasReLUShape, t.dx, t.db, t.y, t.gy, t.arg = s, dx, db, y, gy, arg
	if t.part == nil {
		t.part = make([]float64, s.K*imageChunks(s.B)*s.C)
	}
	e.For(t, biasImages, s.K*imageChunks(s.B))
	e.For(t, biasReduce, s.K)
}

// Chunk implements [Task].
func (t *BiasReLUBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	if phase == biasImages {
		t.images(i, s)
		return
	}
	db := t.db[i*t.C:][:t.C]
	chunks := imageChunks(t.B)
	for c := range db {
		sum := 0.0
		for j := range chunks {
			sum += t.part[(i*chunks+j)*t.C+c]
		}
		db[c] = T(sum)
	}
}

// images writes dx of chunk i of the images, and sums db over them: about normBlock pixels in T, then in float64.
func (t *BiasReLUBackward[T]) images(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	total := t.part[i*t.C:][:t.C]
	clear(total)
	sum := s.Buf(t.C)
	clear(sum)
	h, w := t.Out()
	pixels := 0
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		for i := range h {
			x, at, arg, run := t.line(n, i)
			gy := t.gy[at:][:run]
			if t.Pool {
				row := t.W * t.C
				top, bottom := t.dx[x:][:row], t.dx[x+row:][:row]
				s.UnpoolReLU(top, bottom, sum, gy, t.arg[arg:][:run])
				clear(top[2*run:]) // the last column of odd maps
				clear(bottom[2*run:])
			} else {
				s.ReLUGrad(t.dx[x:][:run], sum, gy, t.y[at:][:run], true)
			}
			pixels += w
		}
		clear(t.dx[(n*t.H+h*t.window())*t.W*t.C : (n+1)*t.H*t.W*t.C]) // the last row of odd maps
		if pixels >= normBlock || n == k*t.B+hi-1 {
			for c, v := range sum {
				total[c] += float64(v)
			}
			clear(sum)
			pixels = 0
		}
	}
}
