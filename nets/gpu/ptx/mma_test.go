package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func termsOf(numbers ...float32) (t terms) {
	for i, x := range numbers {
		t.set(i, math.Float32bits(x))
	}
	return t
}

// Sums by hand, after section 4 of MMA-Sim's paper: what is cut, where, and in which halves.
func TestSumByHand(t *testing.T) {
	inf := float32(math.Inf(1))
	ones := func(n int, x float32) (all []float32) {
		for range n {
			all = append(all, x)
		}
		return all
	}
	for _, c := range []struct {
		name        string
		c           float32
		x, y        []float32
		sm80, sm90  float32
		negativeToo bool // with c and x negated the sum is
	}{
		{"exact", 1, []float32{2, 3}, []float32{5, 7}, 32, 32, true},
		// 2^-24 is the last bit behind 1 that 8.x keeps, 2^-25 that of 9.0; float32 keeps 2^-23.
		{"two of 2^-24", 1, []float32{0x1p-12, 0x1p-12}, []float32{0x1p-12, 0x1p-12}, 1 + 0x1p-23, 1 + 0x1p-23, true},
		{"four of 2^-25", 1, ones(4, 0x1p-12), ones(4, 0x1p-13), 1, 1 + 0x1p-23, true},
		{"eight of 2^-26", 1, ones(8, 0x1p-13), ones(8, 0x1p-13), 1, 1, true},
		// Every half of 8.x is cut to float32: three of 2^-24 in the first one, and one in the second, lose two.
		{
			"halves", 1,
			[]float32{0x1p-12, 0x1p-12, 0x1p-12, 0, 0x1p-12},
			ones(5, 0x1p-12),
			1 + 0x1p-23, 1 + 0x1p-22, true,
		},
		// 1.5·1.5 is 2.25 with exponent 0: 8.x keeps 2^-24, which it would lose behind the exponent 1.
		{
			"a product is not normalised", 0x1p-24,
			[]float32{1.5, 0x1p-12, 0x1p-12, 0x1p-12},
			[]float32{1.5, 0x1p-12, 0x1p-12, 0x1p-12},
			2.25 + 0x1p-22, 2.25 + 0x1p-22, false,
		},
		{"the sum is cut", -0x1p-24, []float32{1}, []float32{1}, 1 - 0x1p-24, 1 - 0x1p-24, true},
		{"cancellation", -1, []float32{1, 0x1p-13}, []float32{1, 0x1p-13}, 0, 0, false},
		{"no negative zero", float32(math.Copysign(0, -1)), []float32{0}, []float32{-1}, 0, 0, false},
		// A zero has the exponent −126, and a product with it that and its factor's.
		{"zero has an exponent", 0, []float32{0, 0x1p-13}, []float32{0x1p126, 0x1p-13}, 0, 0, false},
		{"subnormal c", 0x1p-149, []float32{0x1p-100}, []float32{0x1p-49}, 0x1p-148, 0x1p-148, true},
		{"below float32", 0, []float32{0x1p-75, 0x1p-75}, []float32{0x1p-75, 0x1p-75}, 0x1p-149, 0x1p-149, true},
		{"largest", math.MaxFloat32, []float32{0x1p100}, []float32{0x1p3}, math.MaxFloat32, math.MaxFloat32, true},
		{"overflow", math.MaxFloat32, []float32{0x1p100}, []float32{0x1p4}, inf, inf, true},
		{"infinity", 1, []float32{inf}, []float32{2}, inf, inf, true},
	} {
		for sign := range 2 {
			x, y, start, want := termsOf(c.x...), termsOf(c.y...), c.c, [2]float32{c.sm80, c.sm90}
			for k := len(c.x); k < 8; k++ { // the other products are 0·0, not terms without exponent
				x.set(k, 0)
				y.set(k, 0)
			}
			if sign == 1 {
				if !c.negativeToo {
					continue
				}
				for k, v := range c.x {
					x.set(k, math.Float32bits(-v))
				}
				start, want = -start, [2]float32{-want[0], -want[1]}
			}
			for i, arch := range []int{80, 90} {
				if got := tensorCore(arch, start, &x, &y, 8); math.Float32bits(got) != math.Float32bits(want[i]) {
					t.Errorf("%s, sm_%d, c = %g: got %.10g, want %.10g", c.name, arch, start, got, want[i])
				}
			}
		}
	}
}

