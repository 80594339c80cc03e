package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"rollcall/nets/cpu/kernels/asm"
)

func init() {
	if !asm.HasAVX512() {
		return
	}
	prepareAVX512()
	k := *avx512
	k.name, k.halves = "avx512, other halves", !k.halves
	otherwise = append(otherwise, &k)
}

// TestGroupLayout pins the offsets that the generated code uses.
func TestGroupLayout(t *testing.T) {
	var g normalGroup
	std, inverse := unsafe.Offsetof(g.std)-unsafe.Offsetof(g.mean), unsafe.Offsetof(g.inverse)-unsafe.Offsetof(g.mean)
	if std != 4*groupLanes || inverse != 2*std {
		t.Errorf("normalGroup: std and inverse are %d and %d behind mean, want %d and %d, as in gen/gather.go",
			std, inverse, 4*groupLanes, 8*groupLanes)
	}
}

// TestAVX2EqualsAVX512 holds the two sets to the same bits: they add up in the same order and fuse the same operations.
func TestAVX2EqualsAVX512(t *testing.T) {
	have := Variants()
	if len(have) < 3 {
		t.Skip("this processor has no AVX-512")
	}
	x, y := have[1], have[2]
	r := rand.New(rand.NewPCG(17, 18))
	for range 300 {
		tile, a, b, c := randomTile(r, 1+r.IntN(60), 1+r.IntN(PanelCols))
		tile.A, tile.B, tile.C = fractions(r, a), fractions(r, b), fractions(r, c)
		other := tile
		before := slices.Clone(tile.C)
		x.Gemm(&tile)
		for _, k := range append(otherwise, y) {
			other.C = slices.Clone(before)
			k.Gemm(&other)
			wantSame(t, "gemm: C: "+k.Name(), tile.C, other.C)
		}

		product, m, to := randomSparse(r, 1+r.IntN(7), 1+r.IntN(200))
		product.M, product.To = fractions(r, m), make([]float32, to)
		product.Values = fractions(r, len(product.Values))
		wide := product
		wide.To = make([]float32, to)
		x.Sparse(&product)
		y.Sparse(&wide)
		for i := range product.Items * product.Rows {
			at := i/product.Rows*product.Step + i%product.Rows*product.Row
			wantSame(t, "sparse: To", product.To[at:][:product.Cols], wide.To[at:][:product.Cols])
		}

		n := 1 + r.IntN(300)
		u, v := fractions(r, n), fractions(r, n)
		if got, want := x.Dot(u, v), y.Dot(u, v); got != want {
			t.Fatalf("n=%d: dot: avx2 %.17g, avx512 %.17g, want the same", n, got, want)
		}
		w1, v1, g, d := fractions(r, n), fractions(r, n), fractions(r, n), fractions(r, n)
		w2, v2 := slices.Clone(w1), slices.Clone(v1)
		s := Step[float32]{LR: r.Float32(), Scale: r.Float32(), Decay: r.Float32(), Momentum: r.Float32()}
		x.Step(w1, g, v1, d, s)
		y.Step(w2, g, v2, d, s)
		wantSame(t, "step: w", w1, w2)
		wantSame(t, "step: v", v1, v2)
		x.Axpy(w1, s.LR, g)
		y.Axpy(w2, s.LR, g)
		wantSame(t, "axpy: dst", w1, w2)

		e1, e2 := make([]float64, n+wideLanes), make([]float64, n+wideLanes)
		_, z1 := x.Softmax(w1, e1, g, 0.5)
		if _, z2 := y.Softmax(w2, e2, g, 0.5); z1 != z2 || !slices.Equal(e1[:n], e2[:n]) {
			t.Fatalf("softmax: n=%d: avx2 z %.17g, avx512 %.17g, want the same, and the same exponentials", n, z1, z2)
		}
		wantSame(t, "softmax: p", w1, w2)
	}
}
