package asm

// Tile has the fields of cpu.Tile[float32], in the same order, and cpu.Tile says what they mean. The kernels read Segs,
// K, the strides and Acc at fixed offsets, which gen/gemm.go repeats; A, B, C, M, N and the runs are not read, since
// the kernels are told where to start and how many rows to compute.
type Tile struct {
	A, B, C        []float32
	M, N, Segs, K  int
	ASeg, ARow, AK int
	BSeg, BRow     int
	CRow           int
	Acc            bool
	Runs           int
	ARun, CRun     int
}

// GemmWideAVX512 computes two full registers of columns:
//
//	c[i·CRow + j] = (Acc: c[i·CRow + j]) + Σ_s Σ_p a[s·ASeg + i·ARow + p·AK] · b[s·BSeg + p·BRow + j]
//
// It works down the rows i in tiles·rows + smaller·(rows−1) rows: first tiles tiles of rows rows each, then smaller
// tiles (0 or more) of one row less. rows is 1 to 12, with AVX2 1 to 6. All sums of a tile stay in registers. tail is
// not read. c overlaps neither a nor b.
//
//go:noescape
func GemmWideAVX512(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)

// GemmWideAVX2 is [GemmWideAVX512] for AVX2.
//
//go:noescape
func GemmWideAVX2(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)

// GemmRaggedAVX512 is [GemmWideAVX512] where the second register of columns has only its first tail columns.
//
//go:noescape
func GemmRaggedAVX512(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)

// GemmRaggedAVX2 is [GemmRaggedAVX512] for AVX2.
//
//go:noescape
func GemmRaggedAVX2(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)

// GemmNarrowAVX512 is [GemmWideAVX512] with one register of columns, of which only the first tail are computed. rows is
// 1 to 12.
//
//go:noescape
func GemmNarrowAVX512(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)

// GemmNarrowAVX2 is [GemmNarrowAVX512] for AVX2; rows is 1 to 12 here as well.
//
//go:noescape
func GemmNarrowAVX2(t *Tile, a, b, c *float32, tail, rows, tiles, smaller int)