// sumKinds are KINDS of testdata/mma_sim.py.
var sumKinds = [][7]int{
	{120, 10, 120, 10, 120, 10, 0},
	{60, 140, 60, 140, 60, 140, 0},
	{127, 1, 127, 1, 127, 1, 0},
	{120, 8, 120, 8, 120, 8, 2},
	{0, 3, 200, 54, 0, 100, 5},
	{0, 256, 0, 256, 0, 256, 0},
	{50, 20, 50, 20, 0, 8, 3},
	{180, 11, 180, 11, 240, 15, 0},
	{110, 8, 112, 8, 128, 4, 0},
	{0, 2, 250, 5, 100, 4, 3},
}

// word and made are those of testdata/mma_sim.py.
func word(n, i int) uint32 {
	x := uint32(n*1024+i) * 0x9E3779B1
	x = (x ^ x>>15) * 0x2C1B3C6D
	x = (x ^ x>>13) * 0x85EBCA6B
	return x ^ x>>16
}

func made(n, i, lowest, span, zeros int) uint32 {
	w, v := word(n, 2*i), word(n, 2*i+1)
	if zeros > 0 && int(v)%zeros == 0 {
		return w & (1 << 31)
	}
	significand := w >> 3 & 0x7fffff
	switch w % 8 {
	case 0:
		significand = 0x7fffff
	case 1:
		significand = 0
	}
	return w&(1<<31) | min(uint32(lowest)+v>>8%uint32(span), 255)<<23 | significand
}

// MMA-Sim computes the same bits. Its authors have compared it with cards.
func TestSumOfMMASim(t *testing.T) {
	compared := 0
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/mma_sim.csv"))(t))) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		n, arch := must.Get(strconv.Atoi(fields[0]))(t), must.Get(strconv.Atoi(fields[1]))(t)
		kind := sumKinds[n%len(sumKinds)]
		depth, kept := 8, uint32(0xffffe000)
		if fields[2] == "bf16" {
			depth, kept = 16, 0xffff0000
		}
		for at, text := range strings.Fields(fields[3]) {
			var x, y terms
			for k := range depth {
				x.set(k, made(n, at/8*16+k, kind[0], kind[1], kind[6])&kept)
				y.set(k, made(n, 256+k*8+at%8, kind[2], kind[3], kind[6])&kept)
			}
			c := math.Float32frombits(made(n, 384+at, kind[4], kind[5], kind[6]))
			want := must.Get(strconv.ParseUint(text, 16, 32))(t)
			if got := float32Bits(tensorCore(arch, c, &x, &y, depth)); got != want {
				t.Fatalf("matrix %d, sm_%d, %s, element %d: got %08x, want %08x", n, arch, fields[2], at, got, want)
			}
			compared++
		}
	}
	if compared < 10000 {
		t.Errorf("%d sums, want 10000", compared)
	}
}

// vectorsText loads 10 words per lane from 64 bytes of its own, and stores 4 results in the last ones.
const vectorsText = `.version 7.8
.target sm_80
.address_size 64
.visible .entry vectors(
	.param .align 8 .b8 vectors_param_0[8]
)
{
	.shared .align 16 .b8 rows[512];
	.reg .b32 %r<20>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [vectors_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 64;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3];
	ld.global.v2.u32 {%r8,%r9}, [%rd3+16];
	ld.global.v2.f32 {%f0,%f1}, [%rd3+24];
	ld.global.v2.f32 {%f2,%f3}, [%rd3+32];
	OPERATION
	st.global.v4.b32 [%rd3+48], {RESULTS};
	ret;
}`

// loadRows begins an ldmatrix of rows of 4 words, which every lane stores.
const loadRows = `mov.u32 %r2, rows;
	shl.b32 %r3, %r1, 4;
	add.s32 %r2, %r2, %r3;
	st.shared.v4.u32 [%r2], {%r4,%r5,%r6,%r7};
	bar.sync 0;
	ldmatrix.sync.aligned.m8n8.x4`

