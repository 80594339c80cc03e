package ptx

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// small returns a kernel whose threads compute %r2 from %r1, their number, and write it to the buffer of its argument.
func small(t *testing.T, code string) *Kernel {
	t.Helper()
	m := must.Get(Parse(`.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 128 .b8 dynamic[];
.visible .entry small(
	.param .align 8 .b8 small_param_0[8]
)
{
	.reg .pred %p<10>;
	.reg .b16 %rs<10>;
	.reg .b32 %r<60>;
	.reg .f32 %f<60>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [small_param_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r3, dynamic;
	shl.b32 %r4, %r1, 2;
	add.s32 %r4, %r3, %r4; // the thread's word of shared memory
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
` + code + `
	st.global.u32 [%rd3], %r2;
	ret;
}`))(t)
	return m.Kernel("small")
}

const at = 0x10000 // where the buffer is

// results runs a kernel of n threads and returns what they wrote.
func results(t *testing.T, k *Kernel, threads int) ([]uint32, Counts, error) {
	t.Helper()
	buffer := make([]byte, 4*threads)
	counts, err := k.Run(Launch{
		Grid: [2]int{1, 1}, Threads: threads, Shared: 4096, Args: binary.LittleEndian.AppendUint64(nil, at),
		Traffic: true,
	}, Memory{{at, buffer}})
	words := make([]uint32, threads)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(buffer[4*i:])
	}
	return words, counts, err
}

// exchange copies words between shared memory and threads 1 and 2 warps apart.
const exchange = `
	st.shared.u32 [%r4], %r1;
	bar.sync 0;
	xor.b32 %r5, %r4, 128;
	ld.shared.u32 %r2, [%r5];`

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, code string
		threads    int
		want       func(thread int) uint32
	}{
		{"branches", `
	setp.lt.u32 %p1, %r1, 10;
	@%p1 bra $small;
	mov.u32 %r2, 7;
	bra.uni $end;
$small:
	mov.u32 %r2, 5;
$end:
	add.s32 %r2, %r2, 100;`, 40, func(i int) uint32 {
			if i < 10 {
				return 105
			}
			return 107
		}},
		{"a loop of as many turns as the thread's number", `
	mov.u32 %r2, 0;
	mov.u32 %r5, 0;
$next:
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $end;
	add.s32 %r5, %r5, 1;
	add.s32 %r2, %r2, %r5;
	bra.uni $next;
$end:
	add.s32 %r2, %r2, 0;`, 32, func(i int) uint32 { return uint32(i * (i + 1) / 2) }},
		{"a predicate of an inner block", `
	{
	.reg .pred inner;
	setp.gt.u32 inner, %r1, 3;
	mov.u32 %r2, 1;
	@!inner mov.u32 %r2, 2;
	}`, 8, func(i int) uint32 {
			if i > 3 {
				return 1
			}
			return 2
		}},
		{"halves apart", `
	mov.b64 %rd4, -4294967291;
	mov.b64 {%r5, %r6}, %rd4;
	mad.lo.s32 %r2, %r5, 10, %r6;`, 4, func(int) uint32 { return 49 }},
		{"guards", `
	setp.gt.u32 %p1, %r1, 3;
	mov.u32 %r2, 1;
	@%p1 mov.u32 %r2, 2;
	@!%p1 add.s32 %r2, %r2, 10;`, 8, func(i int) uint32 {
			if i > 3 {
				return 2
			}
			return 11
		}},
		{"registers are garbage", `mov.u32 %r2, %r9;`, 1, func(int) uint32 { return 1<<32 - 1 }},
		{"shared memory is garbage", `ld.shared.u32 %r2, [%r4];`, 1, func(int) uint32 { return 1<<32 - 1 }},
		{"a barrier", exchange, 64, func(i int) uint32 { return uint32(i ^ 32) }},
		{"generic address of shared memory", `
	st.shared.u32 [%r4], %r1;
	cvt.u64.u32 %rd4, %r4;
	cvta.shared.u64 %rd5, %rd4;
	ld.u32 %r2, [%rd5];`, 32, func(i int) uint32 { return uint32(i) }},
		{"shfl.bfly", `shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;`, 32, func(i int) uint32 { return uint32(i ^ 5) }},
		{"shfl.idx", `shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;`, 32, func(int) uint32 { return 3 }},
		{"shfl.idx in segments of 8", `shfl.sync.idx.b32 %r2, %r1, 3, 6175, -1;`, 32, func(i int) uint32 { // 0x181f
			return uint32(i&24 | 3)
		}},
		{"halves", `
	cvt.u16.u32 %rs1, %r1;
	mov.u16 %rs2, 9;
	mov.b32 %r2, {%rs1, %rs2};`, 4, func(i int) uint32 { return uint32(9<<16 | i) }},
		{"sign of a load", `
	st.shared.u32 [%r4], -2;
	ld.shared.s32 %rd4, [%r4];
	setp.lt.s64 %p1, %rd4, 0;
	selp.u32 %r2, 1, 0, %p1;`, 4, func(int) uint32 { return 1 }},
		{"bytes are stored from the low end", `
	st.shared.u32 [%r4], 0;
	mov.u16 %rs1, 4660;
	st.shared.u8 [%r4+1], %rs1;
	ld.shared.u32 %r2, [%r4];`, 4, func(int) uint32 { return 0x3400 }},
		{"elements of a vector", `
	st.shared.v4.u32 [%r3], {1, 2, 3, 4};
	ld.shared.v2.u32 {%r5, %r6}, [%r3+8];
	mad.lo.s32 %r2, %r5, 10, %r6;`, 1, func(int) uint32 { return 34 }},
		{"a copy before its wait is garbage", `
	st.global.u32 [%rd3], %r1;
	st.shared.u32 [%r4], 0;
	cp.async.ca.shared.global [%r4], [%rd3], 4, 4;
	cp.async.commit_group;
	ld.shared.u32 %r2, [%r4];`, 32, func(int) uint32 { return 1<<32 - 1 }},
		{"a copy of the last group but one", `
	st.global.u32 [%rd3], %r1;
	cp.async.ca.shared.global [%r4], [%rd3], 4, 4;
	cp.async.commit_group;
	cp.async.ca.shared.global [%r4+128], [%rd3], 4, 4;
	cp.async.commit_group;
	cp.async.wait_group 1;
	ld.shared.u32 %r5, [%r4];
	ld.shared.u32 %r6, [%r4+128];
	sub.s32 %r2, %r5, %r6;`, 32, func(i int) uint32 { return uint32(i + 1) }},
		{"zeros behind the bytes that are copied", `
	st.global.u32 [%rd3], -1;
	cp.async.ca.shared.global [%r4], [%rd3], 4, 3;
	cp.async.commit_group;
	cp.async.wait_group 0;
	ld.shared.u32 %r2, [%r4];`, 32, func(int) uint32 { return 0xffffff }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := must.Get2(results(t, small(t, c.code), c.threads))(t)
			for i, v := range got {
				if v != c.want(i) {
					t.Fatalf("thread %d: got %#x, want %#x", i, v, c.want(i))
				}
			}
		})
	}
}

