package cpu

import "math"

// NormEpsilon is added to variances: PyTorch's default.
const NormEpsilon = 1e-5

// NormShape holds the sizes of a batch normalisation: x [K,B,H,W,C], y [K,B,H+2·OutPad,W+2·OutPad,C] with a border of
// zeros. What is added to y, its gradient and the gradient of y have y's shape.
type NormShape struct {
	K, B, H, W, C int
	OutPad        int
	ReLU          bool
}

func (s NormShape) xLen() int { return s.H * s.W * s.C } // one image
func (s NormShape) yLen() int { return (s.H + 2*s.OutPad) * (s.W + 2*s.OutPad) * s.C }

// line returns where row i of image n begins in x, and in what has y's shape, and its elements.
func (s NormShape) line(n, i int) (x, y, run int) {
	run = s.W * s.C
	width := run + 2*s.OutPad*s.C
	return n*s.xLen() + i*run, n*s.yLen() + s.OutPad*(width+s.C) + i*width, run
}

// normBlock is about how many rows [C] are summed up in T before their sums go on in float64.
const normBlock = 1024

// NormForward computes y = max(0, scale·x + shift + add) with scale = weight/√(var + ε) and shift = bias − mean·scale;
// the maximum only if ReLU, add only if there is one. In training mean and var are those of the client's own batch over
// the samples whose label is not negative, pixel by pixel; y of the other samples is 0.
type NormForward[T Float] struct {
	NormShape
	y, x, add    []T
	labels       []int32 // [K,B]; nil in evaluation
	weight, bias []T     // [K,C]
	scale, shift []T     // [K,C]
	stats        NormStats[T]
	part         []moments // [K,chunks]
}

// NormStats are what a training pass finds out about its batches [K,C]: Mean and Var, biased, and what the gradient and
// the running statistics take. A client without samples has zeros.
type NormStats[T Float] struct {
	Mean, Unbiased []T       // Unbiased: Σ(x − mean)²/(n − 1)
	Inverse        []T       // 1/√(Var + ε)
	Count          []float64 // [K] values per channel, n
}

// moments are Σ1, the mean and Σ(x − mean)² of every channel.
type moments struct {
	n        float64
	mean, m2 []float64
}

const (
	normMoments = iota
	normMerge
	normApply
)

// Train computes y, and stats.
func (t *NormForward[T]) Train(e *Exec[T], s NormShape, y, x, add, weight, bias []T, labels []int32) *NormStats[T] {
	t.set(s, y, x, add, weight, bias)
	t.labels = labels
	if t.part == nil {
		t.part = make([]moments, s.K*imageChunks(s.B))
		for i := range t.part {
			t.part[i].mean, t.part[i].m2 = make([]float64, s.C), make([]float64, s.C)
		}
		n := s.K * s.C
		t.stats = NormStats[T]{
			Mean: make([]T, n), Unbiased: make([]T, n), Inverse: make([]T, n),
			Count: make([]float64, s.K),
		}
	}
	e.For(t, normMoments, s.K*imageChunks(s.B))
	e.For(t, normMerge, s.K)
	e.For(t, normApply, s.K*imageChunks(s.B))
	return &t.stats
}

// Evaluate computes y of given statistics [K,C].
func (t *NormForward[T]) Evaluate(e *Exec[T], s NormShape, y, x, add, weight, bias, mean, variance []T) {
	t.set(s, y, x, add, weight, bias)
	t.labels = nil
	for i, v := range variance {
		t.scale[i] = weight[i] / T(math.Sqrt(float64(v)+NormEpsilon))
		t.shift[i] = bias[i] - mean[i]*t.scale[i]
	}
	e.For(t, normApply, s.K*imageChunks(s.B))
}

func (t *NormForward[T]) set(s NormShape, y, x, add, weight, bias []T) {
	t.NormShape, t.y, t.x, t.add, t.weight, t.bias = s, y, x, add, weight, bias
	if t.scale == nil {
		t.scale, t.shift = make([]T, s.K*s.C), make([]T, s.K*s.C)
	}
}

