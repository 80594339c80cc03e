package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm emits the family norm: the kernels of batch normalisation. All matrices are [rows, cols]. The kernels go down
// strips of columns, whose numbers per column stay in registers.
func norm(a *asm) {
	moments(a)
	for _, v := range []struct {
		name      string
		add, relu bool
	}{
		{"Normalise", false, false},
		{"NormaliseReLU", false, true},
		{"NormaliseAdd", true, false},
		{"NormaliseAddReLU", true, true},
	} {
		normalise(a, v.name, v.add, v.relu)
	}
	normSums(a, "NormSums", false)
	normSums(a, "NormSumsReLU", true)
	normSumsAdd(a, "NormSumsAdd", false)
	normSumsAdd(a, "NormSumsAddReLU", true)
	normGrad(a, "NormGrad", false)
	normGrad(a, "NormGradReLU", true)
}

// matrix emits a loop over the strips of columns and, within a strip, over its rows. before and after are emitted once
// per strip, body once per row and register i of the row. The pointers in matrices and perCol point to the current
// strip; here returns the memory of register i of the current row behind a pointer. It also ends the function.
func (a *asm) matrix(matrices, perCol []reg.GPVirtual, before func(vecs int, masked bool),
	body func(i int, masked bool, here func(p reg.Register) operand.Mem), after func(vecs int, masked bool),
) {
	cols, ld := a.arg("cols"), a.GP64()
	a.MOVQ(cols, ld)
	a.SHLQ(operand.U8(2), ld)
	// The widest strip for which all numbers per column fit in registers: AVX2 has 16 of them, AVX-512 32.
	wide := 4
	if a.lanes == 8 {
		wide = 2
	}
	a.strips([]int{wide, 1}, cols, slices.Concat(matrices, perCol), func(vecs int, masked bool) {
		before(vecs, masked)
		off, n, row := a.GP64(), a.GP64(), a.label("row")
		a.XORQ(off, off)
		a.Load(a.Param("rows"), n)
		a.Label(row)
		for i := range vecs {
			body(i, masked, a.behind(off, i))
		}
		a.ADDQ(ld, off)
		a.countDown(n, row)
		if after != nil {
			after(vecs, masked)
		}
	})
	a.end()
}

// loads returns vecs registers loaded from p on.
func (a *asm) loads(p reg.GPVirtual, vecs int, masked bool) []reg.VecVirtual {
	v := a.vecs(vecs)
	for i, r := range v {
		a.load(at(p, i*a.bytes()), r, masked)
	}
	return v
}

// stores writes registers to p on.
func (a *asm) stores(v []reg.VecVirtual, p reg.GPVirtual, masked bool) {
	for i, r := range v {
		a.store(r, at(p, i*a.bytes()), masked)
	}
}

// moments computes sum[j] += Σ_i (x[i,j] − pivot[j]), squares[j] += Σ_i (x[i,j] − pivot[j])². Moves 4 |x| bytes.
func moments(a *asm) {
	a.begin("Moments", "func(sum, squares, x, pivot *float32, rows, cols int)")
	sum, squares, x, pivot := a.arg("sum"), a.arg("squares"), a.arg("x"), a.arg("pivot")
	// Per strip of columns: the sums s, the sums of squares q, and the pivots p.
	var s, q, p []reg.VecVirtual
	a.matrix([]reg.GPVirtual{x}, []reg.GPVirtual{sum, squares, pivot}, func(vecs int, masked bool) {
		s, q, p = a.loads(sum, vecs, masked), a.loads(squares, vecs, masked), a.loads(pivot, vecs, masked)
	}, func(i int, masked bool, here func(reg.Register) operand.Mem) {
		v := a.vec()
		a.load(here(x), v, masked)
		a.VSUBPS(p[i], v, v)
		a.VADDPS(v, s[i], s[i])
		a.VFMADD231PS(v, v, q[i])
	}, func(_ int, masked bool) {
		a.stores(s, sum, masked)
		a.stores(q, squares, masked)
	})
}

// normalise computes y[i,j] = max(0, x[i,j]·scale[j] + shift[j] + add[i,j]). The variants without add and without relu
// leave the addition and the maximum out. Moves 8 |x| bytes, 12 with add.
func normalise(a *asm, name string, add, relu bool) {
	a.begin(name, "func(y, x, add, scale, shift *float32, rows, cols int)")
	y, x, scale, shift := a.arg("y"), a.arg("x"), a.arg("scale"), a.arg("shift")
	matrices := []reg.GPVirtual{y, x}
	var more reg.GPVirtual
	if add {
		more = a.arg("add")
		matrices = append(matrices, more)
	}
	zero := a.vec()
	if relu {
		a.zero(zero)
	}
	var f, s []reg.VecVirtual
	a.matrix(matrices, []reg.GPVirtual{scale, shift}, func(vecs int, masked bool) {
		f, s = a.loads(scale, vecs, masked), a.loads(shift, vecs, masked)
	}, func(i int, masked bool, here func(reg.Register) operand.Mem) {
		v := a.vec()
		a.load(here(x), v, masked)
		a.VFMADD213PS(s[i], f[i], v)
		if add {
			w := a.vec()
			a.load(here(more), w, masked)
			a.VADDPS(w, v, v)
		}
		if relu {
			a.zeroUnlessPositive(v, v, zero)
		}
		a.store(v, here(y), masked)
	}, nil)
}

// clamp is a ReLU behind a normalisation. Its gradient computes x·scale + shift once more to find out where it has
// clamped: that costs less than to read its output. Without relu it does nothing.
type clamp struct {
	relu         bool
	scale, shift reg.GPVirtual
	f, s         []reg.VecVirtual // scale and shift of a strip of columns
	zero         reg.VecVirtual
}

