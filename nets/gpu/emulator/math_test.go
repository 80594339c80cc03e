package emulator

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/ptx"
)

// mathText computes what math_bits of testdata/math.cu computes: of two numbers, in words beside them.
const mathText = `.version 7.8
.target sm_80
.address_size 64
.visible .entry bits(
	.param .align 8 .b8 bits_param_0[8]
)
{
	.reg .b16 %rs<2>;
	.reg .b32 %r<7>;
	.reg .f32 %f<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [bits_param_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mad.lo.s32 %r3, %r2, 64, %r1;
	mul.wide.u32 %rd2, %r3, 28;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	ld.global.f32 %f2, [%rd3+4];
	max.f32 %f3, %f1, %f2;
	max.NaN.f32 %f4, %f1, %f2;
	cvt.rn.bf16.f32 %rs1, %f1;
	cvt.u32.u16 %r4, %rs1;
	cvt.rn.bf16x2.f32 %r5, %f1, %f2;
	cvt.rna.tf32.f32 %r6, %f1;
	st.global.f32 [%rd3+8], %f3;
	st.global.f32 [%rd3+12], %f4;
	st.global.u32 [%rd3+16], %r4;
	st.global.u32 [%rd3+20], %r5;
	st.global.u32 [%rd3+24], %r6;
	ret;
}`

// The functions of the prelude that the emulator has a version of give the bits that package ptx gives, and so what
// NVIDIA's assembler gives: NaN, infinities, zeros, ties and subnormal numbers too.
func TestMathBits(t *testing.T) {
	special := []uint32{
		0, 1 << 31, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
		0x3f808000, 0x3f818000, 0xbf808000, 0x3f801000, 0xbf801000, 0x3f800fff, 0x7f7fefff, 0x7f7f8000, // ties
		0x7fc00000, 0xffc00000, 0x7fffffff, 0x7f800001, 0xff801fff, 0x7fbfffff, 0xffc01234, // NaN
	}
	const blocks, threads = 64, 64
	buffer := make([]byte, 0, 28*blocks*threads)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range blocks * threads {
		x, y := r.Uint32(), r.Uint32()
		if i < len(special)*len(special) {
			x, y = special[i/len(special)], special[i%len(special)]
		}
		buffer = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(buffer, x), y)
		buffer = append(buffer, make([]byte, 20)...)
	}
	cmd := command(t, false, "math_bits")
	cmd.Stdin = bytes.NewReader(buffer)
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	const at = 0x10000
	_, err = must.Get(ptx.Parse(mathText))(t).Kernels[0].Run(ptx.Launch{
		Grid: [2]int{blocks, 1}, Threads: threads, Args: binary.LittleEndian.AppendUint64(nil, at),
	}, ptx.Memory{{At: at, Bytes: buffer}})
	must.OK(t, err)
	if len(got) != len(buffer) {
		t.Fatalf("%d bytes, want %d", len(got), len(buffer))
	}
	for i := 0; i < len(got); i += 4 {
		word := func(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
		if g, w := word(got, i), word(buffer, i); g != w {
			pair := i / 28 * 28
			t.Fatalf("result %d of %08x and %08x: got %08x, want %08x",
				i%28/4-2, word(buffer, pair), word(buffer, pair+4), g, w)
		}
	}
}
