package kernels

func (generic[T]) Moments(sum, squares, x, pivot []T) {
	n := len(pivot)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i:][:n] {
			v -= pivot[j]
			sum[j] += v
			squares[j] += v * v
		}
	}
}

func (generic[T]) Normalise(y, x, add, scale, shift []T, relu bool) {
	n := len(scale)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i:][:n] {
			v = v*scale[j] + shift[j]
			if add != nil {
				v += add[i+j]
			}
			if relu && v <= 0 {
				v = 0
			}
			y[i+j] = v
		}
	}
}

func (generic[T]) NormSums(db, dw, gy, x, mean, scale, shift []T) {
	n := len(mean)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i:][:n] {
			g := gy[i+j]
			if scale != nil && v*scale[j]+shift[j] <= 0 {
				g = 0
			}
			db[j] += g
			dw[j] += g * (v - mean[j])
		}
	}
}

func (generic[T]) NormSumsAdd(d, db, dw, gy, y, x, mean []T) {
	n := len(mean)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i:][:n] {
			g := gy[i+j]
			if y != nil && y[i+j] <= 0 {
				g = 0
			}
			d[i+j] = g
			db[j] += g
			dw[j] += g * (v - mean[j])
		}
	}
}

func (generic[T]) NormGrad(dx, gy, x, a, b, c, scale, shift []T) {
	n := len(a)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i:][:n] {
			g := gy[i+j]
			if scale != nil && v*scale[j]+shift[j] <= 0 {
				g = 0
			}
			dx[i+j] = g*a[j] + (v*b[j] + c[j])
		}
	}
}