// clamp returns the ReLU of a kernel with arguments scale and shift, which it appends to perCol.
func (a *asm) clamp(relu bool, perCol *[]reg.GPVirtual) *clamp {
	c := &clamp{relu: relu}
	if relu {
		c.scale, c.shift, c.zero = a.arg("scale"), a.arg("shift"), a.vec()
		a.zero(c.zero)
		*perCol = append(*perCol, c.scale, c.shift)
	}
	return c
}

// before loads what the ReLU needs for a strip of columns.
func (c *clamp) before(a *asm, vecs int, masked bool) {
	if c.relu {
		c.f, c.s = a.loads(c.scale, vecs, masked), a.loads(c.shift, vecs, masked)
	}
}

// gradient sets g to 0 where register i of a row, with the numbers x, was clamped.
func (c *clamp) gradient(a *asm, g, x reg.VecVirtual, i int) {
	if c.relu {
		y := a.vec()
		a.VMOVAPS(c.s[i], y)
		a.VFMADD231PS(c.f[i], x, y)
		a.zeroUnlessPositive(g, y, c.zero)
	}
}

// normSums computes the sums that the gradients of a batch normalisation take:
//
//	d[i,j] = x[i,j]·scale[j] + shift[j] > 0 ? gy[i,j] : 0
//	db[j] += Σ_i d[i,j];  dw[j] += Σ_i d[i,j]·(x[i,j] − mean[j])
//
// Without relu, d = gy. Moves 8 |x| bytes.
func normSums(a *asm, name string, relu bool) {
	a.begin(name, "func(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)")
	db, dw, gy, x, mean := a.arg("db"), a.arg("dw"), a.arg("gy"), a.arg("x"), a.arg("mean")
	perCol := []reg.GPVirtual{db, dw, mean}
	y := a.clamp(relu, &perCol)
	var b, w, m []reg.VecVirtual // per strip of columns: db, dw and the means
	a.matrix([]reg.GPVirtual{gy, x}, perCol, func(vecs int, masked bool) {
		b, w, m = a.loads(db, vecs, masked), a.loads(dw, vecs, masked), a.loads(mean, vecs, masked)
		y.before(a, vecs, masked)
	}, func(i int, masked bool, here func(reg.Register) operand.Mem) {
		g, u := a.vec(), a.vec()
		a.load(here(gy), g, masked)
		a.load(here(x), u, masked)
		y.gradient(a, g, u, i)
		a.addNormSums(g, u, b[i], w[i], m[i])
	}, func(_ int, masked bool) {
		a.stores(b, db, masked)
		a.stores(w, dw, masked)
	})
}

// addNormSums adds a row's d and d·(x − mean) to the sums b and w.
func (a *asm) addNormSums(d, x, b, w, mean reg.VecVirtual) {
	a.VSUBPS(mean, x, x)
	a.VADDPS(d, b, b)
	a.VFMADD231PS(x, d, w)
}

// normSumsAdd does the same where something was added in front of the ReLU: y says where that has clamped. It stores d,
// which is the gradient of what was added. Moves 12 |x| bytes, 4 more with relu.
func normSumsAdd(a *asm, name string, relu bool) {
	a.begin(name, "func(d, db, dw, gy, y, x, mean *float32, rows, cols int)")
	d, db, dw, gy, x, mean := a.arg("d"), a.arg("db"), a.arg("dw"), a.arg("gy"), a.arg("x"), a.arg("mean")
	matrices := []reg.GPVirtual{gy, x, d}
	var y reg.GPVirtual
	zero := a.vec()
	if relu {
		y = a.arg("y")
		matrices = append(matrices, y)
		a.zero(zero)
	}
	var b, w, m []reg.VecVirtual
	a.matrix(matrices, []reg.GPVirtual{db, dw, mean}, func(vecs int, masked bool) {
		b, w, m = a.loads(db, vecs, masked), a.loads(dw, vecs, masked), a.loads(mean, vecs, masked)
	}, func(i int, masked bool, here func(reg.Register) operand.Mem) {
		g := a.gradient(here(gy), here(y), zero, relu, masked)
		a.store(g, here(d), masked)
		u := a.vec()
		a.load(here(x), u, masked)
		a.addNormSums(g, u, b[i], w[i], m[i])
	}, func(_ int, masked bool) {
		a.stores(b, db, masked)
		a.stores(w, dw, masked)
	})
}

// normGrad computes dx[i,j] = a[j]·d[i,j] + b[j]·x[i,j] + c[j], with d as in normSums. Moves 12 |x| bytes.
func normGrad(a *asm, name string, relu bool) {
	a.begin(name, "func(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)")
	dx, gy, x, ca, cb, cc := a.arg("dx"), a.arg("gy"), a.arg("x"), a.arg("a"), a.arg("b"), a.arg("c")
	perCol := []reg.GPVirtual{ca, cb, cc}
	y := a.clamp(relu, &perCol)
	var va, vb, vc []reg.VecVirtual
	a.matrix([]reg.GPVirtual{dx, gy, x}, perCol, func(vecs int, masked bool) {
		va, vb, vc = a.loads(ca, vecs, masked), a.loads(cb, vecs, masked), a.loads(cc, vecs, masked)
		y.before(a, vecs, masked)
	}, func(i int, masked bool, here func(reg.Register) operand.Mem) {
		g, v := a.vec(), a.vec()
		a.load(here(gy), g, masked)
		a.load(here(x), v, masked)
		y.gradient(a, g, v, i)
		a.VFMADD213PS(vc[i], vb[i], v)
		a.VFMADD231PS(va[i], g, v)
		a.store(v, here(dx), masked)
	}, nil)
}
