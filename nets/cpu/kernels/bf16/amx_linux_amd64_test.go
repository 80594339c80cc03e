package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels/bf16/tiles"
	"rollcall/nets/cpu/kernels/guarded"
)

// needAMX skips a test that nobody can run here.
func needAMX(t *testing.T) {
	t.Helper()
	if noAMX != "" {
		t.Skip(noAMX)
	}
}

// amxModes runs a test for bf16 and bf16x3 with guarded buffers.
func amxModes(t *testing.T, test func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand)) {
	needAMX(t)
	modes(t, func(t *testing.T, split bool) {
		for _, g := range guarded.Places(t) {
			t.Run(g.Name, func(t *testing.T) { test(t, amx{split}, g, rand.New(rand.NewPCG(3, 4))) })
		}
	})
}

// hard returns n numbers that are hard to round: of all exponents, half-way between two bfloat16 or beside, and
// special.
func hard(r *rand.Rand, n int) []float32 {
	x := bits(r, n, 6)
	for i := range x {
		switch u := r.Uint32(); r.IntN(4) {
		case 0:
			x[i] = math.Float32frombits(u)
		case 1:
			x[i] = math.Float32frombits(u&0xffff0000 + 0x7fff + r.Uint32N(3)) // a tie, or one off
		}
	}
	return x
}

func identity(i int) int { return i }

// TestAMXRound rounds vectors of all short lengths.
func TestAMXRound(t *testing.T) {
	amxModes(t, func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand) {
		for n := 1; n < 400; n++ {
			g.Reset()
			x := hard(r, n)
			want := Generic[float32](k.split).NewOperand(n)
			Generic[float32](k.split).Round(want, x)
			got := operand(g, n, k.split)
			k.Round(got, guarded.Lend(g, x))
			what := fmt.Sprintf("n=%d", n)
			wantNarrow(t, what, got, want, n, identity)
			g.Intact(t, what)
		}
	})
}

// TestAMXRoundEvery rounds numbers with every upper half, and with lower halves that are at and beside a tie.
func TestAMXRoundEvery(t *testing.T) {
	needAMX(t)
	x := make([]float32, 0, 1<<19)
	for high := range uint32(1 << 16) {
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, high & 0xff, high * 0x9e37 & 0xffff} {
			x = append(x, math.Float32frombits(high<<16|low))
		}
	}
	modes(t, func(t *testing.T, split bool) {
		want, got := Generic[float32](split).NewOperand(len(x)), amx{split}.NewOperand(len(x))
		Generic[float32](split).Round(want, x)
		amx{split}.Round(got, x)
		wantNarrow(t, "numbers with every upper half", got.First(len(x)), want, len(x), identity)
		for part := range parts(split) {
			for i, v := range got.narrow()[part][len(x):] {
				if v != 0 {
					t.Errorf("wrote %#x at %d, behind the result", v, len(x)+i)
				}
			}
		}
	})
}

// TestAMXPack packs matrices of odd sizes.
func TestAMXPack(t *testing.T) {
	amxModes(t, func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand) {
		for range 400 {
			g.Reset()
			rows, cols := 1+r.IntN(40), 1+r.IntN(70)
			ld, padded := cols+r.IntN(5), rows+rows%2+2*r.IntN(4)
			x := hard(r, (rows-1)*ld+cols)
			want := Generic[float32](k.split).NewOperand(padded * cols)
			Generic[float32](k.split).Pack(want, x, ld, rows, cols, padded)
			got := operand(g, padded*cols+r.IntN(3), k.split)
			k.Pack(got, guarded.Lend(g, x), ld, rows, cols, padded)
			what := fmt.Sprintf("%d × %d, rows %d apart, padded to %d", rows, cols, ld, padded)
			wantNarrow(t, what, got, want, padded*cols, func(i int) int {
				p, j := i/cols, i%cols
				return p/2*2*cols + 2*j + p%2
			})
			g.Intact(t, what)
		}
	})
}

// TestAMXTranspose transposes matrices of odd sizes.
func TestAMXTranspose(t *testing.T) {
	amxModes(t, func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand) {
		for i := range 400 {
			g.Reset()
			rows, cols := 1+r.IntN(100), 1+r.IntN(50)
			if i%4 == 0 { // whole blocks
				rows, cols = 32*(1+r.IntN(3)), 16*(1+r.IntN(3))
			}
			ldSrc, ldDst := cols+r.IntN(5), rows+r.IntN(5)
			x := hard(r, (rows-1)*ldSrc+cols)
			n := (cols-1)*ldDst + rows
			want := Generic[float32](k.split).NewOperand(rows * cols)
			Generic[float32](k.split).Transpose(want, rows, x, ldSrc, rows, cols)
			got := operand(g, n, k.split)
			k.Transpose(got, ldDst, guarded.Lend(g, x), ldSrc, rows, cols)
			what := fmt.Sprintf("%d × %d, from rows %d apart to rows %d apart", rows, cols, ldSrc, ldDst)
			wantNarrow(t, what, got, want, rows*cols, func(i int) int { return i/rows*ldDst + i%rows })
			g.Intact(t, what)
		}
	})
}

