package ptx

import (
	"math"
)

// inOrder adds products to c one after the other, each sum rounded to nearest even.
func inOrder(c float32, products []float32) float32 {
	for _, p := range products {
		c += p
	}
	return c
}

var shapes = map[string]mmaShape{
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  m16n8k8TF32,
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": m16n8k16BF16,
}

// registersOf decodes {r0, r1, …}.
func (d *decoder) registersOf(o operand, n int, t typ) (all []int32, err error) {
	elements, err := d.vector(o, n)
	if err != nil {
		return nil, err
	}
	for _, e := range elements {
		r, err := d.destination(e, t, false)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// multiply decodes mma.sync d, a, b, c.
func (d *decoder) multiply() (action, error) {
	shape, ok := shapes[d.Opcode]
	if !ok {
		return nil, errUnknown
	}
	if err := d.count(4); err != nil {
		return nil, err
	}
	var r [4][]int32
	for i, n := range []int{4, 4, 2, 4} {
		t := types["b32"]
		if i == 0 || i == 3 {
			t = types["f32"]
		}
		var err error
		if r[i], err = d.registersOf(d.operands[i], n, t); err != nil {
			return nil, err
		}
	}
	return func(w *warp, mask uint32) {
		if mask != all {
			w.fail(^mask, "is not in the warp's mma: only the lanes %08x are", mask)
			return
		}
		w.multiply(shape, r[0], r[1], r[2], r[3])
	}, nil
}

// positions says where the lanes hold the elements of A and B: for every register, the element that its low half, or
// all of it, stands for. The element of the high half is the next in the row of A, or in the column of B.
type positions struct {
	a [4][warpLanes][2]int
	b [2][warpLanes][2]int
	c [4][warpLanes][2]int
}

var layouts = func() (all [2]positions) {
	for s := range all {
		shape, perRegister := mmaShape(s), mmaShape(s).depth()/8
		for l := range warpLanes {
			for i := range all[s].a {
				row, column := shape.a(l, i*perRegister)
				all[s].a[i][l] = [2]int{row, column}
				row, column = shape.c(l, i)
				all[s].c[i][l] = [2]int{row, column}
			}
			for i := range all[s].b {
				row, column := shape.b(l, i*perRegister)
				all[s].b[i][l] = [2]int{column, row}
			}
		}
	}
	return all
}()

// spread puts the numbers in a register of A or B where they belong: one tf32, whose 13 low bits do not count, or two
// bf16.
func (s mmaShape) spread(m *[16][16]float32, from *lanes, at *[warpLanes][2]int) {
	for l, v := range from {
		to := m[at[l][0]&15][at[l][1]&15:]
		if s == m16n8k8TF32 {
			to[0] = math.Float32frombits(uint32(v) &^ 0x1fff)
		} else {
			to[0], to[1] = math.Float32frombits(uint32(v)<<16), math.Float32frombits(uint32(v)&^0xffff)
		}
	}
}

func (w *warp) multiply(s mmaShape, d, a, b, c []int32) {
	var left, right [16][16]float32 // A, and B with its columns first
	at := &layouts[s]
	for i, r := range a {
		s.spread(&left, &w.registers[r], &at.a[i])
	}
	for i, r := range b {
		s.spread(&right, &w.registers[r], &at.b[i])
	}
	var products [16]float32
	var sums [4]lanes
	for i, r := range c {
		for l, v := range &w.registers[r] {
			x, y := &left[at.c[i][l][0]&15], &right[at.c[i][l][1]&15]
			for k := range s.depth() {
				products[k&15] = x[k&15] * y[k&15]
			}
			sums[i][l] = float32Bits(w.launch.Sum(float(v), products[:s.depth()]))
		}
	}
	for i, r := range d {
		w.registers[r] = sums[i]
	}
}
