package bf16

import (
	"math"
	"testing"

	"rollcall/nets/cpu/kernels/guarded"
)

// operand returns an operand of exactly n elements of the variant amx, with buffers of g. Its numbers are NaN.
func operand(g *guarded.Place, n int, split bool) Operand[float32] {
	x := make([]uint16, n)
	for i := range x {
		x[i] = 0xffff
	}
	var of formats[float32]
	for part := range parts(split) {
		of.narrow[part] = guarded.Lend(g, x)
	}
	return newOperand(of, n)
}

// wantNarrow fails unless the elements of an operand of the variant amx are those of want, of the generic one. at
// returns where element i of want is. The elements that it does not return must be untouched NaN of operand.
func wantNarrow(t *testing.T, what string, got, want Operand[float32], n int, at func(i int) int) {
	t.Helper()
	for part := range 2 {
		if want.wide()[part] == nil {
			continue
		}
		named := make([]bool, len(got.narrow()[part]))
		for i := range n {
			w, g := want.wide()[part][i], got.narrow()[part][at(i)]
			named[at(i)] = true
			if math.Float32bits(w) != uint32(g)<<16 && (w == w || !isNaN(g)) {
				t.Fatalf("%s: part %d: element %d, at %d: got %#x, want %#x",
					what, part, i, at(i), g, math.Float32bits(w)>>16)
			}
		}
		for i, x := range got.narrow()[part] {
			if !named[i] && x != 0xffff {
				t.Fatalf("%s: part %d: wrote at %d, outside the result", what, part, i)
			}
		}
	}
}

// isNaN reports whether a bfloat16 is NaN.
func isNaN(x uint16) bool { return x&0x7f80 == 0x7f80 && x&0x7f != 0 }
