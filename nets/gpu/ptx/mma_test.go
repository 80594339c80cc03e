package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Every element of A and B is another number: the product shows where each came from.
func TestMultiply(t *testing.T) {
	for opcode, shape := range shapes {
		var code strings.Builder
		per := shape.depth() / 8
		registers := func(name string, n int, place func(lane, i int) (int, int)) {
			for i := range n {
				for half := range per {
					// The kernel computes row and column as the tables say; the test checks the tables elsewhere.
					for lane := range warpLanes {
						row, column := place(lane, i*per+half)
						v := math.Float32bits(float32(row*3-column*2+1)) >> (16 * (per - 1)) << (16 * half)
						fmt.Fprintf(&code, "setp.eq.s32 %%p1, %%r1, %d;\n", lane)
						if half == 0 {
							fmt.Fprintf(&code, "@%%p1 mov.u32 %s%d, %d;\n", name, i, v)
						} else {
							fmt.Fprintf(&code, "@%%p1 or.b32 %s%d, %s%d, %d;\n", name, i, name, i, v)
						}
					}
				}
			}
		}
		registers("%r1", 4, shape.a)
		registers("%r2", 2, shape.b)
		for i := range 4 {
			fmt.Fprintf(&code, "mov.f32 %%f%d, 0f3F800000;\n", i)
		}
		code.WriteString(opcode + " {%f0,%f1,%f2,%f3}, {%r10,%r11,%r12,%r13}, {%r20,%r21}, {%f0,%f1,%f2,%f3};\n")
		for i := range 4 {
			got, _, err := results(t, small(t, code.String()+fmt.Sprintf("mov.b32 %%r2, %%f%d;", i)), warpLanes)
			if err != nil {
				t.Fatal(err)
			}
			for lane, bits := range got {
				row, column := shape.c(lane, i)
				want := 1
				for k := range shape.depth() {
					want += (row*3 - k*2 + 1) * (k*3 - column*2 + 1)
				}
				if v := math.Float32frombits(bits); v != float32(want) {
					t.Fatalf("%s: row %d, column %d: got %g, want %d", opcode, row, column, v, want)
				}
			}
		}
	}
}
