package kernels

// NormBackward computes the gradients of a batch normalisation in training. Let d be the gradient of y, set to 0 where
// a ReLU has clamped y, and x̂ = (x − mean)·inverse. Then
//
//	dbias = Σ d, dweight = Σ d·x̂, dadd = d, dx = weight·inverse·(d − dbias/n − x̂·dweight/n)
//
// Samples with a negative label are padding: their dx and dadd are 0.
type NormBackward[T Float] struct {
	NormShape
	labels    []int32
	stats     *NormStats[T]
	x, weight []T
	y, gy     []T       // y: nil without ReLU, or if nothing was added
	dx, dadd  []T       // dadd: nil if nothing was added
	dw, db    []T       // [K,C]
	a, b, c   []T       // [K,C] dx = a·d + b·x + c
	part      []float64 // [K,chunks,2,C] Σ d and Σ d·(x − mean)
}

// The phases of NormBackward, in order.
const (
	normSums  = iota // dadd, and Σ d and Σ d·(x − mean), of some images of a client
	normSolve        // dw, db and the coefficients of dx of one client
	normInput        // dx of some images of a client
)

// Run computes the gradients but dx, which [NormBackward.All] and [NormBackward.Image] compute. dadd is nil if nothing
// was added to y; otherwise its border must be zero and stays zero. stats is what [NormForward.Train] returned.
func (t *NormBackward[T]) Run(
	e *Exec[T], s NormShape, dadd, dw, db, x, weight, y, gy []T, labels []int32, stats *NormStats[T],
) {
	t.NormShape, t.labels, t.stats, t.x, t.weight, t.y, t.gy = s, labels, stats, x, weight, nil, gy
	if s.ReLU && dadd != nil {
		t.y = y
	}
	t.dadd, t.dw, t.db = dadd, dw, db
	if t.part == nil {
		t.part = make([]float64, s.K*imageChunks(s.B)*2*s.C)
		t.a, t.b, t.c = make([]T, s.K*s.C), make([]T, s.K*s.C), make([]T, s.K*s.C)
	}
	e.For(t, normSums, s.K*imageChunks(s.B))
	e.For(t, normSolve, s.K)
}

// All computes dx.
func (t *NormBackward[T]) All(e *Exec[T], dx []T) {
	t.dx = dx
	e.For(t, normInput, t.K*imageChunks(t.B))
}

// Chunk implements [Task].
func (t *NormBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case normSums:
		t.sums(i, s)
	case normSolve:
		t.solve(i)
	case normInput:
		k, lo, hi := imagesOf(i, t.B)
		for n := k*t.B + lo; n < k*t.B+hi; n++ {
			t.Image(s, t.dx[n*t.xLen():][:t.xLen()], n)
		}
	}
}

// sums computes Σ d and Σ d·(x − mean) over chunk i of the images, and writes dadd of these images.
func (t *NormBackward[T]) sums(i int, s *Scratch[T]) {
	k, lo, hi := imagesOf(i, t.B)
	total := t.part[i*2*t.C:][:2*t.C]
	clear(total)
	sum, mean := s.Buf(2*t.C), t.stats.Mean[k*t.C:][:t.C]
	scale, shift := t.clamp(k)
	clear(sum)
	rows := 0
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		for i := range t.H {
			x, at, run := t.line(n, i)
			d, gy, row := optional(t.dadd, at, run), t.gy[at:][:run], t.x[x:][:run]
			switch {
			case t.labels[n] < 0:
				clear(d)
				continue
			case d != nil:
				s.NormSumsAdd(d, sum[:t.C], sum[t.C:], gy, optional(t.y, at, run), row, mean)
			default:
				s.NormSums(sum[:t.C], sum[t.C:], gy, row, mean, scale, shift)
			}
			rows += t.W
		}
		if rows >= normBlock || n == k*t.B+hi-1 {
			for c, v := range sum {
				total[c] += float64(v)
			}
			clear(sum)
			rows = 0
		}
	}
}

// solve computes dw, db and the coefficients a, b, c of dx for client k.
func (t *NormBackward[T]) solve(k int) {
	n := t.stats.Count[k]
	for c := range t.C {
		at := k*t.C + c
		sum, product := 0.0, 0.0
		for i := range imageChunks(t.B) {
			part := t.part[(k*imageChunks(t.B)+i)*2*t.C:]
			sum += part[c]
			product += part[t.C+c]
		}
		inverse := float64(t.stats.Inverse[at])
		t.db[at], t.dw[at] = T(sum), T(product*inverse)
		if n > 0 {
			a := float64(t.weight[at]) * inverse
			b := -a * inverse * inverse * product / n
			t.a[at], t.b[at], t.c[at] = T(a), T(b), T(-a*sum/n-b*float64(t.stats.Mean[at]))
		}
	}
}

// Image writes dx of image n [H,W,C], any of the K·B.
func (t *NormBackward[T]) Image(s *Scratch[T], dx []T, n int) {
	if t.labels[n] < 0 {
		clear(dx)
		return
	}
	at := n / t.B * t.C
	a, b, c := t.a[at:][:t.C], t.b[at:][:t.C], t.c[at:][:t.C]
	gy := t.clamped()
	scale, shift := t.clamp(n / t.B)
	for i := range t.H {
		x, at, run := t.line(n, i)
		s.NormGrad(dx[i*run:][:run], gy[at:][:run], t.x[x:][:run], a, b, c, scale, shift)
	}
}

// clamp returns scale and shift of client k if they say where the ReLU has clamped y, or nil.
func (t *NormBackward[T]) clamp(k int) (scale, shift []T) {
	if !t.ReLU || t.dadd != nil {
		return nil, nil
	}
	return t.stats.Scale[k*t.C:][:t.C], t.stats.Shift[k*t.C:][:t.C]
}

// clamped returns gy, or dadd: that is d already, with zeros where the ReLU has clamped y.
func (t *NormBackward[T]) clamped() []T {
	if t.dadd != nil {
		return t.dadd
	}
	return t.gy
}

// prefetch asks for what [NormBackward.Image] reads, if there is an image n.
func (t *NormBackward[T]) prefetch(s *Scratch[T], n int) {
	if n < t.K*t.B {
		s.Prefetch(t.clamped()[n*t.yLen():][:t.yLen()], nil)
		s.Prefetch(t.x[n*t.xLen():][:t.xLen()], nil)
	}
}
