package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels/guarded"
)

// pairedVariants returns the variant avx512bf16 by the model of its instructions and, where the processor has them, by
// itself.
func pairedVariants(split bool) []paired {
	all := []paired{Modelled(split).(paired)}
	for _, k := range Variants(split) {
		if k, ok := k.(paired); ok {
			all = append(all, k)
		}
	}
	return all
}

// pairedModes runs a test for bf16 and bf16x3 with guarded buffers.
func pairedModes(t *testing.T, test func(t *testing.T, k paired, g *guarded.Place, r *rand.Rand)) {
	modes(t, func(t *testing.T, split bool) {
		for _, k := range pairedVariants(split) {
			for _, g := range guarded.Places(t) {
				t.Run(k.Name()+"/"+g.Name, func(t *testing.T) { test(t, k, g, rand.New(rand.NewPCG(3, 4))) })
			}
		}
	})
}

// pairs returns an operand of exactly n pairs, with buffers of g. Its numbers are NaN.
func pairs(g *guarded.Place, n int, split bool) Operand[float32] {
	x := make([]uint32, n)
	for i := range x {
		x[i] = math.MaxUint32
	}
	var of formats[float32]
	for part := range parts(split) {
		of.pairs[part] = guarded.Lend(g, x)
	}
	return newOperand(of, n)
}

// wantPairs fails unless element i of got is the pair of elements i and next(i) of want, an operand of the generic
// variant, 0 where next(i) is below 0. at returns where the element is. All others must be untouched NaN.
func wantPairs(t *testing.T, what string, got, want Operand[float32], n int, at, next func(i int) int) {
	t.Helper()
	for part := range 2 {
		if want.wide()[part] == nil {
			continue
		}
		named := make([]bool, len(got.pairs()[part]))
		for i := range n {
			x, y, g := want.wide()[part][i], float32(0), got.pairs()[part][at(i)]
			if j := next(i); j >= 0 {
				y = want.wide()[part][j]
			}
			named[at(i)] = true
			high, low := math.Float32frombits(g&0xffff0000), math.Float32frombits(g<<16)
			if !sameBits(high, x) || !sameBits(low, y) {
				t.Fatalf("%s: part %d: element %d, at %d: got %#x, want the pair of %g and %g",
					what, part, i, at(i), g, x, y)
			}
		}
		for i, x := range got.pairs()[part] {
			if !named[i] && x != math.MaxUint32 {
				t.Fatalf("%s: part %d: wrote at %d, outside the result", what, part, i)
			}
		}
	}
}

// sameBits reports whether x and y are the same bits, any NaN being as good as another.
func sameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// nextIn returns the next function of rows of n elements, of which pairs are distance apart.
func nextIn(n, distance int) func(i int) int {
	return func(i int) int {
		if i%n+distance >= n {
			return -1
		}
		return i + distance
	}
}

// TestPairedRound rounds vectors of all short lengths.
func TestPairedRound(t *testing.T) {
	pairedModes(t, func(t *testing.T, k paired, g *guarded.Place, r *rand.Rand) {
		for n := 1; n < 200; n++ {
			g.Reset()
			x := hard(r, n)
			want := Generic[float32](k.split).NewOperand(n)
			Generic[float32](k.split).Round(want, x)
			got := pairs(g, n, k.split)
			k.Round(got, guarded.Lend(g, x))
			what := fmt.Sprintf("n=%d", n)
			wantPairs(t, what, got, want, n, identity, nextIn(n, 2))
			g.Intact(t, what)
		}
	})
}

// TestPairedPack packs matrices of odd sizes.
func TestPairedPack(t *testing.T) {
	pairedModes(t, func(t *testing.T, k paired, g *guarded.Place, r *rand.Rand) {
		for range 300 {
			g.Reset()
			rows, cols := 1+r.IntN(40), 1+r.IntN(70)
			ld, padded := cols+r.IntN(5), rows+rows%2+2*r.IntN(4)
			x := hard(r, (rows-1)*ld+cols)
			want := Generic[float32](k.split).NewOperand(padded * cols)
			Generic[float32](k.split).Pack(want, x, ld, rows, cols, padded)
			got := pairs(g, padded*cols+r.IntN(3), k.split)
			k.Pack(got, guarded.Lend(g, x), ld, rows, cols, padded)
			what := fmt.Sprintf("%d × %d, rows %d apart, padded to %d", rows, cols, ld, padded)
			wantPairs(t, what, got, want, padded*cols, identity, nextIn(padded*cols, 2*cols))
			g.Intact(t, what)
		}
	})
}