// The tests of ZLUDA (https://github.com/vosen/ZLUDA at 8a7931b, MIT or Apache 2.0) have PTX programs with results, and
// ask NVIDIA's driver for the same. zluda.csv has those of mma_m16n8k16_f32_bf16_bf16_f32, ldmatrix and ldmatrix_trans,
// in hexadecimal, a line a lane: the operands, of mma the words of A, B and C, of ldmatrix those of the row whose
// address the lane passes; and the results.
func TestZLUDA(t *testing.T) {
	compared := map[string]int{}
	text := string(must.Get(os.ReadFile("testdata/zluda.csv"))(t))
	for lines := range slices.Chunk(strings.Split(strings.TrimSpace(text), "\n"), warpLanes) {
		var buffer []byte
		var want [warpLanes][]string
		name, _, _ := strings.Cut(lines[0], ",")
		for l, line := range lines {
			fields := strings.Split(line, ",")
			words := strings.Fields(fields[1])
			for i := range 16 {
				var w uint64
				if i < len(words) {
					w = must.Get(strconv.ParseUint(words[i], 16, 32))(t)
				}
				buffer = binary.LittleEndian.AppendUint32(buffer, uint32(w))
			}
			want[l] = strings.Fields(fields[2])
		}
		operation, stored := map[string]string{
			"mma": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " +
				"{%f0,%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%f0,%f1,%f2,%f3};",
			"ldmatrix.x2":       loadRows + ".shared.b16 {%r4,%r5,%r6,%r7}, [%r2];", // the other two matrices are 0
			"ldmatrix.x4.trans": loadRows + ".trans.shared.b16 {%r4,%r5,%r6,%r7}, [%r2];",
		}[name], "%r4,%r5,%r6,%r7"
		if name == "mma" {
			stored = "%f0,%f1,%f2,%f3"
		}
		source := strings.NewReplacer("OPERATION", operation, "RESULTS", stored).Replace(vectorsText)
		k := must.Get(Parse(source))(t).Kernels[0]
		must.Get(k.Run(Launch{
			Grid: [2]int{1, 1}, Threads: warpLanes, Args: binary.LittleEndian.AppendUint64(nil, at),
		}, Memory{{at, buffer}}))(t)
		for l, words := range want {
			for i, text := range words {
				got := strconv.FormatUint(uint64(binary.LittleEndian.Uint32(buffer[64*l+48+4*i:])), 16)
				if got != text {
					t.Fatalf("%s, lane %d, register %d: got %s, want %s", name, l, i, got, text)
				}
				compared[name]++
			}
		}
	}
	if compared["mma"] != 256 || compared["ldmatrix.x2"] != 64 || compared["ldmatrix.x4.trans"] != 128 {
		t.Errorf("compared %v", compared)
	}
}

// The tables are typed from the figures of the PTX ISA, "Matrix Fragments for mma.m16n8k8", ".m16n8k16" and
// "ldmatrix": by row of the matrix, who holds the elements of its columns.

type owner struct{ lane, i int }

// tf32A is A of m16n8k8 with .tf32: rows 0 and 1, 7 and 8, 9 and 15.
var tf32A = map[int][]owner{
	0:  {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 2}, {1, 2}, {2, 2}, {3, 2}},
	1:  {{4, 0}, {5, 0}, {6, 0}, {7, 0}, {4, 2}, {5, 2}, {6, 2}, {7, 2}},
	7:  {{28, 0}, {29, 0}, {30, 0}, {31, 0}, {28, 2}, {29, 2}, {30, 2}, {31, 2}},
	8:  {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 3}, {1, 3}, {2, 3}, {3, 3}},
	9:  {{4, 1}, {5, 1}, {6, 1}, {7, 1}, {4, 3}, {5, 3}, {6, 3}, {7, 3}},
	15: {{28, 1}, {29, 1}, {30, 1}, {31, 1}, {28, 3}, {29, 3}, {30, 3}, {31, 3}},
}

// tf32B is B of m16n8k8 with .tf32, all rows.
var tf32B = map[int][]owner{
	0: {{0, 0}, {4, 0}, {8, 0}, {12, 0}, {16, 0}, {20, 0}, {24, 0}, {28, 0}},
	1: {{1, 0}, {5, 0}, {9, 0}, {13, 0}, {17, 0}, {21, 0}, {25, 0}, {29, 0}},
	2: {{2, 0}, {6, 0}, {10, 0}, {14, 0}, {18, 0}, {22, 0}, {26, 0}, {30, 0}},
	3: {{3, 0}, {7, 0}, {11, 0}, {15, 0}, {19, 0}, {23, 0}, {27, 0}, {31, 0}},
	4: {{0, 1}, {4, 1}, {8, 1}, {12, 1}, {16, 1}, {20, 1}, {24, 1}, {28, 1}},
	5: {{1, 1}, {5, 1}, {9, 1}, {13, 1}, {17, 1}, {21, 1}, {25, 1}, {29, 1}},
	6: {{2, 1}, {6, 1}, {10, 1}, {14, 1}, {18, 1}, {22, 1}, {26, 1}, {30, 1}},
	7: {{3, 1}, {7, 1}, {11, 1}, {15, 1}, {19, 1}, {23, 1}, {27, 1}, {31, 1}},
}

