package ptx

import (
	"fmt"
	"strings"
	"testing"
)

// The tables are typed from the figures of the PTX ISA, "Matrix Fragments for mma.m16n8k8", ".m16n8k16" and
// "ldmatrix": by row of the matrix, who holds the elements of its columns.

// owner is the element i of a lane.
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

// owners reads the owners of a row.
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
