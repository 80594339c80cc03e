package kernels

func (generic[T]) WinogradInput(t *TileRow[T]) {
	t.each(func(v, a, b []T) {
		for c := range t.Channels {
			column := func(s int) T { return a[s*t.Pixel+c] + t.Sign*b[s*t.Pixel+c] }
			t0, t1, t2, t3 := column(0), column(1), column(2), column(3)
			v[c], v[t.Plane+c], v[2*t.Plane+c], v[3*t.Plane+c] = t0-t2, t1+t2, t2-t1, t1-t3
		}
	})
}

func (generic[T]) WinogradGradient(t *TileRow[T]) {
	t.each(func(v, a, b []T) {
		for c := range t.Channels {
			t0, t1 := a[c]+t.Sign*b[c], a[t.Pixel+c]+t.Sign*b[t.Pixel+c]
			v[c], v[t.Plane+c], v[2*t.Plane+c], v[3*t.Plane+c] = t0, t0+t1, t0-t1, 0-t1
		}
	})
}

// each calls transform with every tile.
func (t *TileRow[T]) each(transform func(v, a, b []T)) {
	for j := range t.Tiles {
		transform(t.V[j*t.Row:], t.A[2*j*t.Pixel:], t.B[2*j*t.Pixel:])
	}
}

func (generic[T]) WinogradOutput(top, bottom, m []T, plane, row, tiles, channels int) {
	for j := range tiles {
		for c := range channels {
			var up, down [4]T
			for s := range up {
				at := func(r int) T { return m[(4*r+s)*plane+j*row+c] }
				up[s], down[s] = at(0)+at(1)+at(2), at(1)-at(2)-at(3)
			}
			left, right := 2*j*channels+c, (2*j+1)*channels+c
			top[left], top[right] = up[0]+up[1]+up[2], up[1]-up[2]-up[3]
			bottom[left], bottom[right] = down[0]+down[1]+down[2], down[1]-down[2]-down[3]
		}
	}
}

func (generic[T]) WinogradWeights(u []T, plane int, w []T, place, ld, rows, cols int) {
	for i := range rows {
		for j := range cols {
			var t [4][3]T
			for s := range 3 {
				at := func(r int) T { return w[(3*r+s)*place+i*ld+j] }
				t[0][s], t[1][s], t[2][s], t[3][s] = timesG(at(0), at(1), at(2))
			}
			for r, t := range t {
				u := u[4*r*plane+i*cols+j:]
				u[0], u[plane], u[2*plane], u[3*plane] = timesG(t[0], t[1], t[2])
			}
		}
	}
}

// timesG returns G·t.
func timesG[T Float](t0, t1, t2 T) (T, T, T, T) {
	e := t0 + t2
	return t0, 0.5 * (e + t1), 0.5 * (e - t1), t2
}

func (generic[T]) WinogradWeightsGrad(dw []T, place int, du []T, plane, n int) {
	for i := range n {
		var q [3][4]T
		for s := range 4 {
			at := func(r int) T { return du[(4*r+s)*plane+i] }
			q[0][s], q[1][s], q[2][s] = timesGT(at(0), at(1), at(2), at(3))
		}
		for r, t := range q {
			w := dw[3*r*place+i:]
			w[0], w[place], w[2*place] = timesGT(t[0], t[1], t[2], t[3])
		}
	}
}

// timesGT returns Gᵀ·t.
func timesGT[T Float](t0, t1, t2, t3 T) (T, T, T) {
	e := 0.5 * (t1 + t2)
	return t0 + e, 0.5 * (t1 - t2), e + t3
}
