package kernels

import "math"

// NormEpsilon is the ε that is added to variances. It is the default of PyTorch's BatchNorm2d.
const NormEpsilon = 1e-5

// NormShape holds the sizes of a batch normalisation: x [K,B,H,W,C], y [K,B,H+2·OutPad,W+2·OutPad,C] with a border of
// zeros. add, the array that may be added to y, its gradient and the gradient of y have the shape of y.
type NormShape struct {
	K, B, H, W, C int
	OutPad        int
	ReLU          bool
}

func (s NormShape) xLen() int { return s.H * s.W * s.C } // one image
func (s NormShape) yLen() int { return (s.H + 2*s.OutPad) * (s.W + 2*s.OutPad) * s.C }

// line returns where row i of image n begins in x and in arrays of the shape of y, and how many elements it has.
func (s NormShape) line(n, i int) (x, y, run int) {
	run = s.W * s.C
	width := run + 2*s.OutPad*s.C
	return n*s.xLen() + i*run, n*s.yLen() + s.OutPad*(width+s.C) + i*width, run
}

// normBlock is about how many rows [C] are summed in T before their sums are added in float64. It is part of the
// result.
const normBlock = 1024

// NormForward computes y = max(0, scale·x + shift + add) with scale = weight/√(var + ε) and shift = bias − mean·scale.
// It takes the maximum only if ReLU, and adds add only if it is not nil.
//
// [NormForward.Train] takes mean and var from the batch of each client: over the pixels of the samples whose label is
// not negative. y of the other samples, the padding of a ragged batch, is 0. [NormForward.Evaluate] takes mean and var
// from its caller: the running statistics.
type NormForward[T Float] struct {
	NormShape
	y, x, add    []T
	labels       []int32 // [K,B]; nil in evaluation
	weight, bias []T     // [K,C]
	stats        NormStats[T]
	part         []moments // [K,chunks] the moments of each chunk of images
}

// NormStats holds the statistics of the batches of a training pass, per client and channel. The gradient takes all but
// Unbiased; the running statistics take Mean and Unbiased. A client without samples has zeros.
type NormStats[T Float] struct {
	Mean, Unbiased []T       // [K,C] the mean, and the unbiased variance Σ(x − mean)²/(n − 1)
	Inverse        []T       // [K,C] 1/√(var + ε), with the biased variance
	Scale, Shift   []T       // [K,C] y = max(0, Scale·x + Shift + add)
	Count          []float64 // [K] n, the values per channel
}

// moments holds the number of values n, their mean and m2 = Σ(x − mean)², the latter two per channel.
type moments struct {
	n        float64
	mean, m2 []float64
}

// The phases of NormForward; an evaluation has the last alone.
const (
	normMoments = iota // the moments of some images of a client
	normMerge          // the statistics of one client
	normApply          // y of some images of a client
)

// Train computes y and the statistics of the batches, which stay valid until the next call. Package ops folds them into
// the running statistics.
func (t *NormForward[T]) Train(e *Exec[T], s NormShape, y, x, add, weight, bias []T, labels []int32) *NormStats[T] {
	t.set(s, y, x, add, weight, bias)
	t.labels = labels
	if t.part == nil {
		t.part = make([]moments, s.K*imageChunks(s.B))
		for i := range t.part {
			t.part[i].mean, t.part[i].m2 = make([]float64, s.C), make([]float64, s.C)
		}
		n := s.K * s.C
		t.stats.Mean, t.stats.Unbiased, t.stats.Inverse = make([]T, n), make([]T, n), make([]T, n)
		t.stats.Count = make([]float64, s.K)
	}
	e.For(t, normMoments, s.K*imageChunks(s.B))
	e.For(t, normMerge, s.K)
	e.For(t, normApply, s.K*imageChunks(s.B))
	return &t.stats
}

// Evaluate computes y with the given statistics [K,C].
func (t *NormForward[T]) Evaluate(e *Exec[T], s NormShape, y, x, add, weight, bias, mean, variance []T) {
	t.set(s, y, x, add, weight, bias)
	t.labels = nil
	for i, v := range variance {
		scale := weight[i] / T(math.Sqrt(float64(v)+NormEpsilon))
		t.stats.Scale[i], t.stats.Shift[i] = scale, bias[i]-mean[i]*scale
	}
	e.For(t, normApply, s.K*imageChunks(s.B))
}

// set keeps the arguments of Train and Evaluate, and allocates scale and shift in the first call.
func (t *NormForward[T]) set(s NormShape, y, x, add, weight, bias []T) {
	t.NormShape, t.y, t.x, t.add, t.weight, t.bias = s, y, x, add, weight, bias
	if t.stats.Scale == nil {
		t.stats.Scale, t.stats.Shift = make([]T, s.K*s.C), make([]T, s.K*s.C)
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
		scale, shift := t.stats.Scale[k*t.C:][:t.C], t.stats.Shift[k*t.C:][:t.C]
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

// moments computes the moments of chunk i of the images. It sums blocks of about normBlock rows in T, as differences
// from the first row of the block, so that a large mean costs no digits, and joins the blocks in float64.
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

// fold joins n values per channel to m. sum and squares are the sums of value − pivot and of (value − pivot)².
func fold[T Float](m *moments, n float64, sum, squares, pivot []T) {
	m.add(n, func(c int) (mean, m2 float64) {
		off := float64(sum[c]) / n
		return float64(pivot[c]) + off, max(0, float64(squares[c])-n*off*off)
	})
}

// join joins the values that o describes to m.
func (m *moments) join(o *moments) {
	m.add(o.n, func(c int) (mean, m2 float64) { return o.mean[c], o.m2[c] })
}

// add joins n values per channel to m; of returns the mean and Σ(x − mean)² of these values in channel c. The update is
// the pairwise one of T. F. Chan, G. H. Golub and R. J. LeVeque, Updating formulae and a pairwise algorithm for
// computing sample variances, 1979.
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

// merge joins the moments of the chunks of client k, in order, into the first, and computes the statistics, scale and
// shift from them.
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
		t.stats.Scale[at], t.stats.Shift[at] = T(scale), T(float64(t.bias[at])-m.mean[c]*scale)
	}
}
