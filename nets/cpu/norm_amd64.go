package cpu

import "unsafe"

// normCode is the assembly of batch normalisation; arrays of two are without and with ReLU.
type normCode struct {
	moments       func(sum, squares, x, pivot *float32, rows, cols int)
	plain, add    [2]normaliseFunc
	sums, storing [2]normSumsFunc
	gradients     [2]normGradFunc
}

var (
	normAVX512 = normCode{
		moments: momentsAVX512,
		plain:   [2]normaliseFunc{normaliseAVX512, normaliseReLUAVX512}, add: [2]normaliseFunc{normaliseAddAVX512, normaliseAddReLUAVX512},
		sums: [2]normSumsFunc{normSumsAVX512, normSumsReLUAVX512}, storing: [2]normSumsFunc{normSumsStoreAVX512, normSumsStoreReLUAVX512},
		gradients: [2]normGradFunc{normGradAVX512, normGradReLUAVX512},
	}
	normAVX2 = normCode{
		moments: momentsAVX2,
		plain:   [2]normaliseFunc{normaliseAVX2, normaliseReLUAVX2}, add: [2]normaliseFunc{normaliseAddAVX2, normaliseAddReLUAVX2},
		sums: [2]normSumsFunc{normSumsAVX2, normSumsReLUAVX2}, storing: [2]normSumsFunc{normSumsStoreAVX2, normSumsStoreReLUAVX2},
		gradients: [2]normGradFunc{normGradAVX2, normGradReLUAVX2},
	}
)

type (
	normaliseFunc = func(y, x, add, scale, shift *float32, rows, cols int)
	normSumsFunc  = func(d, db, dw, gy, y, x, mean *float32, rows, cols int)
	normGradFunc  = func(dx, gy, y, x, a, b, c *float32, rows, cols int)
)

// number is 1 for true.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (n *normCode) addMoments(sum, squares, x, pivot []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(pivot)
	rows := blocks(len(x), cols)
	_, _, _ = sum[cols-1], squares[cols-1], x[rows*cols-1]
	n.moments(&sum[0], &squares[0], &x[0], &pivot[0], rows, cols)
}

func (n *normCode) normalise(y, x, add, scale, shift []float32, relu bool) {
	if len(x) == 0 {
		return
	}
	cols := len(scale)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _ = y[last], x[last], shift[cols-1]
	run := n.plain[number(relu)]
	if add != nil {
		_ = add[last]
		run = n.add[number(relu)]
	}
	run(&y[0], &x[0], unsafe.SliceData(add), &scale[0], &shift[0], rows, cols)
}

func (n *normCode) addSums(d, db, dw, gy, y, x, mean []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(mean)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _, _ = gy[last], x[last], db[cols-1], dw[cols-1]
	if y != nil {
		_ = y[last]
	}
	run := n.sums[number(y != nil)]
	if d != nil {
		_ = d[last]
		run = n.storing[number(y != nil)]
	}
	run(unsafe.SliceData(d), &db[0], &dw[0], &gy[0], unsafe.SliceData(y), &x[0], &mean[0], rows, cols)
}

func (n *normCode) gradient(dx, gy, y, x, a, b, c []float32) {
	if len(x) == 0 {
		return
	}
	cols := len(a)
	rows := blocks(len(x), cols)
	last := rows*cols - 1
	_, _, _, _, _ = dx[last], gy[last], x[last], b[cols-1], c[cols-1]
	if y != nil {
		_ = y[last]
	}
	n.gradients[number(y != nil)](&dx[0], &gy[0], unsafe.SliceData(y), &x[0], &a[0], &b[0], &c[0], rows, cols)
}
