package bf16

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkProduct times the products of cnn-cifar10, and reports GFLOP/s. conv2_forward is one image.
func BenchmarkProduct(b *testing.B) {
	for _, c := range []struct {
		name string
		p    Product[float32]
	}{
		{"conv1_forward", Product[float32]{
			M: 32, N: 32, Segs: 3, Chunks: 1, Size: 10, Runs: 32, ARow: 3, ASeg: 34 * 3, ARun: 34 * 3, CRow: 32, CRun: 1024,
		}},
		{"conv1_weights", Product[float32]{
			M: 9, N: 32, Segs: 1, Chunks: 34, Size: 32, Runs: 3, ARow: 34 * 34, ARun: 34, CRow: 32, CRun: 9 * 32, Acc: true,
		}},
		{"conv2_forward", Product[float32]{
			M: 16, N: 32, Segs: 3, Chunks: 3, Size: 32, Runs: 16, ARow: 32, ASeg: 18 * 32, ARun: 18 * 32, CRow: 32, CRun: 512,
		}},
		{"conv2_weights", Product[float32]{
			M: 32, N: 32, Segs: 1, Chunks: 9, Size: 32, Runs: 3, ARow: 18 * 18, ARun: 1, CRow: 32, CRun: 1024, Acc: true,
		}},
		{"fc1_forward", Product[float32]{
			M: 128, N: 32, Segs: 1, Chunks: 8, Size: 32, Runs: 1, ARow: 2048, CRow: 256, Acc: true,
		}},
	} {
		c.p.BSeg = c.p.Chunks * c.p.Size * c.p.N
		for _, split := range []bool{false, true} {
			for _, k := range Variants(split) {
				b.Run(c.name+"/"+map[bool]string{false: "bf16", true: "bf16x3"}[split]+"/"+k.Name(), func(b *testing.B) {
					p, r := c.p, rand.New(rand.NewPCG(1, 2))
					depth := p.Chunks * p.Size
					na, nb := (p.Runs-1)*p.ARun+(p.Segs-1)*p.ASeg+(p.M-1)*p.ARow+depth, p.Segs*depth*p.N
					p.A, p.B = k.NewOperand(na), k.NewOperand(nb)
					p.C = make([]float32, (p.Runs-1)*p.CRun+(p.M-1)*p.CRow+p.N)
					k.Round(p.A, bits(r, na, 0))
					k.Pack(p.B, bits(r, nb, 0), p.N, nb/p.N, p.N, nb/p.N)
					n := 0
					for b.Loop() {
						k.Multiply(&p)
						n++
					}
					flop := 2 * float64(p.M*p.N*p.Segs*depth*p.Runs)
					b.ReportMetric(flop*float64(n)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