// TestAMXUnpool compares with the definition.
func TestAMXUnpool(t *testing.T) {
	amxModes(t, func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand) {
		for i := range 200 {
			g.Reset()
			cols, pixels, withRows := 16+16*(i%2), 1+r.IntN(20), i%4 < 2
			gy, db := hard(r, pixels*cols), bits(r, cols, 0)
			arg := make([]uint8, len(gy))
			for j := range arg {
				arg[j] = uint8(r.IntN(5))
			}
			// Element 0 and 1 of rows [top and bottom][2·pixels,cols].
			var full [2][]float32
			full[0], full[1] = make([]float32, 2*len(gy)), make([]float32, 2*len(gy))
			wantDB := slices.Clone(db)
			for j := range pixels {
				for o := range cols {
					at := j*cols + o
					if arg[at] < 4 {
						full[arg[at]/2][(2*j+int(arg[at]%2))*cols+o] = gy[at]
						wantDB[o] += gy[at]
					}
				}
			}
			var pairs, rows [2]Operand[float32]
			for row := range 2 {
				pairs[row] = operand(g, 2*len(gy), k.split)
				if withRows {
					rows[row] = operand(g, 2*len(gy), k.split)
				}
			}
			gotDB := guarded.Lend(g, db)
			k.Unpool(pairs[0], pairs[1], rows[0], rows[1], gotDB, guarded.Lend(g, gy), guarded.Lend(g, arg))
			what := fmt.Sprintf("%d pixels of %d, rows %t", pixels, cols, withRows)
			for row := range 2 {
				want := Generic[float32](k.split).NewOperand(2 * len(gy))
				Generic[float32](k.split).Round(want, full[row])
				wantNarrow(t, fmt.Sprintf("%s: pairs %d", what, row), pairs[row], want, 2*len(gy), func(i int) int {
					p, o := i/cols, i%cols
					return p/2*2*cols + 2*o + p%2
				})
				if withRows {
					wantNarrow(t, fmt.Sprintf("%s: rows %d", what, row), rows[row], want, 2*len(gy), identity)
				}
			}
			wantBits(t, what+": db", gotDB, wantDB)
			g.Intact(t, what)
		}
	})
}

// TestAMXProductGuarded multiplies with operands and results beside pages without access, and no longer than needed.
func TestAMXProductGuarded(t *testing.T) {
	amxModes(t, func(t *testing.T, k amx, g *guarded.Place, r *rand.Rand) {
		for range 150 {
			g.Reset()
			s := randomSample(r, 1+r.IntN(40), 1+r.IntN(PanelCols), 0, 1)
			want := s.by(Generic[float32](k.split))
			p := s.Product
			p.A, p.B, p.C = operand(g, len(s.a), k.split), operand(g, len(s.b), k.split), guarded.Lend(g, s.c)
			k.Round(p.A, s.a)
			k.Pack(p.B, s.b, s.N, len(s.b)/s.N, s.N, len(s.b)/s.N)
			k.Multiply(&p)
			wantBits(t, s.String()+": C", p.C, want)
			g.Intact(t, s.String())
		}
	})
}

// TestAMXTall multiplies more row tiles than a list of them has, by one column and by two.
func TestAMXTall(t *testing.T) {
	needAMX(t)
	modes(t, func(t *testing.T, split bool) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{3, 19} {
			p := Product[float32]{
				M: 33, N: n, Segs: 1, Chunks: 1, Size: 4, Runs: 70, ARow: 3, ARun: 5, CRow: n, CRun: 33 * n, Acc: true,
			}
			s := sample{Product: p, a: bits(r, 69*5+32*3+4, 0), b: bits(r, 4*n, 0), c: bits(r, 70*33*n, 0)}
			wantBits(t, s.String()+": C", s.by(amx{split}), s.by(Generic[float32](split)))
		}
	})
}

// TestAMXReleases fails if tiles stay in use after a product: then the operating system saves them for nothing.
func TestAMXReleases(t *testing.T) {
	needAMX(t)
	modes(t, func(t *testing.T, split bool) {
		runtime.LockOSThread() // InUse is about this thread
		defer runtime.UnlockOSThread()
		for _, n := range []int{3, 19} {
			p := Product[float32]{M: 5, N: n, Segs: 1, Chunks: 1, Size: 4, Runs: 1, ARow: 4, CRow: n}
			k := amx{split}
			p.A, p.B, p.C = k.NewOperand(20), k.NewOperand(4*n), make([]float32, 5*n)
			k.Multiply(&p)
			if tiles.InUse() {
				t.Errorf("N=%d: tiles are in use after the product", n)
			}
		}
	})
}