// A fault names the line of the text and the thread.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, code string
		threads    int
		want       string
	}{
		{"beside the buffer", `ld.global.u32 %r2, [%rd3+4];`, 32, "thread 31: 4 bytes at 0x10080 lie in no buffer"},
		{"misaligned", `ld.global.v2.u32 {%r2, %r5}, [%rd3];`, 2, "thread 1: 0x10004 is no multiple of 8"},
		{"beyond shared memory", `ld.shared.u32 %r2, [%r4+4092];`, 2, "thread 1: 4 bytes at 0x1000"},
		{"a lane that is not here", `
	setp.lt.u32 %p1, %r1, 10;
	@%p1 shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;`, 32, "thread 0: lanes 000003ff are here"},
		{"half a warp at a barrier", `
	setp.lt.u32 %p1, %r1, 10;
	@%p1 bra $end;
	bar.sync 0;
$end:
	mov.u32 %r2, 0;`, 32, "come to the barrier"},
		{"a warp that has ended", `
	setp.gt.u32 %p1, %r1, 31;
	@%p1 bra $end;
	bar.sync 0;
$end:
	mov.u32 %r2, 0;`, 64, "thread 0: waits for thread 32, which has ended"},
		{"half a warp in ldmatrix", `
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2,%r5,%r6,%r7}, [%r3];`, 16, "only the lanes 0000ffff are"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := results(t, small(t, c.code), c.threads)
			text := fmt.Sprint(err)
			if !strings.Contains(text, c.want) || !strings.HasPrefix(text, "ptx: small: line ") {
				t.Errorf("got %v, want … %s", err, c.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	const begin = ".visible .entry k(\n.param .align 8 .b8 p[8]\n)\n{\n.reg .b32 %r<3>;\n.reg .f32 %f<3>;\n"
	for code, want := range map[string]string{
		"add.sat.s32 %r1, %r2, %r1;": "ptx: k: line 7: add.sat.s32 %r1, %r2, %r1: unknown instruction",
		"add.s32 %r1, %r3, %r1;":     "line 7: add.s32 %r1, %r3, %r1: unknown operand %r3",
		"add.s32 %r1, %f1, %r1;":     "%f1 is .f32, want .s32",
		"add.s32 %r1, %r1;":          "2 operands, want 3",
		"mov.f32 %f1, 1;":            "1 is no .f32",
		"bra $nowhere;":              "no such label",
		"ld.global.u32 %r1, [%r2];":  "%r2 is .b32",
		"ld.volatile.u32 %r1, [p];":  "unknown instruction",
		"mov.u32 %r1, 1;":            "runs past its end",
		".local .b8 x[4];":           "unknown directive",
	} {
		_, err := Parse(begin + code + "\n}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want … %s", code, err, want)
		}
	}
}

// Blocks names the blocks that run.
func TestBlocks(t *testing.T) {
	k := small(t, "mov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %ctaid.y;\nmad.lo.s32 %r2, %r5, 10, %r6;")
	buffer := make([]byte, 4)
	counts, err := k.Run(Launch{
		Grid: [2]int{5, 3}, Threads: 1, Args: binary.LittleEndian.AppendUint64(nil, at), Blocks: [][2]int{{4, 2}},
	}, Memory{{at, buffer}})
	got := binary.LittleEndian.Uint32(buffer)
	if err != nil || got != 42 || counts.Blocks != 1 || counts.Warps[0] != 1 {
		t.Errorf("got %d of %d blocks, %v, want 42 of 1", got, counts.Blocks, err)
	}
}
