package bf16

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkProduct times products of cnn-cifar10, of lenet5 and of resnet20's last stage, whose chunks have 30 and 26
// terms, and reports GFLOP/s. Convolutions are those of one image.
func BenchmarkProduct(b *testing.B) {
	for _, c := range []struct {
		name string
		p    Product[float32]
	}{
		{"conv1_forward", Product[float32]{
			M: 32, N: 32, Segs: 3, Chunks: 1, Size: 10, Runs: 32, ARow: 3, ASeg: 34 * 3, ARun: 34 * 3,
			CRow: 32, CRun: 1024,
		}},
		{"conv1_weights", Product[float32]{
			M: 9, N: 32, Segs: 1, Chunks: 34, Size: 32, Runs: 3, ARow: 34 * 34, ARun: 34,
			CRow: 32, CRun: 9 * 32, Acc: true,
		}},
		{"conv2_forward", Product[float32]{
			M: 16, N: 32, Segs: 3, Chunks: 3, Size: 32, Runs: 16, ARow: 32, ASeg: 18 * 32, ARun: 18 * 32,
			CRow: 32, CRun: 512,
		}},
		{"conv2_weights", Product[float32]{
			M: 32, N: 32, Segs: 1, Chunks: 9, Size: 32, Runs: 3, ARow: 18 * 18, ARun: 1,
			CRow: 32, CRun: 1024, Acc: true,
		}},
		{"fc1_forward", Product[float32]{
			M: 128, N: 32, Segs: 1, Chunks: 8, Size: 32, Runs: 1, ARow: 2048, CRow: 256, Acc: true,
		}},
		{"lenet5_conv2_forward", Product[float32]{
			M: 10, N: 16, Segs: 5, Chunks: 1, Size: 30, Runs: 10, ARow: 6, ASeg: 14 * 6, ARun: 14 * 6,
			CRow: 16, CRun: 160,
		}},
		{"resnet20_stage3_weights", Product[float32]{
			M: 64, N: 32, Segs: 1, Chunks: 3, Size: 26, Runs: 3, ARow: 128, ARun: 1, CRow: 64, CRun: 64 * 64, Acc: true,
		}},
	} {
		c.p.BSeg = c.p.Chunks * c.p.Size * c.p.N
		for _, split := range []bool{false, true} {
			for _, k := range Variants(split) {
				mode := map[bool]string{false: "bf16", true: "bf16x3"}[split]
				b.Run(c.name+"/"+mode+"/"+k.Name(), func(b *testing.B) {
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

// BenchmarkRounding times what writes operands, on the shapes of cnn-cifar10, and reports ns per element.
func BenchmarkRounding(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := bits(r, 32*34*34, 0)
	type call struct {
		name string
		n    int // elements
		do   func(k Kernels[float32], o [4]Operand[float32])
	}
	transpose := func(rows, cols int) func(k Kernels[float32], o [4]Operand[float32]) {
		return func(k Kernels[float32], o [4]Operand[float32]) { k.Transpose(o[0], rows, x, cols, rows, cols) }
	}
	calls := []call{
		{"Round/18x18x32", 18 * 18 * 32, func(k Kernels[float32], o [4]Operand[float32]) {
			k.Round(o[0], x[:18*18*32])
		}},
		{"Pack/288x32", 288 * 32, func(k Kernels[float32], o [4]Operand[float32]) {
			k.Pack(o[0], x, 32, 288, 32, 288)
		}},
		{"Pack/256x10", 256 * 10, func(k Kernels[float32], o [4]Operand[float32]) {
			k.Pack(o[0], x, 10, 256, 10, 256)
		}},
		{"Pack/strided", 256 * 32, func(k Kernels[float32], o [4]Operand[float32]) {
			k.Pack(o[0], x, 128, 256, 32, 256)
		}},
		{"Transpose/324x32", 324 * 32, transpose(18*18, 32)},
		{"Transpose/1156x3", 1156 * 3, transpose(34*34, 3)},
		{"Transpose/128x256", 128 * 256, transpose(128, 256)},
	}
	// The two rows of the first pooling; without rows for a product over pixels alone.
	gy, db, arg := x[:16*32], make([]float32, 32), make([]uint8, 16*32)
	for i := range arg {
		arg[i] = uint8(r.IntN(5))
	}
	calls = append(calls, call{"Unpool/pairs", 4 * len(gy), func(k Kernels[float32], o [4]Operand[float32]) {
		if k, ok := k.(Unpooler[float32]); ok {
			k.Unpool(o[0], o[1], Operand[float32]{}, Operand[float32]{}, db, gy, arg)
		}
	}}, call{"Unpool/both", 4 * len(gy), func(k Kernels[float32], o [4]Operand[float32]) {
		if k, ok := k.(Unpooler[float32]); ok {
			k.Unpool(o[0], o[1], o[2], o[3], db, gy, arg)
		}
	}})
	for _, c := range calls {
		for _, split := range []bool{false, true} {
			for _, k := range fast(split) {
				if _, ok := k.(Unpooler[float32]); !ok && strings.HasPrefix(c.name, "Unpool") {
					continue
				}
				mode := map[bool]string{false: "bf16", true: "bf16x3"}[split]
				b.Run(c.name+"/"+mode+"/"+k.Name(), func(b *testing.B) {
					var o [4]Operand[float32]
					for i := range o {
						o[i] = k.NewOperand(len(x))
					}
					n := 0
					for b.Loop() {
						c.do(k, o)
						n++
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*c.n), "ns/element")
				})
			}
		}
	}
}
