package ptx

import (
	"fmt"
	"math"
)

// InOrder adds products to c one after the other, each sum rounded to nearest even.
func InOrder(c float32, products []float32) float32 {
	for _, p := range products {
		c += p
	}
	return c
}

var shapes = map[string]Shape{
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  M16N8K8TF32,
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": M16N8K16BF16,
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
	shape, ok := shapes[d.in.Opcode]
	if !ok {
		return nil, fmt.Errorf("unknown form")
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

// halves returns the numbers in a register of A or B: one tf32, whose 13 low bits do not count, or two bf16.
func (s Shape) halves(v uint64) []float32 {
	if s == M16N8K8TF32 {
		return []float32{math.Float32frombits(uint32(v) &^ 0x1fff)}
	}
	return []float32{math.Float32frombits(uint32(v) << 16), math.Float32frombits(uint32(v) &^ 0xffff)}
}

func (w *warp) multiply(s Shape, d, a, b, c []int32) {
	var left, right [16][16]float32 // A, and B with its columns first
	perRegister := s.Depth() / 8
	for l := range warpLanes {
		for i, r := range a {
			for half, v := range s.halves(w.registers[r][l]) {
				row, column := s.A(l, i*perRegister+half)
				left[row][column] = v
			}
		}
		for i, r := range b {
			for half, v := range s.halves(w.registers[r][l]) {
				row, column := s.B(l, i*perRegister+half)
				right[column][row] = v
			}
		}
	}
	var products [16]float32
	var sums [4]lanes
	for l := range warpLanes {
		for i, r := range c {
			row, column := s.C(l, i)
			x, y := &left[row], &right[column]
			for k := range products {
				products[k] = x[k] * y[k]
			}
			sum := w.launch.Sum(math.Float32frombits(uint32(w.registers[r][l])), products[:s.Depth()])
			sums[i][l] = float32Bits(sum)
		}
	}
	for i, r := range d {
		w.registers[r] = sums[i]
	}
}
