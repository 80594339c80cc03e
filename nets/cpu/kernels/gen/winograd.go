package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winograd emits the family winograd: the transforms of Winograd's convolution F(2×2, 3×3), whose products the family
// gemm computes. The sums are in one order, which cpu.TileRow and cpu.Kernels give, and nothing is fused that rounds.
func winograd(a *asm) {
	tileRow(a, "WinogradInput", 2, func(t []reg.VecVirtual, put func(s int, v reg.VecVirtual)) {
		v := a.vec()
		a.VSUBPS(t[2], t[0], v)
		put(0, v)
		v = a.vec()
		a.VADDPS(t[2], t[1], v)
		put(1, v)
		v = a.vec()
		a.VSUBPS(t[1], t[2], v)
		put(2, v)
		v = a.vec()
		a.VSUBPS(t[3], t[1], v)
		put(3, v)
	})
	tileRow(a, "WinogradGradient", 0, func(t []reg.VecVirtual, put func(s int, v reg.VecVirtual)) {
		put(0, t[0])
		v := a.vec()
		a.VADDPS(t[1], t[0], v)
		put(1, v)
		v = a.vec()
		a.VSUBPS(t[1], t[0], v)
		put(2, v)
		v = a.vec()
		a.zero(v)
		a.VSUBPS(t[1], v, v)
		put(3, v)
	})
	winogradOutput(a)
	winogradWeights(a)
	winogradWeightsGrad(a)
}

// spaced has the distance of planes, in bytes, for addresses up to three planes behind a pointer.
type spaced struct{ one, three reg.GPVirtual }

// spaces returns planes that are as many elements apart as a parameter says.
func (a *asm) spaces(distance string) spaced {
	p := spaced{a.arg(distance), a.GP64()}
	a.SHLQ(operand.U8(2), p.one)
	a.LEAQ(indexed(p.one, p.one, 2), p.three)
	return p
}

// at returns the memory i planes, 0 to 3, and disp bytes behind base.
func (p spaced) at(base reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp}
	switch i {
	case 1, 2:
		m.Index, m.Scale = p.one, uint8(i)
	case 3:
		m.Index, m.Scale = p.three, 1
	}
	return m
}

// tileRow emits a kernel that goes along a row of tiles, which have overlap + 2 columns of pixels and share overlap of
// them. t are the columns of a tile, a + sign·b, of which transform makes the four columns of planes.
func tileRow(a *asm, name string, overlap int,
	transform func(t []reg.VecVirtual, put func(s int, v reg.VecVirtual)),
) {
	a.begin(name, "func(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)")
	v, x, y, left := a.arg("v"), a.arg("a"), a.arg("b"), a.arg("cols")
	ld, sign := a.arg("ld"), a.number("sign")
	a.SHLQ(operand.U8(2), ld)
	out, pixel := a.spaces("plane"), a.spaces("pixel")
	a.strips([]int{2, 1}, left, []reg.GPVirtual{v, x, y}, func(vecs int, masked bool) {
		to, n, loop := a.GP64(), a.GP64(), a.label("tile")
		a.MOVQ(v, to)
		a.Load(a.Param("tiles"), n)
		xs, ys := a.GP64(), a.GP64()
		a.MOVQ(x, xs)
		a.MOVQ(y, ys)
		column := func(t reg.VecVirtual, i, vec int) {
			a.load(pixel.at(xs, i, vec*a.bytes()), t, masked)
			m := pixel.at(ys, i, vec*a.bytes())
			if masked {
				w := a.vec()
				a.load(m, w, true)
				a.VFMADD231PS(w, sign, t)
			} else {
				a.VFMADD231PS(m, sign, t)
			}
		}
		t := make([][]reg.VecVirtual, vecs)
		for i := range t {
			t[i] = a.vecs(overlap + 2)
			for j := range overlap {
				column(t[i][j], j, i)
			}
		}
		a.Label(loop)
		for i, t := range t {
			for j := overlap; j < overlap+2; j++ {
				column(t[j], j, i)
			}
			transform(t, func(s int, v reg.VecVirtual) { a.store(v, out.at(to, s, i*a.bytes()), masked) })
			for j := range overlap {
				a.VMOVAPS(t[j+2], t[j])
			}
		}
		a.LEAQ(indexed(xs, pixel.one, 2), xs)
		a.LEAQ(indexed(ys, pixel.one, 2), ys)
		a.ADDQ(ld, to)
		a.countDown(n, loop)
	})
	a.end()
}

