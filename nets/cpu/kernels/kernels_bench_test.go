package kernels

import "testing"

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
