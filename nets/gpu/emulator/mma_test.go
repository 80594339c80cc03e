package emulator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/ptx"
)

// mmaText loads the fragments of an mma, [32,4] of A, [32,2] of B and [32,4] of C, side by side, and stores those of D
// over those of C.
const mmaText = `.version 7.8
.target sm_80
.address_size 64
.visible .entry mma(
	.param .align 8 .b8 mma_param_0[8]
)
{
	.reg .b32 %r<20>;
	.reg .f32 %f<10>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [mma_param_0];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 1280;
	add.s64 %rd3, %rd1, %rd2;
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd4, %r2, 16;
	add.s64 %rd5, %rd3, %rd4;
	mul.wide.u32 %rd6, %r2, 8;
	add.s64 %rd7, %rd3, %rd6;
	ld.global.u32 %r3, [%rd5];
	ld.global.u32 %r4, [%rd5+4];
	ld.global.u32 %r5, [%rd5+8];
	ld.global.u32 %r6, [%rd5+12];
	ld.global.u32 %r7, [%rd7+512];
	ld.global.u32 %r8, [%rd7+516];
	ld.global.f32 %f0, [%rd5+768];
	ld.global.f32 %f1, [%rd5+772];
	ld.global.f32 %f2, [%rd5+776];
	ld.global.f32 %f3, [%rd5+780];
	mma.sync.aligned.OPCODE {%f0,%f1,%f2,%f3}, {%r3,%r4,%r5,%r6}, {%r7,%r8}, {%f0,%f1,%f2,%f3};
	st.global.f32 [%rd5+768], %f0;
	st.global.f32 [%rd5+772], %f1;
	st.global.f32 [%rd5+776], %f2;
	st.global.f32 [%rd5+780], %f3;
	ret;
}`

// Tensor cores of 8.x and of 9.0 add up numbers of all sizes as package ptx says, whose tests compare it with MMA-Sim.
func TestMMA(t *testing.T) {
	const words, count = 320, 4000 // of one mma; mma
	for _, c := range []struct{ name, opcode string }{
		{"mma_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32"},
		{"mma_bf16", "m16n8k16.row.col.f32.bf16.bf16.f32"},
	} {
		buffer := make([]byte, 4*words*count)
		r := rand.New(rand.NewPCG(3, 4))
		for i := range words * count {
			binary.LittleEndian.PutUint32(buffer[4*i:], mmaWord(r, i/words, i%words))
		}
		for _, arch := range []int{80, 90} {
			t.Run(fmt.Sprintf("%s/sm_%d", c.name, arch), func(t *testing.T) {
				cmd := command(t, false, c.name, fmt.Sprintf("ROLLCALL_EMULATOR_CAPABILITY=%d.0", arch/10))
				cmd.Stdin = bytes.NewReader(buffer)
				got, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %s", err, got)
				}
				const at = 0x10000
				want := bytes.Clone(buffer)
				text := strings.Replace(mmaText, "OPCODE", c.opcode, 1)
				_, err = must.Get(ptx.Parse(text))(t).Kernel("mma").Run(ptx.Launch{
					Grid: [2]int{count, 1}, Threads: 32, Args: binary.LittleEndian.AppendUint64(nil, at), Arch: arch,
				}, ptx.Memory{{At: at, Bytes: want}})
				must.OK(t, err)
				for i := range count {
					for l := range 128 {
						g := binary.LittleEndian.Uint32(got[512*i+4*l:])
						w := binary.LittleEndian.Uint32(want[4*words*i+768+4*l:])
						if g != w {
							t.Fatalf("mma %d, lane %d, register %d: got %08x, want %08x", i, l/4, l%4, g, w)
						}
					}
				}
			})
		}
	}
}