// winogradOutput computes two rows of pixels, Aᵀ·m·A of every tile.
func winogradOutput(a *asm) {
	a.begin("WinogradOutput", "func(top, bottom, m *float32, plane, ld, tiles, cols int)")
	top, bottom, m, left := a.arg("top"), a.arg("bottom"), a.arg("m"), a.arg("cols")
	ld, pixel := a.arg("ld"), a.GP64()
	a.SHLQ(operand.U8(2), ld)
	a.MOVQ(left, pixel)
	a.SHLQ(operand.U8(2), pixel)
	in := a.spaces("plane")
	a.strips([]int{2, 1}, left, []reg.GPVirtual{top, bottom, m}, func(vecs int, masked bool) {
		rows, n, loop := [4]reg.GPVirtual{}, a.GP64(), a.label("tile")
		for r := range rows {
			rows[r] = a.GP64()
			if r == 0 {
				a.MOVQ(m, rows[r])
			} else {
				a.LEAQ(indexed(rows[r-1], in.one, 4), rows[r])
			}
		}
		a.Load(a.Param("tiles"), n)
		to := [2]reg.GPVirtual{a.GP64(), a.GP64()}
		a.MOVQ(top, to[0])
		a.MOVQ(bottom, to[1])
		a.Label(loop)
		for i := range vecs {
			outputTile(a, in, rows, to, pixel, i*a.bytes(), masked)
		}
		for _, r := range to {
			a.LEAQ(indexed(r, pixel, 2), r)
		}
		for _, r := range rows {
			a.ADDQ(ld, r)
		}
		a.countDown(n, loop)
	})
	a.end()
}

// outputTile computes a register of channels of one tile, disp bytes behind the pointers.
func outputTile(
	a *asm, in spaced, rows [4]reg.GPVirtual, to [2]reg.GPVirtual, pixel reg.GPVirtual, disp int, masked bool,
) {
	// each adds a plane to v, or subtracts it.
	each := func(op func(ops ...operand.Op), r, s int, v reg.VecVirtual) {
		if masked {
			w := a.vec()
			a.load(in.at(rows[r], s, disp), w, true)
			op(w, v, v)
		} else {
			op(in.at(rows[r], s, disp), v, v)
		}
	}
	var sums [2][4]reg.VecVirtual // Aᵀ·m
	for s := range 4 {
		up, down := a.vec(), a.vec()
		a.load(in.at(rows[0], s, disp), up, masked)
		a.load(in.at(rows[1], s, disp), down, masked)
		a.VADDPS(down, up, up)
		each(a.VADDPS, 2, s, up)
		each(a.VSUBPS, 2, s, down)
		each(a.VSUBPS, 3, s, down)
		sums[0][s], sums[1][s] = up, down
	}
	for r, t := range sums {
		a.VADDPS(t[1], t[0], t[0])
		a.VADDPS(t[2], t[0], t[0])
		a.VSUBPS(t[2], t[1], t[1])
		a.VSUBPS(t[3], t[1], t[1])
		next := indexed(to[r], pixel, 1)
		next.Disp = disp
		a.store(t[0], at(to[r], disp), masked)
		a.store(t[1], next, masked)
	}
}

// half returns a register with ½ in every lane.
func (a *asm) half() reg.VecVirtual { return a.integers(0x3f000000) }

