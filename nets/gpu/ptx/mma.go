package ptx

import (
	"math"
)

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

// terms are the numbers of a row of A or a column of B, and their exponents.
type terms struct {
	number   [16]float64
	exponent [16]int32
}

func (t *terms) set(i int, bits uint32) {
	x := math.Float32frombits(bits)
	t.number[i&15], t.exponent[i&15] = float64(x), exponent(x)
}

// spread puts the numbers in a register of A or B where they belong: one tf32, whose 13 low bits do not count, or two
// bf16.
func (s mmaShape) spread(m *[16]terms, from *lanes, at *[warpLanes][2]int) {
	for l, v := range from {
		to, i := &m[at[l][0]&15], at[l][1]
		if s == m16n8k8TF32 {
			to.set(i, uint32(v)&^0x1fff)
		} else {
			to.set(i, uint32(v)<<16)
			to.set(i+1, uint32(v)&^0xffff)
		}
	}
}

// exponent returns the exponent of a number, −126 for zero and subnormal ones.
func exponent(x float32) int32 { return max(int32(math.Float32bits(x)>>23&0xff), 1) - 127 }

// sum returns c + Σ x[k] y[k], from ≤ k < to, as a tensor core computes it (MMA-Sim, arXiv 2511.10909). It cuts c and
// every product towards zero to so many bits behind the point of the largest exponent among them; a product has the sum
// of its factors' exponents. It adds these exactly and cuts the sum towards zero to float32; zero has no sign.
func sum(c float32, x, y *terms, from, to, bits int) float32 {
	largest := exponent(c)
	for k := from; k < to; k++ {
		largest = max(largest, x.exponent[k&15]+y.exponent[k&15])
	}
	scale := power(int32(bits) - largest)
	total := int64(float64(c) * scale)
	all := float64(c)
	for k := from; k < to; k++ {
		p := x.number[k&15] * y.number[k&15] // exact
		all += p
		total += int64(p * scale)
	}
	if all-all != 0 { // an operand is infinite or NaN
		return float32(all)
	}
	return towardsZero(float64(total) * power(largest-int32(bits)))
}

// power returns 2^n of a normal float64.
func power(n int32) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// towardsZero cuts a number to float32; from 2^128 on it is infinite.
func towardsZero(x float64) float32 {
	if size := math.Abs(x); size < 0x1p-126 {
		return float32(float64(int64(x*0x1p149)) * 0x1p-149)
	}
	return float32(math.Float64frombits(math.Float64bits(x) &^ (1<<29 - 1)))
}

// tensorCore adds up as the tensor cores of a compute capability do: those of 8.x take the products in two halves, one
// after the other.
func tensorCore(arch int, c float32, x, y *terms, depth int) float32 {
	if arch >= 90 {
		return sum(c, x, y, 0, depth, 25)
	}
	return sum(sum(c, x, y, 0, depth/2, 24), x, y, depth/2, depth, 24)
}

func (w *warp) multiply(s mmaShape, d, a, b, c []int32) {
	var left, right [16]terms // the rows of A and the columns of B
	at := &layouts[s]
	for i, r := range a {
		s.spread(&left, &w.registers[r], &at.a[i])
	}
	for i, r := range b {
		s.spread(&right, &w.registers[r], &at.b[i])
	}
	var sums [4]lanes
	for i, r := range c {
		for l, v := range &w.registers[r] {
			x, y := &left[at.c[i][l][0]&15], &right[at.c[i][l][1]&15]
			sums[i][l] = float32Bits(tensorCore(w.launch.Arch, float(v), x, y, s.depth()))
		}
	}
	for i, r := range d {
		w.registers[r] = sums[i]
	}
}