// The emulator gives the results that ZLUDA's tests ask NVIDIA's driver for; TestZLUDA of package ptx says which.
func TestZLUDA(t *testing.T) {
	type lane struct{ operands, results []uint32 }
	lanes := map[string][]lane{}
	words := func(field string) (all []uint32) {
		for text := range strings.FieldsSeq(field) {
			all = append(all, uint32(must.Get(strconv.ParseUint(text, 16, 32))(t)))
		}
		return all
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile("../ptx/testdata/zluda.csv"))(t))) {
		fields := strings.Split(line, ",")
		lanes[fields[0]] = append(lanes[fields[0]], lane{words(fields[1]), words(fields[2])})
	}
	compare := func(name, driven string, input []byte, place func(l, i int) int) {
		cmd := command(t, false, driven)
		cmd.Stdin = bytes.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		for l, lane := range lanes[name] {
			for i, want := range lane.results {
				if got := binary.LittleEndian.Uint32(out[4*place(l, i):]); got != want {
					t.Fatalf("%s, lane %d, register %d: got %08x, want %08x", name, l, i, got, want)
				}
			}
		}
	}
	var fragments []byte
	for warp := range slices.Chunk(lanes["mma"], 32) {
		for _, part := range [][2]int{{0, 4}, {4, 6}, {6, 10}} { // A, B and C
			for _, l := range warp {
				fragments, _ = binary.Append(fragments, binary.LittleEndian, l.operands[part[0]:part[1]])
			}
		}
	}
	compare("mma", "mma_bf16", fragments, func(l, i int) int { return 4*l + i })
	for name, form := range map[string]int{"ldmatrix.x2": 1, "ldmatrix.x4.trans": 5} {
		var rows []byte
		for _, l := range lanes[name] {
			rows, _ = binary.Append(rows, binary.LittleEndian, l.operands)
		}
		rows = append(rows, make([]byte, 512-len(rows))...) // x2 has two matrices
		compare(name, "ldmatrix", rows, func(l, i int) int { return 128*form + 4*l + i })
	}
}

// mmaKinds are the biased exponents of A and B, and of C: the smallest and how many there are.
var mmaKinds = []struct {
	product, c   [2]int
	zeros, large bool // every other number is zero; all are positive, and their significands nearly 2
}{
	{[2]int{120, 8}, [2]int{120, 8}, false, false},   // usual numbers
	{[2]int{120, 8}, [2]int{120, 8}, true, false},    //
	{[2]int{60, 130}, [2]int{60, 130}, false, false}, // widely ranged
	{[2]int{127, 1}, [2]int{127, 1}, false, false},   // equal exponents
	{[2]int{127, 1}, [2]int{120, 12}, false, true},   // the largest sums
	{[2]int{0, 4}, [2]int{0, 8}, false, false},       // subnormal numbers
	{[2]int{50, 20}, [2]int{0, 20}, false, false},    // results about 2^-126
	{[2]int{50, 4}, [2]int{0, 1}, true, false},       // results about 2^-149
	{[2]int{183, 9}, [2]int{246, 9}, false, false},   // results about 2^128
	{[2]int{255, 1}, [2]int{0, 1}, true, false},      // infinities, NaN and zeros
	{[2]int{0, 256}, [2]int{0, 256}, false, false},   // all bits
}

// mmaWord draws word i of an mma: a fragment of A, B or, from 192 on, C. Those of A and B are two bf16, or one tf32.
func mmaWord(r *rand.Rand, mma, i int) uint32 {
	kind := mmaKinds[mma%len(mmaKinds)]
	exponents := kind.product
	if i >= 192 {
		exponents = kind.c
	}
	w := r.Uint32()
	if kind.zeros && r.IntN(2) == 0 {
		return w & (1 << 31)
	}
	if kind.large {
		w = w&^0x80008000 | 0x7f007f
	}
	exponent := func() uint32 { return uint32(exponents[0] + r.IntN(exponents[1])) }
	w = w&0x807fffff | exponent()<<23
	if i < 192 {
		w = w&^0x7f80 | exponent()<<7
	}
	return w
}