// Chunk implements [Task].
func (t *NormForward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case normMoments:
		t.moments(i, s)
	case normMerge:
		t.merge(i)
	case normApply:
		k, lo, hi := imagesOf(i, t.B)
		scale, shift := t.scale[k*t.C:][:t.C], t.shift[k*t.C:][:t.C]
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			t.apply(s, n, scale, shift)
		}
	}
}

// apply writes y of image n.
func (t *NormForward[T]) apply(s *Scratch[T], n int, scale, shift []T) {
	for i := range t.H {
		x, at, run := t.line(n, i)
		y := t.y[at:][:run]
		if t.labels != nil && t.labels[n] < 0 {
			clear(y)
		} else {
			s.Normalise(y, t.x[x:][:run], optional(t.add, at, run), scale, shift, t.ReLU)
		}
	}
}

// moments sums up a chunk of images: blocks of rows about their first row, in T, and the blocks in float64.
func (t *NormForward[T]) moments(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	m := &t.part[i]
	m.n = 0
	clear(m.mean)
	clear(m.m2)
	buf := s.Buf(3 * t.C)
	sum, squares, pivot := buf[:t.C], buf[t.C:2*t.C], buf[2*t.C:]
	rows := 0
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		if t.labels[n] >= 0 {
			x := t.x[n*t.xLen():][:t.xLen()]
			if rows == 0 {
				clear(buf[:2*t.C])
				copy(pivot, x)
			}
			s.Moments(sum, squares, x, pivot)
			rows += t.H * t.W
		}
		if rows >= normBlock || rows > 0 && n == k*t.B+hi-1 {
			fold(m, float64(rows), sum, squares, pivot)
			rows = 0
		}
	}
}

// fold joins the sums of n numbers less their pivot, and of their squares, to m.
func fold[T Float](m *moments, n float64, sum, squares, pivot []T) {
	m.add(n, func(c int) (mean, m2 float64) {
		off := float64(sum[c]) / n
		return float64(pivot[c]) + off, max(0, float64(squares[c])-n*off*off)
	})
}

// join joins the moments of more numbers to m.
func (m *moments) join(o *moments) {
	m.add(o.n, func(c int) (mean, m2 float64) { return o.mean[c], o.m2[c] })
}

// add joins n numbers per channel to m, which tells their moments: T. F. Chan, G. H. Golub and R. J. LeVeque, 1979.
func (m *moments) add(n float64, of func(c int) (mean, m2 float64)) {
	if n == 0 {
		return
	}
	part := n / (m.n + n)
	between := m.n * part
	for c, old := range m.mean {
		mean, m2 := of(c)
		delta := mean - old
		m.mean[c] = old + delta*part
		m.m2[c] += m2 + delta*delta*between
	}
	m.n += n
}

// merge joins the chunks of client k in order, into the first, and computes what follows from them.
func (t *NormForward[T]) merge(k int) {
	parts := t.part[k*imageChunks(t.B):][:imageChunks(t.B)]
	m := &parts[0]
	for i := range parts[1:] {
		m.join(&parts[1+i])
	}
	t.stats.Count[k] = m.n
	for c := range t.C {
		at := k*t.C + c
		inverse, unbiased := 0.0, 0.0
		if m.n > 0 {
			inverse = 1 / math.Sqrt(m.m2[c]/m.n+NormEpsilon)
			unbiased = m.m2[c] / (m.n - 1)
		}
		scale := float64(t.weight[at]) * inverse
		t.stats.Mean[at], t.stats.Unbiased[at], t.stats.Inverse[at] = T(m.mean[c]), T(unbiased), T(inverse)
		t.scale[at], t.shift[at] = T(scale), T(float64(t.bias[at])-m.mean[c]*scale)
	}
}