// TestPairedTranspose transposes matrices of odd sizes.
func TestPairedTranspose(t *testing.T) {
	pairedModes(t, func(t *testing.T, k paired, g *guarded.Place, r *rand.Rand) {
		for i := range 300 {
			g.Reset()
			rows, cols := 1+r.IntN(60), 1+r.IntN(40)
			if i%4 == 0 { // whole blocks
				rows, cols = 16*(1+r.IntN(3))+i%8/2, 16*(1+r.IntN(2))
			}
			ldSrc, ldDst := cols+r.IntN(5), rows+r.IntN(5)
			x := hard(r, (rows-1)*ldSrc+cols)
			want := Generic[float32](k.split).NewOperand(rows * cols)
			Generic[float32](k.split).Transpose(want, rows, x, ldSrc, rows, cols)
			got := pairs(g, (cols-1)*ldDst+rows, k.split)
			k.Transpose(got, ldDst, guarded.Lend(g, x), ldSrc, rows, cols)
			what := fmt.Sprintf("%d × %d, from rows %d apart to rows %d apart", rows, cols, ldSrc, ldDst)
			at := func(i int) int { return i/rows*ldDst + i%rows }
			wantPairs(t, what, got, want, rows*cols, at, nextIn(rows, 2))
			g.Intact(t, what)
		}
	})
}

// TestPairedProduct multiplies with operands and results beside pages without access, and no longer than needed.
func TestPairedProduct(t *testing.T) {
	pairedModes(t, func(t *testing.T, k paired, g *guarded.Place, r *rand.Rand) {
		for i := range 150 {
			g.Reset()
			s := randomSample(r, 1+r.IntN(40), 1+r.IntN(PanelCols), 2000*(i%2), []float32{1, 0x1p-62}[i/2%2])
			want := s.by(Generic[float32](k.split))
			p := s.Product
			p.A, p.B, p.C = pairs(g, len(s.a), k.split), pairs(g, len(s.b), k.split), guarded.Lend(g, s.c)
			k.Round(p.A, s.a)
			k.Pack(p.B, s.b, s.N, len(s.b)/s.N, s.N, len(s.b)/s.N)
			k.Multiply(&p)
			wantBits(t, s.String()+": C", p.C, want)
			g.Intact(t, s.String())
		}
	})
}

// TestJoin writes operands in pieces, and compares them with those that are written at once.
func TestJoin(t *testing.T) {
	modes(t, func(t *testing.T, split bool) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, k := range append(fast(split), Modelled(split)) {
			for range 200 {
				cols, pieces := 1+r.IntN(40), 2+r.IntN(4)
				rows := 2 * (1 + r.IntN(6)) // of a piece
				x := hard(r, pieces*rows*cols)
				whole, parts := k.NewOperand(len(x)), k.NewOperand(len(x))
				k.Pack(whole, x, cols, pieces*rows, cols, pieces*rows)
				for _, i := range r.Perm(pieces) {
					at := i * rows * cols
					k.Pack(parts.From(at), x[at:], cols, rows, cols, rows)
				}
				for i := 1; i < pieces; i++ {
					parts.Join(i*rows*cols, 2*cols)
				}
				wantSame(t, fmt.Sprintf("%s: %d pieces of %d × %d", k.Name(), pieces, rows, cols), parts, whole)
				k.Round(whole, x)
				for _, i := range r.Perm(pieces) {
					k.Round(parts.From(i*rows*cols), x[i*rows*cols:][:rows*cols])
				}
				for i := 1; i < pieces; i++ {
					parts.Join(i*rows*cols, 2)
				}
				if rows*cols > 1 {
					wantSame(t, fmt.Sprintf("%s: %d pieces of %d", k.Name(), pieces, rows*cols), parts, whole)
				}
			}
		}
	})
}

// wantSame fails unless two operands of one variant have the same bits.
func wantSame(t *testing.T, what string, got, want Operand[float32]) {
	t.Helper()
	for part := range 2 {
		if !slices.Equal(got.pairs()[part], want.pairs()[part]) ||
			!slices.Equal(got.narrow()[part], want.narrow()[part]) ||
			!slices.EqualFunc(got.wide()[part], want.wide()[part], sameBits) {
			t.Fatalf("%s: part %d: other numbers than at once", what, part)
		}
	}
}
