package kernels

import "testing"

// gemmCase is one matrix product of a layer: how many tiles, and the shape of each.
type gemmCase struct {
	name    string
	tile    Tile[float32] // without A, B, C
	a, b, c int           // lengths of the buffers
	tiles   int           // calls in a round
	nextA   func(i int) int
	nextB   func(i int) int
	nextC   func(i int) int
}

func times(n int) func(int) int { return func(i int) int { return i * n } }

func same(int) int { return 0 }

// gemmCases are the products of cnn-cifar10 at B = 128; the convolutions run over a chunk of 8 images, as training
// does.
func gemmCases() []gemmCase {
	const images = 8
	// pixel row i of a chunk begins at this element of padded maps of side² pixels, c channels
	padded := func(side, c int) func(int) int {
		return func(i int) int { return (i/(side-2)*side + i%(side-2)) * side * c }
	}
	return []gemmCase{
		{
			"conv1_forward",
			Tile[float32]{M: 32, N: 32, Segs: 3, K: 9, ASeg: 34 * 3, ARow: 3, AK: 1, BSeg: 9 * 32, BRow: 32, CRow: 32},
			images * 34 * 34 * 3, 27 * 32, images * 32 * 32 * 32, images * 32, padded(34, 3), same, times(32 * 32),
		},
		{
			"conv2_forward",
			Tile[float32]{
				M: 16, N: 32, Segs: 3, K: 96, ASeg: 18 * 32, ARow: 32, AK: 1, BSeg: 96 * 32, BRow: 32, CRow: 32,
			},
			images * 18 * 18 * 32, 288 * 32, images * 16 * 16 * 32, images * 16, padded(18, 32), same, times(16 * 32),
		},
		{
			"conv2_dX",
			Tile[float32]{
				M: 16, N: 32, Segs: 3, K: 96, ASeg: 18 * 32, ARow: 32, AK: 1, BSeg: 96 * 32, BRow: 32, CRow: 32,
			},
			images * 18 * 18 * 32, 288 * 32, images * 18 * 18 * 32, images * 16, padded(18, 32), same, times(16 * 32),
		},
		// a tile is one image and one row of the window: 3 per image
		{
			"conv1_dW",
			Tile[float32]{
				M: 9, N: 32, Segs: 32, K: 32, ASeg: 34 * 3, ARow: 1, AK: 3, BSeg: 32 * 32, BRow: 32,
				CRow: 32, Acc: true,
			},
			images * 34 * 34 * 3, images * 32 * 32 * 32, 27 * 32, images * 3,
			func(i int) int { return (i/3*34 + i%3) * 34 * 3 }, func(i int) int { return i / 3 * 32 * 32 * 32 },
			func(i int) int { return i % 3 * 9 * 32 },
		},
		{
			"conv2_dW",
			Tile[float32]{
				M: 96, N: 32, Segs: 16, K: 16, ASeg: 18 * 32, ARow: 1, AK: 32, BSeg: 16 * 32, BRow: 32,
				CRow: 32, Acc: true,
			},
			images * 18 * 18 * 32, images * 16 * 16 * 32, 288 * 32, images * 3,
			func(i int) int { return (i/3*18 + i%3) * 18 * 32 }, func(i int) int { return i / 3 * 16 * 16 * 32 },
			func(i int) int { return i % 3 * 96 * 32 },
		},
		// x [128,2048], 8 blocks of 256 of I; one panel of 32 outputs
		{
			"fc1_forward",
			Tile[float32]{M: 128, N: 32, Segs: 1, K: 256, ARow: 2048, AK: 1, BRow: 32, CRow: 256, Acc: true},
			128 * 2048, 2048 * 32, 128 * 256, 8, times(256), times(256 * 32), same,
		},
		// dW [2048,256] = xᵀ dy: blocks of 96 rows by 32 columns of dy [128,256]
		{
			"fc1_dW",
			Tile[float32]{M: 96, N: 32, Segs: 1, K: 128, ARow: 1, AK: 96, BRow: 256, CRow: 256, Acc: true},
			128 * 96, 128 * 256, 96 * 256, 8, same, times(32), times(32),
		},
		{
			"fc1_dX",
			Tile[float32]{M: 128, N: 32, Segs: 1, K: 256, ARow: 256, AK: 1, BRow: 32, CRow: 2048},
			128 * 256, 8 * 256 * 32, 128 * 2048, 8, same, times(256 * 32), times(32),
		},
		{
			"fc2_forward",
			Tile[float32]{M: 128, N: 10, Segs: 1, K: 256, ARow: 256, AK: 1, BRow: 10, CRow: 10},
			128 * 256, 256 * 10, 128 * 10, 1, same, same, same,
		},
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, k := range Variants() {
		for _, c := range gemmCases() {
			b.Run(k.Name()+"/"+c.name, func(b *testing.B) {
				t := c.tile
				t.Runs = 1
				A, B, C := pattern(c.a), pattern(c.b), pattern(c.c)
				for b.Loop() {
					for i := range c.tiles {
						t.A, t.B, t.C = A[c.nextA(i):], B[c.nextB(i):], C[c.nextC(i):]
						k.Gemm(&t)
					}
				}
				reportFLOP(b, 2*c.tiles*t.M*t.N*t.Segs*t.K)
			})
		}
	}
}

// BenchmarkProduct1024 multiplies two matrices of 1024² by tiles: B packed in panels, 256 deep.
func BenchmarkProduct1024(b *testing.B) {
	const n, kc, mc = 1024, 256, 252
	for _, k := range Variants() {
		b.Run(k.Name(), func(b *testing.B) {
			x, y, z := pattern(n*n), pattern(n*n), make([]float32, n*n)
			packed, ap := make([]float32, kc*n), make([]float32, kc*mc)
			t := new(Tile[float32])
			for b.Loop() {
				for p := 0; p < n; p += kc {
					for j := 0; j < n; j += PanelCols {
						for r := range kc {
							copy(packed[j*kc+r*PanelCols:][:PanelCols], y[(p+r)*n+j:])
						}
					}
					for i := 0; i < n; i += mc {
						m := min(mc, n-i)
						for r := range m {
							copy(ap[r*kc:][:kc], x[(i+r)*n+p:])
						}
						for j := 0; j < n; j += PanelCols {
							*t = Tile[float32]{
								A: ap, B: packed[j*kc:], C: z[i*n+j:], M: m, N: PanelCols, Segs: 1, Runs: 1, K: kc,
								ARow: kc, AK: 1, BRow: PanelCols, CRow: n, Acc: p > 0,
							}
							k.Gemm(t)
						}
					}
				}
			}
			reportFLOP(b, 2*n*n*n)
		})
	}
}

func reportFLOP(b *testing.B, perRound int) {
	b.ReportMetric(float64(perRound)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

// pattern returns n unequal small numbers.
func pattern(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%13)/8 - 0.7
	}
	return x
}
