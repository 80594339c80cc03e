package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// fast returns the variants other than generic.
func fast(split bool) []Kernels[float32] { return append(Variants(split)[1:], otherwise(split)...) }

// otherwise returns the variants with a choice that this processor would not make.
var otherwise = func(bool) []Kernels[float32] { return nil }

// bits returns n numbers in (−1, 1) with all sorts of exponents, one in oneIn of which is special: NaN, ±Inf, ±0, the
// smallest and the largest numbers, subnormal or not. 0: none is.
func bits(r *rand.Rand, n, oneIn int) []float32 {
	special := []float32{
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, minNormal, -minNormal, minNormal / 2,
		3 * minNormal / 4, minNormal * (1 - 0x1p-23), math.MaxFloat32, -math.MaxFloat32,
	}
	x := make([]float32, n)
	for i := range x {
		switch {
		case oneIn > 0 && r.IntN(oneIn) == 0:
			x[i] = special[r.IntN(len(special))]
		case r.IntN(8) == 0:
			x[i] = float32(math.Ldexp(2*r.Float64()-1, r.IntN(80)-75))
		default:
			x[i] = 2*r.Float32() - 1
		}
	}
	return x
}

// sample is a product as a test sees it: the numbers of its operands in front of rounding.
type sample struct {
	Product[float32]
	a, b, c []float32
	kept    []bool // elements of c that the product must not write
}

// randomSample returns a product of m × n. Small operands put many sums near the subnormal numbers.
func randomSample(r *rand.Rand, m, n, oneIn int, scale float32) sample {
	k := 1 + r.IntN(100)
	p := Product[float32]{M: m, N: n, Segs: 1 + r.IntN(4), Runs: 1 + r.IntN(3), Acc: r.IntN(2) == 0}
	p.Chunks, p.Size = Chunks(k)
	k = p.Chunks * p.Size
	p.ARow, p.ASeg, p.ARun = r.IntN(90), r.IntN(200), r.IntN(300)
	p.BSeg = k*n + 2*n*r.IntN(2)
	p.CRow = n + r.IntN(9)
	p.CRun = m*p.CRow + r.IntN(9)
	s := sample{
		Product: p,
		a:       bits(r, (p.Runs-1)*p.ARun+(p.Segs-1)*p.ASeg+(m-1)*p.ARow+k, oneIn),
		b:       bits(r, (p.Segs-1)*p.BSeg+k*n, oneIn),
		c:       bits(r, (p.Runs-1)*p.CRun+(m-1)*p.CRow+n, oneIn),
	}
	s.kept = make([]bool, len(s.c))
	for i := range s.kept {
		in := i % p.CRun
		s.kept[i] = in%p.CRow >= n || in >= m*p.CRow
	}
	for _, x := range [][]float32{s.a, s.b, s.c} {
		for i := range x {
			x[i] *= scale
		}
	}
	return s
}

func (s sample) String() string {
	return fmt.Sprintf("M=%d N=%d Segs=%d Chunks=%d Size=%d Runs=%d A %d %d %d B %d C %d %d Acc=%t", s.M, s.N, s.Segs,
		s.Chunks, s.Size, s.Runs, s.ARow, s.ASeg, s.ARun, s.BSeg, s.CRow, s.CRun, s.Acc)
}

// by returns C as variant k computes it.
func (s sample) by(k Kernels[float32]) []float32 {
	p := s.Product
	p.A, p.B, p.C = k.NewOperand(len(s.a)), k.NewOperand(len(s.b)), slices.Clone(s.c)
	k.Round(p.A, s.a)
	k.Pack(p.B, s.b, s.N, len(s.b)/s.N, s.N, len(s.b)/s.N)
	k.Multiply(&p)
	return p.C
}

// wantBits fails unless got and want are the same bits, any NaN being as good as another.
func wantBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if g := got[i]; !sameBits(g, w) {
			t.Fatalf("%s[%d]: got %g (%#x), want %g (%#x), bit for bit",
				what, i, g, math.Float32bits(g), w, math.Float32bits(w))
		}
	}
}

// modes runs a test for bf16 and for bf16x3.
func modes(t *testing.T, test func(t *testing.T, split bool)) {
	t.Run("bf16", func(t *testing.T) { test(t, false) })
	t.Run("bf16x3", func(t *testing.T) { test(t, true) })
}

// TestSameBits holds all variants to the bits of plain Go.
func TestSameBits(t *testing.T) {
	modes(t, func(t *testing.T, split bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 1500 {
			m, n := 1+r.IntN(40), 1+r.IntN(PanelCols)
			oneIn, scale := 0, float32(1)
			switch i % 4 {
			case 1:
				scale = 0x1p-62 // products near the subnormal numbers
			case 2:
				oneIn = 40
			case 3:
				oneIn = 2000
			}
			s := randomSample(r, m, n, oneIn, scale)
			want := s.by(Generic[float32](split))
			for i, kept := range s.kept {
				if kept && math.Float32bits(want[i]) != math.Float32bits(s.c[i]) {
					t.Fatalf("generic: %s: C[%d], between rows: got %g, want %g, as before", s, i, want[i], s.c[i])
				}
			}
			for _, k := range fast(split) {
				wantBits(t, k.Name()+": "+s.String()+": C", s.by(k), want)
			}
		}
	})
}
