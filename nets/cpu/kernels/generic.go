package kernels

// generic is the kernels in plain Go.
type generic[T Float] struct{}

// Generic returns the kernels in plain Go. The tests compare every other variant with them.
func Generic[T Float]() Kernels[T] { return generic[T]{} }

func (generic[T]) Name() string { return "generic" }

func (generic[T]) GemmCols() int { return PanelCols }

// Prefetch does nothing: Go has no such instruction.
func (generic[T]) Prefetch([]T, []uint8) {}

func (generic[T]) Gemm(t *Tile[T]) {
	for u := range t.Runs {
		gemmRun(t, t.A[u*t.ARun:], t.C[u*t.CRun:])
	}
}

// gemmRun computes one run of a tile: two rows of C at a time, one row of B after the other, so that the inner loop
// runs along memory.
func gemmRun[T Float](t *Tile[T], A, C []T) {
	var acc [2][PanelCols]T
	for i := 0; i < t.M; i += 2 {
		rows := min(2, t.M-i)
		clear(acc[0][:])
		clear(acc[1][:])
		for s := range t.Segs {
			a0 := s*t.ASeg + i*t.ARow
			a1 := a0 + (rows-1)*t.ARow
			b := s * t.BSeg
			for range t.K {
				x0, x1 := A[a0], A[a1]
				row := t.B[b : b+t.N]
				for j, y := range row {
					acc[0][j&(PanelCols-1)] += x0 * y
					acc[1][j&(PanelCols-1)] += x1 * y
				}
				a0 += t.AK
				a1 += t.AK
				b += t.BRow
			}
		}
		for r := range rows {
			c := C[(i+r)*t.CRow:][:t.N]
			for j := range c {
				if t.Acc {
					c[j] += acc[r][j]
				} else {
					c[j] = acc[r][j]
				}
			}
		}
	}
}

func (generic[T]) Transpose(dst []T, ldDst int, src []T, ldSrc, rows, cols int) {
	for i := range rows {
		for j, v := range src[i*ldSrc:][:cols] {
			dst[j*ldDst+i] = v
		}
	}
}

func (generic[T]) PoolReLU(y []T, arg []uint8, top, bottom, bias []T) {
	n := len(bias)
	for j := range len(y) / n {
		t, u := top[2*j*n:][:2*n], bottom[2*j*n:][:2*n]
		for o, b := range bias {
			y[j*n+o], arg[j*n+o] = largest(t[o], t[n+o], u[o], u[n+o], b)
		}
	}
}

// largest pools a window: m is its first element, at the number of the largest.
func largest[T Float](m, t1, b0, b1, bias T) (pooled T, at uint8) {
	for i, v := range [...]T{t1, b0, b1} {
		if v > m || v != v {
			m, at = v, uint8(i+1)
		}
	}
	if m += bias; m <= 0 {
		return 0, Dead
	}
	return m, at
}

func (generic[T]) UnpoolReLU(top, bottom, db, gy []T, arg []uint8) {
	n := len(db)
	for j := 0; j < len(gy)/n; j++ {
		window := [4][]T{top[2*j*n:][:n], top[(2*j+1)*n:][:n], bottom[2*j*n:][:n], bottom[(2*j+1)*n:][:n]}
		for o, g := range gy[j*n:][:n] {
			at := arg[j*n+o]
			for p := range window {
				window[p][o] = 0
			}
			if at != Dead {
				window[at][o] = g
				db[o] += g
			}
		}
	}
}

func (generic[T]) BiasReLU(y []T, rows, ld int, bias []T, relu bool) {
	for i := range rows {
		row := y[i*ld:][:len(bias)]
		for j, b := range bias {
			v := row[j] + b
			if relu && v <= 0 {
				v = 0
			}
			row[j] = v
		}
	}
}

func (generic[T]) ReLUGrad(d, db, gy, y []T, relu bool) {
	n := len(db)
	for i := 0; i < len(gy); i += n {
		for j, g := range gy[i:][:n] {
			if relu && y[i+j] <= 0 {
				g = 0
			}
			d[i+j] = g
			db[j] += g
		}
	}
}

func (generic[T]) Scale(dst []T, c T, src []T) {
	for i, v := range src {
		dst[i] = c * v
	}
}

func (generic[T]) Axpy(dst []T, c T, src []T) {
	for i, v := range src {
		dst[i] += c * v
	}
}

// Dot adds the products in the order of x.
func (generic[T]) Dot(x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func (generic[T]) Step(w, g, v, drift []T, s Step[T]) {
	for i, wi := range w {
		d := s.Scale*g[i] + s.Decay*wi
		if drift != nil {
			d += drift[i]
		}
		if v != nil {
			d += s.Momentum * v[i]
			v[i] = d
		}
		w[i] = wi - s.LR*d
	}
}