// winogradWeights computes G·w·Gᵀ of every pair of channels.
func winogradWeights(a *asm) {
	a.begin("WinogradWeights", "func(u *float32, plane int, w *float32, place, ld, rows, cols int)")
	u, w, left, half := a.arg("u"), a.arg("w"), a.arg("cols"), a.half()
	ldU, ldW := a.GP64(), a.arg("ld")
	a.MOVQ(left, ldU)
	a.SHLQ(operand.U8(2), ldU)
	a.SHLQ(operand.U8(2), ldW)
	out, in := a.spaces("plane"), a.spaces("place")
	a.strips([]int{1}, left, []reg.GPVirtual{u, w}, func(_ int, masked bool) {
		from, to, n, loop := a.GP64(), a.GP64(), a.GP64(), a.label("row")
		a.MOVQ(w, from)
		a.MOVQ(u, to)
		a.Load(a.Param("rows"), n)
		a.Label(loop)
		g, p := [3][3]reg.VecVirtual{}, a.GP64()
		a.MOVQ(from, p)
		for r := range g {
			for s := range g[r] {
				g[r][s] = a.vec()
				a.load(in.at(p, s, 0), g[r][s], masked)
			}
			a.ADDQ(in.three, p)
		}
		a.MOVQ(to, p)
		for r := range 4 {
			t := g[0] // row r of G·w
			switch r {
			case 1, 2:
				for s := range t {
					t[s] = a.vec()
					a.VADDPS(g[2][s], g[0][s], t[s])
					if r == 1 {
						a.VADDPS(g[1][s], t[s], t[s])
					} else {
						a.VSUBPS(g[1][s], t[s], t[s])
					}
					a.VMULPS(half, t[s], t[s])
				}
			case 3:
				t = g[2]
			}
			a.store(t[0], out.at(p, 0, 0), masked)
			a.store(t[2], out.at(p, 3, 0), masked)
			e, f := a.vec(), a.vec()
			a.VADDPS(t[2], t[0], e)
			a.VSUBPS(t[1], e, f)
			a.VADDPS(t[1], e, e)
			a.VMULPS(half, e, e)
			a.VMULPS(half, f, f)
			a.store(e, out.at(p, 1, 0), masked)
			a.store(f, out.at(p, 2, 0), masked)
			a.LEAQ(indexed(p, out.one, 4), p)
		}
		a.ADDQ(ldW, from)
		a.ADDQ(ldU, to)
		a.countDown(n, loop)
	})
	a.end()
}

// winogradWeightsGrad computes Gᵀ·du·G of every pair of channels.
func winogradWeightsGrad(a *asm) {
	a.begin("WinogradWeightsGrad", "func(dw *float32, place int, du *float32, plane, n int)")
	dw, du, left, half := a.arg("dw"), a.arg("du"), a.arg("n"), a.half()
	out, in := a.spaces("place"), a.spaces("plane")
	// fold sets t0 … t2 to Gᵀ·t: t0 + ½·(t1 + t2), ½·(t1 − t2), ½·(t1 + t2) + t3.
	fold := func(t []reg.VecVirtual) {
		e := a.vec()
		a.VADDPS(t[2], t[1], e)
		a.VMULPS(half, e, e)
		a.VSUBPS(t[2], t[1], t[1])
		a.VMULPS(half, t[1], t[1])
		a.VADDPS(e, t[0], t[0])
		a.VADDPS(t[3], e, t[2])
	}
	a.strips([]int{1}, left, []reg.GPVirtual{dw, du}, func(_ int, masked bool) {
		var q [3][4]reg.VecVirtual // Gᵀ·du
		p := a.GP64()
		for s := range 4 {
			t := a.vecs(4)
			a.MOVQ(du, p)
			if s > 0 {
				a.LEAQ(in.at(du, s, 0), p)
			}
			for r := range t {
				a.load(at(p, 0), t[r], masked)
				a.LEAQ(indexed(p, in.one, 4), p)
			}
			fold(t)
			for r := range q {
				q[r][s] = t[r]
			}
		}
		a.MOVQ(dw, p)
		for _, t := range q {
			fold(t[:])
			for s := range 3 {
				a.store(t[s], out.at(p, s, 0), masked)
			}
			a.ADDQ(out.three, p)
		}
	})
	a.end()
}
