package ptx

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// count returns what a kernel of 32 threads counts for the first instruction of an opcode.
func count(t *testing.T, code, opcode string) (wavefronts, sectors, warps, threads int64) {
	t.Helper()
	k := small(t, code)
	_, c, err := results(t, k, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range k.Code {
		if in.Opcode == opcode {
			return c.Wavefronts[i], c.Sectors[i], c.Warps[i], c.Threads[i]
		}
	}
	t.Fatalf("no %s", opcode)
	return
}

// Thread i accesses shared memory at i times a stride.
func TestWavefronts(t *testing.T) {
	for _, c := range []struct {
		opcode, data string
		stride       int // bytes
		want         int64
	}{
		{"ld.shared.u32", "%r2", 4, 1},
		{"ld.shared.u32", "%r2", 0, 1}, // one word for all
		{"ld.shared.u32", "%r2", 8, 2},
		{"ld.shared.u32", "%r2", 12, 1}, // an odd number of words meets every bank once
		{"ld.shared.u32", "%r2", 64, 16},
		{"ld.shared.u32", "%r2", 128, 32},
		{"ld.shared.u16", "%r2", 2, 1}, // two lanes share a word
		{"ld.shared.v2.u32", "{%r2, %r6}", 8, 2},
		{"ld.shared.v4.u32", "{%r2, %r6, %r7, %r8}", 16, 4},
		{"ld.shared.v4.u32", "{%r2, %r6, %r7, %r8}", 32, 8}, // of 8 lanes two meet in a bank, in each of 4 quarters
		{"ld.shared.v4.u32", "{%r2, %r6, %r7, %r8}", 0, 4},
		{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{%r2,%r6,%r7,%r8}", 16, 4},
		{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{%r2,%r6,%r7,%r8}", 128, 32},
	} {
		code := fmt.Sprintf("mad.lo.s32 %%r5, %%r1, %d, %%r3;\n%s %s, [%%r5];", c.stride, c.opcode, c.data)
		if got, _, _, _ := count(t, code, c.opcode); got != c.want {
			t.Errorf("%s, stride %d: got %d wavefronts, want %d", c.opcode, c.stride, got, c.want)
		}
	}
}

func TestSectors(t *testing.T) {
	for _, c := range []struct {
		code, opcode string
		want         int64
	}{
		{"ld.global.u32 %r2, [%rd3];", "ld.global.u32", 4}, // 128 bytes
		{"ld.global.u32 %r2, [%rd1];", "ld.global.u32", 1}, // one word for all
		{"add.s64 %rd4, %rd1, 0;\nld.global.u8 %r2, [%rd4+3];", "ld.global.u8", 1},
		{"cp.async.ca.shared.global [%r4], [%rd3], 4, 4;", "cp.async.ca.shared.global", 4},
		{"cp.async.ca.shared.global [%r4], [%rd3], 4, 0;", "cp.async.ca.shared.global", 0}, // zeros only
	} {
		if _, got, _, _ := count(t, c.code, c.opcode); got != c.want {
			t.Errorf("%s: got %d sectors, want %d", c.code, got, c.want)
		}
	}
}

// Lanes that part meet again: the instruction behind is executed once by the warp.
func TestExecutions(t *testing.T) {
	code := strings.TrimSpace(`
	setp.lt.u32 %p1, %r1, 10;
	@%p1 bra $small;
	sub.s32 %r2, %r1, 7;
	bra.uni $end;
$small:
	neg.s32 %r2, %r1;
$end:
	@%p1 not.b32 %r2, %r2;
	and.b32 %r2, %r2, 3;`)
	for opcode, want := range map[string][2]int64{
		"sub.s32": {1, 22}, "neg.s32": {1, 10}, "not.b32": {1, 10}, "and.b32": {1, 32},
	} {
		if _, _, warps, threads := count(t, code, opcode); warps != want[0] || threads != want[1] {
			t.Errorf("%s: got %d warps and %d threads, want %v", opcode, warps, threads, want)
		}
	}
}

// Sectors that a block has read before are found in L1, if it has not forgotten their line: what L2 sees is less.
func TestL1(t *testing.T) {
	const line = "ld.global.u32 %r2, [%rd3];\n"      // 32 lanes: four sectors, one line
	const next = "ld.global.u32 %r2, [%rd3+128];\n"  // the line behind
	const third = "ld.global.u32 %r2, [%rd3+256];\n" // and the next one
	for _, c := range []struct {
		name, code string
		l1         int // bytes
		want       int64
	}{
		{"no L1", line + line, 0, 8},
		{"again", line + line + line, 128, 4},
		{"another line in between", line + next + line, 128, 12},
		{"room for both", line + next + line + next, 256, 8},
		{"the line not read for the longest time goes", line + next + line + third + line + next, 256, 16},
		{"one sector of a line, then all", "ld.global.u32 %r2, [%rd1];\n" + line + line, 128, 4},
		{"cp.async.ca", "cp.async.ca.shared.global [%r4], [%rd3], 4, 4;\n" + line, 128, 4},
		{"cp.async.cg", strings.Repeat("cp.async.cg.shared.global [%r3], [%rd1], 16, 16;\n", 2), 128, 2},
		{"writes", "st.global.u32 [%rd3], %r1;\n" + line + "st.global.u32 [%rd3], %r1;\n", 128, 12},
	} {
		counts, err := small(t, c.code).Run(Launch{
			Grid: [2]int{1, 1}, Threads: 32, Shared: 4096, Args: binary.LittleEndian.AppendUint64(nil, at),
			Traffic: true, L1: c.l1,
		}, Memory{{at, make([]byte, 4096)}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got int64
		for _, n := range counts.Sectors {
			got += n
		}
		if got -= 4; got != c.want { // which `small` writes at its end
			t.Errorf("%s: %d sectors, want %d", c.name, got, c.want)
		}
	}
}