// bf16A is A of m16n8k16 with .bf16: rows 0, 3, 8 and 15, as lane.element.
var bf16A = map[int][]owner{
	0:  owners("0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1 0.4 0.5 1.4 1.5 2.4 2.5 3.4 3.5"),
	3:  owners("12.0 12.1 13.0 13.1 14.0 14.1 15.0 15.1 12.4 12.5 13.4 13.5 14.4 14.5 15.4 15.5"),
	8:  owners("0.2 0.3 1.2 1.3 2.2 2.3 3.2 3.3 0.6 0.7 1.6 1.7 2.6 2.7 3.6 3.7"),
	15: owners("28.2 28.3 29.2 29.3 30.2 30.3 31.2 31.3 28.6 28.7 29.6 29.7 30.6 30.7 31.6 31.7"),
}

func owners(text string) (row []owner) {
	for field := range strings.FieldsSeq(text) {
		var o owner
		if _, err := fmt.Sscanf(field, "%d.%d", &o.lane, &o.i); err != nil {
			panic(err)
		}
		row = append(row, o)
	}
	return row
}

// bf16B is B of m16n8k16 with .bf16: the first row of every element, the last row, and two between.
var bf16B = map[int][]owner{
	0:  {{0, 0}, {4, 0}, {8, 0}, {12, 0}, {16, 0}, {20, 0}, {24, 0}, {28, 0}},
	1:  {{0, 1}, {4, 1}, {8, 1}, {12, 1}, {16, 1}, {20, 1}, {24, 1}, {28, 1}},
	2:  {{1, 0}, {5, 0}, {9, 0}, {13, 0}, {17, 0}, {21, 0}, {25, 0}, {29, 0}},
	7:  {{3, 1}, {7, 1}, {11, 1}, {15, 1}, {19, 1}, {23, 1}, {27, 1}, {31, 1}},
	8:  {{0, 2}, {4, 2}, {8, 2}, {12, 2}, {16, 2}, {20, 2}, {24, 2}, {28, 2}},
	9:  {{0, 3}, {4, 3}, {8, 3}, {12, 3}, {16, 3}, {20, 3}, {24, 3}, {28, 3}},
	15: {{3, 3}, {7, 3}, {11, 3}, {15, 3}, {19, 3}, {23, 3}, {27, 3}, {31, 3}},
}

// f32C is C and D of both shapes: rows 0, 1, 7, 8 and 15.
var f32C = map[int][]owner{
	0:  {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}},
	1:  {{4, 0}, {4, 1}, {5, 0}, {5, 1}, {6, 0}, {6, 1}, {7, 0}, {7, 1}},
	7:  {{28, 0}, {28, 1}, {29, 0}, {29, 1}, {30, 0}, {30, 1}, {31, 0}, {31, 1}},
	8:  {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 2}, {3, 3}},
	15: {{28, 2}, {28, 3}, {29, 2}, {29, 3}, {30, 2}, {30, 3}, {31, 2}, {31, 3}},
}

// matrixRows is what ldmatrix hands out, element 0 being the low half of a register: rows 0, 1, 2 and 7. With
// .trans these are columns.
var matrixRows = map[int][]owner{
	0: {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}},
	1: {{4, 0}, {4, 1}, {5, 0}, {5, 1}, {6, 0}, {6, 1}, {7, 0}, {7, 1}},
	2: {{8, 0}, {8, 1}, {9, 0}, {9, 1}, {10, 0}, {10, 1}, {11, 0}, {11, 1}},
	7: {{28, 0}, {28, 1}, {29, 0}, {29, 1}, {30, 0}, {30, 1}, {31, 0}, {31, 1}},
}

func TestFragments(t *testing.T) {
	for _, c := range []struct {
		name  string
		table map[int][]owner
		place func(lane, i int) (row, column int)
	}{
		{"A of tf32", tf32A, m16n8k8TF32.a},
		{"B of tf32", tf32B, m16n8k8TF32.b},
		{"C of tf32", f32C, m16n8k8TF32.c},
		{"A of bf16", bf16A, m16n8k16BF16.a},
		{"B of bf16", bf16B, m16n8k16BF16.b},
		{"C of bf16", f32C, m16n8k16BF16.c},
		{"ldmatrix", matrixRows, func(lane, i int) (int, int) { return matrixElement(lane, i, false) }},
		{"ldmatrix.trans", matrixRows, func(lane, i int) (int, int) {
			row, column := matrixElement(lane, i, true)
			return column, row
		}},
	} {
		for row, owners := range c.table {
			for column, o := range owners {
				if r, k := c.place(o.lane, o.i); r != row || k != column {
					t.Errorf("%s: element %d of lane %d: got row %d, column %d, want %d, %d",
						c.name, o.i, o.lane, r, k, row, column)
				}
			}
		}
	}
}
