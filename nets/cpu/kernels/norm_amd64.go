package kernels

import "unsafe"

func (c *code) Moments(sum, squares, x, pivot []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(pivot)
	rows := blocks(len(x), cols)
	_, _, _ = sum[cols-1], squares[cols-1], x[rows*cols-1]
	c.moments(&sum[0], &squares[0], &x[0], &pivot[0], rows, cols)
}

func (c *code) Normalise(y, x, add, scale, shift []float32, relu bool) {
	if len(x) == 0 {
		return
	}
	cols := len(scale)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _ = y[last], x[last], shift[cols-1]
	checkLength(add, last+1)
	run := c.normalise[number(add != nil)][number(relu)]
	run(&y[0], &x[0], unsafe.SliceData(add), &scale[0], &shift[0], rows, cols)
}

func (c *code) NormSums(db, dw, gy, x, mean, scale, shift []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(mean)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _, _ = gy[last], x[last], db[cols-1], dw[cols-1]
	if scale != nil {
		_, _ = scale[cols-1], shift[cols-1]
	}
	c.normSums[number(scale != nil)](&db[0], &dw[0], &gy[0], &x[0], &mean[0], unsafe.SliceData(scale),
		unsafe.SliceData(shift), rows, cols)
}

func (c *code) NormSumsAdd(d, db, dw, gy, y, x, mean []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(mean)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _, _, _ = d[last], gy[last], x[last], db[cols-1], dw[cols-1]
	checkLength(y, last+1)
	c.normSumsAdd[number(y != nil)](&d[0], &db[0], &dw[0], &gy[0], unsafe.SliceData(y), &x[0], &mean[0], rows, cols)
}

func (c *code) NormGrad(dx, gy, x, a, b, add, scale, shift []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(a)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _, _, _ = dx[last], gy[last], x[last], b[cols-1], add[cols-1]
	if scale != nil {
		_, _ = scale[cols-1], shift[cols-1]
	}
	c.normGrad[number(scale != nil)](&dx[0], &gy[0], &x[0], &a[0], &b[0], &add[0], unsafe.SliceData(scale),
		unsafe.SliceData(shift), rows, cols)
}
