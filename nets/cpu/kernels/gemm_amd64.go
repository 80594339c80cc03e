package kernels

import (
	"fmt"

	"rollcall/nets/cpu/kernels/asm"
)

// Gemm goes through the columns two registers at a time, and through the rows in tiles whose sums fit in registers.
// Columns that fit in a single register may go as those of AVX2.
func (c *code) Gemm(t *Tile[float32]) {
	if min(t.M, t.N, t.Segs, t.K, t.Runs) < 1 || t.N > PanelCols ||
		t.ASeg|t.ARow|t.AK|t.BSeg|t.BRow|t.CRow|t.ARun|t.CRun < 0 {
		panic(fmt.Sprintf("cpu: gemm: M=%d N=%d Segs=%d K=%d Runs=%d strides %d %d %d %d, %d %d, %d %d: "+
			"want at least 1, N at most %d, strides not negative",
			t.M, t.N, t.Segs, t.K, t.Runs, t.ASeg, t.ARow, t.AK, t.ARun, t.BSeg, t.BRow, t.CRow, t.CRun, PanelCols))
	}
	// The last elements that the tile names.
	_ = t.A[(t.Runs-1)*t.ARun+(t.Segs-1)*t.ASeg+(t.M-1)*t.ARow+(t.K-1)*t.AK]
	_ = t.B[(t.Segs-1)*t.BSeg+(t.K-1)*t.BRow+t.N-1]
	_ = t.C[(t.Runs-1)*t.CRun+(t.M-1)*t.CRow+t.N-1]
	for j := 0; j < t.N; j += 2 * c.lanes {
		n := min(2*c.lanes, t.N-j)
		k := c
		if n <= avx2.lanes || c.halves && n <= c.lanes {
			k = avx2
		}
		run, most, tail := k.gemmWide, k.tall, n-k.lanes
		switch {
		case tail <= 0:
			run, most, tail = k.gemmNarrow, 12, n
		case tail < k.lanes:
			run = k.gemmRagged
		}
		rows, tiles, smaller := asm.Cut(t.M, most)
		b := &t.B[j]
		for u := range t.Runs {
			run((*asm.Tile)(t), &t.A[u*t.ARun], b, &t.C[u*t.CRun+j], tail, rows, tiles, smaller)
		}
	}
}
