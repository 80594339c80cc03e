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

// mmaShape is a shape of mma.sync: D = A·B + C, A [16][K], B [K][8], C and D [16][8].
type mmaShape int

// The shapes, named after the depth K and the type of A and B. C and D are f32.
const (
	m16n8k8TF32 mmaShape = iota
	m16n8k16BF16
)

// depth returns the columns of A, which are the rows of B.
func (s mmaShape) depth() int {
	if s == m16n8k8TF32 {
		return 8
	}
	return 16
}

// a returns which element of A a lane holds in its element i: 4 of tf32, one a register, or 8 of bf16, two a register,
// the first in the low half. (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "… mma.m16n8k16".)
func (s mmaShape) a(lane, i int) (row, column int) {
	group, thread := lane>>2, lane&3
	if s == m16n8k8TF32 {
		return group + 8*(i&1), thread + 4*(i>>1)
	}
	return group + 8*(i>>1&1), 2*thread + i&1 + 8*(i>>2)
}

// b returns which element of B a lane holds in its element i: 2 of tf32 or 4 of bf16.
func (s mmaShape) b(lane, i int) (row, column int) {
	group, thread := lane>>2, lane&3
	if s == m16n8k8TF32 {
		return thread + 4*i, group
	}
	return 2*thread + i&1 + 8*(i>>1), group
}

// c returns which element of C, and of D, a lane holds in its register i of 4.
func (mmaShape) c(lane, i int) (row, column int) { return lane>>2 + 8*(i>>1), 2*(lane&3) + i&1 }

// matrixElement returns which element of an 8×8 matrix of 16-bit elements ldmatrix puts into half i of a lane's
// register, 0 the low half, 1 the high one. The addresses of matrix m's rows come from the lanes 8m … 8m+7. With
// .trans, lanes get columns in place of rows.
func matrixElement(lane, i int, trans bool) (row, column int) {
	row, column = lane>>2, 2*(lane&3)+i
	if trans {
		row, column = column, row
	}
	return row, column
}

const matrixRowBytes = 16 // 8 elements of 16 bits

// loadMatrix decodes ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 {r0, r1, r2, r3}, [rows].
func (d *decoder) loadMatrix() (action, error) {
	trans := d.Opcode == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	if !trans && d.Opcode != "ldmatrix.sync.aligned.m8n8.x4.shared.b16" {
		return nil, errUnknown
	}
	if err := d.count(2); err != nil {
		return nil, err
	}
	to, err := d.registersOf(d.operands[0], 4, types["b32"])
	if err != nil {
		return nil, err
	}
	base, narrow, offset, err := d.pointer(d.operands[1], shared)
	return func(w *warp, mask uint32) {
		if mask != all {
			w.fail(^mask, "is not in the warp's ldmatrix: only the lanes %08x are", mask)
			return
		}
		w.locate(base, narrow, offset)
		w.traffic(shared, mask, matrixRowBytes, false)
		var rows [warpLanes][]byte
		for l := range rows {
			if rows[l] = w.bytesAt(shared, l, w.addresses[l], matrixRowBytes); rows[l] == nil {
				return
			}
		}
		for m, r := range to {
			for l := range warpLanes {
				var v uint64
				for i := range 2 {
					row, column := matrixElement(l, i, trans)
					v |= read(rows[8*m+row][2*column:][:2]) << (16 * i)
				}
				w.registers[r][l] = v
			}
		}
	}, err
}
