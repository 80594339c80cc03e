package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/nets/cpu/kernels/guarded"
)

// fast returns the variants other than generic, and skips the test if there is none.
func fast(t *testing.T) []Kernels[float32] {
	t.Helper()
	k := Variants()[1:]
	if len(k) == 0 {
		t.Skip("this processor has only the generic kernels")
	}
	return k
}

// everywhere runs test for each fast variant and each way of placing buffers.
func everywhere(t *testing.T, test func(t *testing.T, k Kernels[float32], p *place)) {
	for _, k := range fast(t) {
		for _, p := range guarded.Places(t) {
			t.Run(k.Name()+"/"+strings.ReplaceAll(p.Name, " ", "_"), func(t *testing.T) { test(t, k, p) })
		}
	}
}

// randomTile returns a tile of m × n with odd strides, and the lengths its A, B and C must have. A stride may be
// shorter than what it strides over, as the windows of a convolution overlap.
func randomTile(r *rand.Rand, m, n int) (tile Tile[float32], a, b, c int) {
	t := Tile[float32]{M: m, N: n, Segs: 1 + r.IntN(5), K: 1 + r.IntN(70), Runs: 1 + r.IntN(3), Acc: r.IntN(2) == 0}
	t.ARow, t.AK = 1+r.IntN(80), 1+r.IntN(3)
	if r.IntN(2) == 0 {
		t.ARow, t.AK = 1, m+r.IntN(5)
	}
	t.ASeg = r.IntN(200)
	t.BRow = n + r.IntN(9)
	t.BSeg = r.IntN(t.K*t.BRow + 7)
	t.CRow = n + r.IntN(9)
	t.ARun, t.CRun = r.IntN(300), m*t.CRow+r.IntN(9)
	return t, (t.Runs-1)*t.ARun + (t.Segs-1)*t.ASeg + (m-1)*t.ARow + (t.K-1)*t.AK + 1,
		(t.Segs-1)*t.BSeg + (t.K-1)*t.BRow + n, (t.Runs-1)*t.CRun + (m-1)*t.CRow + n
}

// run is one variant with one way of placing buffers.
type run struct {
	k Kernels[float32]
	p *place
}

// otherwise holds the variants with a choice that this processor would not make.
var otherwise []Kernels[float32]

// runs returns all of them, for tests whose reference is slow.
func runs(t *testing.T) []run {
	t.Helper()
	var all []run
	at := guarded.Places(t)
	for _, k := range append(fast(t), otherwise...) {
		for _, p := range at {
			all = append(all, run{k, p})
		}
	}
	return all
}

// compareGemm does one tile in all runs and by generic.
func compareGemm(t *testing.T, all []run, tile Tile[float32], a, b, c []float32) {
	t.Helper()
	what := fmt.Sprintf("M=%d N=%d Segs=%d K=%d Runs=%d A %d %d %d %d B %d %d C %d %d Acc=%t: C",
		tile.M, tile.N, tile.Segs, tile.K, tile.Runs,
		tile.ASeg, tile.ARow, tile.AK, tile.ARun, tile.BSeg, tile.BRow, tile.CRow, tile.CRun, tile.Acc)
	want, scale, got := tile, tile, tile
	want.A, want.B, want.C = a, b, slices.Clone(c)
	generic[float32]{}.Gemm(&want)
	scale.A, scale.B, scale.C = abs(a), abs(b), abs(c)
	generic[float32]{}.Gemm(&scale)
	terms := tile.Segs*tile.K + 1
	for _, r := range all {
		what := r.k.Name() + ", " + r.p.Name + ": " + what
		r.p.Reset()
		got.A, got.B, got.C = lend(r.p, a), lend(r.p, b), lend(r.p, c)
		r.k.Gemm(&got)
		r.p.Intact(t, what)
		// Either sum rounds at most twice per term, the fused one once, each time by a unit of at most Σ|a·b|.
		wantNear(t, what, got.C, want.C, scale.C, float64(4*terms)*unit, "4·(Segs·K+1)·2⁻²⁴·Σ|a·b|")
		for i := range want.C { // between the rows and the runs of C
			if in := i % tile.CRun; (in%tile.CRow >= tile.N || in >= tile.M*tile.CRow) &&
				math.Float32bits(got.C[i]) != math.Float32bits(c[i]) {
				t.Fatalf("%s[%d]: got %g, want %g, as before: between rows", what, i, got.C[i], c[i])
			}
		}
	}
}

// TestGemm does tiles of every size; tall ones, with the cut of M and the two heights after one another; and some with
// NaN and infinity.
func TestGemm(t *testing.T) {
	all, r := runs(t), rand.New(rand.NewPCG(1, 2))
	check := func(m, n int) {
		tile, a, b, c := randomTile(r, m, n)
		compareGemm(t, all, tile, fractions(r, a), fractions(r, b), fractions(r, c))
	}
	for m := 1; m <= 40; m++ {
		for n := 1; n <= PanelCols; n++ {
			check(m, n)
		}
	}
	for _, m := range []int{47, 48, 49, 96, 97, 127, 128, 143, 200} {
		for _, n := range []int{1, 7, 8, 9, 10, 15, 16, 17, 24, 25, 31, 32} {
			check(m, n)
		}
	}
	for range 300 {
		tile, a, b, c := randomTile(r, 1+r.IntN(40), 1+r.IntN(PanelCols))
		compareGemm(t, all, tile, numbers(r, a, 300), numbers(r, b, 300), numbers(r, c, 50))
	}
}

// TestGemmExact uses numbers whose sums are exact in float32, so that no tolerance hides a wrong term.
func TestGemmExact(t *testing.T) {
	all, r := runs(t), rand.New(rand.NewPCG(5, 6))
	for range 300 {
		tile, na, nb, nc := randomTile(r, 1+r.IntN(40), 1+r.IntN(PanelCols))
		a, b, c := numbers(r, na, 0), numbers(r, nb, 0), numbers(r, nc, 0)
		want, got := tile, tile
		want.A, want.B, want.C = a, b, slices.Clone(c)
		generic[float32]{}.Gemm(&want)
		for _, run := range all {
			run.p.Reset()
			got.A, got.B, got.C = lend(run.p, a), lend(run.p, b), lend(run.p, c)
			run.k.Gemm(&got)
			wantSame(t, fmt.Sprintf("%s, %s: M=%d N=%d Segs=%d K=%d Acc=%t: C",
				run.k.Name(), run.p.Name, tile.M, tile.N, tile.Segs, tile.K, tile.Acc), got.C, want.C)
		}
	}
}

func TestGemmPanics(t *testing.T) {
	tile, na, nb, nc := randomTile(rand.New(rand.NewPCG(9, 10)), 13, 21)
	for _, k := range fast(t) {
		a, b, c := make([]float32, na), make([]float32, nb), make([]float32, nc)
		run := func(change func(*Tile[float32])) func() {
			u := tile
			u.A, u.B, u.C = a, b, c
			change(&u)
			return func() { k.Gemm(&u) }
		}
		run(func(*Tile[float32]) {})()
		for what, change := range map[string]func(*Tile[float32]){
			"short A":    func(u *Tile[float32]) { u.A = u.A[:na-1] },
			"short B":    func(u *Tile[float32]) { u.B = u.B[:nb-1] },
			"short C":    func(u *Tile[float32]) { u.C = u.C[:nc-1] },
			"nil A":      func(u *Tile[float32]) { u.A = nil },
			"M=0":        func(u *Tile[float32]) { u.M = 0 },
			"N=0":        func(u *Tile[float32]) { u.N = 0 },
			"N=33":       func(u *Tile[float32]) { u.N = PanelCols + 1 },
			"Segs=0":     func(u *Tile[float32]) { u.Segs = 0 },
			"K=-1":       func(u *Tile[float32]) { u.K = -1 },
			"ARow=-1":    func(u *Tile[float32]) { u.ARow = -1 },
			"BSeg=-1000": func(u *Tile[float32]) { u.BSeg = -1000 },
			"Runs=0":     func(u *Tile[float32]) { u.Runs = 0 },
			"CRun=-1":    func(u *Tile[float32]) { u.CRun = -1 },
			"more Runs":  func(u *Tile[float32]) { u.Runs++; u.ARun++ },
		} {
			wantPanic(t, k.Name()+": "+what, run(change))
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, k := range fast(t) {
		x, arg := fractions(rand.New(rand.NewPCG(1, 1)), 4*33), make([]uint8, 33)
		tile := &Tile[float32]{
			A: x, B: x, C: make([]float32, 99), M: 3, N: 33 - 2, Segs: 1, Runs: 1, K: 4, ARow: 1,
			AK: 1, BRow: 33, CRow: 33,
		}
		y := make([]float32, 4*33)
		img, normal, mask, e := make([]uint8, 64), testNormal(rand.New(rand.NewPCG(1, 1)), 3), make([]uint8, 4*33),
			make([]float64, 4*33+7)
		sparse, _, _ := randomSparse(rand.New(rand.NewPCG(1, 1)), 2, 9)
		sparse.M, sparse.To = make([]float32, 2000), make([]float32, 500)
		rows := Pixels[float32]{
			R: 1, S: 2, C: 1, O: 1, Width: 40, Row: 40, Rows: 2, Cols: 9, X: sparse.M, W: x, Y: sparse.To,
		}
		room := make([]byte, pooledRoom)
		var byPixel PixelLists[float32]
		byPixel.ensure(3, 11)
		byPixel.Ends = [2][]int32{make([]int32, 6), make([]int32, 6)}
		var byChannel ChannelLists[float32]
		byChannel.ensure(1, 3, 11)
		var byRow RowLists[float32]
		byRow.ensure(4, 30)
		row := Pooled[float32]{Gy: x, Arg: arg, Rows: 1, Pixels: 3, Channels: 11}
		tiles := TileRow[float32]{V: y, Plane: 10, Row: 5, A: x, B: x, Sign: 1, Pixel: 5, Tiles: 2, Channels: 5}
		got := testing.AllocsPerRun(10, func() {
			k.Gemm(tile)
			k.WinogradInput(&tiles)
			k.WinogradGradient(&tiles)
			k.WinogradOutput(y, sparse.To, x, 5, 5, 1, 5)
			k.WinogradWeights(y, 5, x, 5, 5, 1, 5)
			k.WinogradWeightsGrad(y, 5, x, 5, 5)
			k.Sparse(&sparse)
			k.PixelRows(&rows)
			k.PoolPixels(y[:24], arg, sparse.M, sparse.M, x[:6], 40, room)
			k.PixelWinners(&byPixel, &row)
			k.ChannelWinners(&byChannel, &row)
			k.AddWinners(y[:11], &row)
			k.NonZeros(&byRow, x, 4, 33, 30, 1)
			k.Planes(y, 44, x, 3)
			k.Narrow(y, x, 3, 6, 8)
			k.Transpose(y, 4, x, 33, 4, 33)
			k.PoolReLU(y[:33], arg, x[:66], x[66:], x[:33])
			k.UnpoolReLU(y[:66], y[66:], y[:33], x[:33], arg)
			k.BiasReLU(y, 4, 33, x[:33], true)
			k.ReLUGrad(y, y[:33], x, x, true)
			k.Scale(y, 2, x)
			k.Axpy(y, 2, x)
			k.Dot(x, y)
			k.Step(y, x, nil, x, Step[float32]{LR: 1})
			k.Gather(y[:105], img, normal, Crop{H: 3, W: 5, C: 3, Border: 1, Row: 0, Col: 1, Pad: 1, Flip: true})
			k.Dropout(y, mask, x, 3, Draw{}, 0, 0.5)
			k.ApplyMask(y, x, mask, 2)
			k.Softmax(y, e, x, 2)
			k.Prefetch(x, mask)
			k.Moments(y[:33], y[33:66], x, x[:33])
			k.Normalise(y, x, x, x[:33], x[:33], true)
			k.NormSums(y[:33], y[33:66], x, x, x[:33], x[:33], x[:33])
			k.NormSumsAdd(y, y[:33], y[33:66], x, x, x, x[:33])
			k.NormGrad(y, x, x, x[:33], x[:33], x[:33], x[:33], x[:33])
		})
		if got != 0 {
			t.Errorf("%s: %g allocations per run of all kernels, want 0", k.Name(), got)
		}
	}
}

func TestSelect(t *testing.T) {
	have := Variants()
	for _, k := range have {
		t.Setenv("ROLLCALL_CPU", k.Name())
		got, err := Select(FP32)
		if err != nil || got.Name() != k.Name() {
			t.Errorf("ROLLCALL_CPU=%s: got %q, %v, want %q", k.Name(), got.Name(), err, k.Name())
		}
	}
	t.Setenv("ROLLCALL_CPU", "")
	if got, err := Select(FP32); err != nil || got.Name() != have[len(have)-1].Name() {
		t.Errorf("ROLLCALL_CPU empty: got %q, %v, want %q", got.Name(), err, have[len(have)-1].Name())
	}
	t.Setenv("ROLLCALL_CPU", "foo")
	const want = "cpu: ROLLCALL_CPU=foo: unknown variant, want generic, avx2, avx512, avx512bf16 or amx"
	if _, err := Select(FP32); err == nil || err.Error() != want {
		t.Errorf("ROLLCALL_CPU=foo: got error %v, want %s", err, want)
	}
	for _, name := range []string{"avx2", "avx512"} {
		if slices.ContainsFunc(have, func(k Kernels[float32]) bool { return k.Name() == name }) {
			continue
		}
		t.Setenv("ROLLCALL_CPU", name)
		if _, err := Select(FP32); err == nil || !strings.Contains(err.Error(), "not on this processor") {
			t.Errorf("ROLLCALL_CPU=%s, which is not here: got error %v, want one that says so", name, err)
		}
	}
}

func TestDot(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, n := range []int{0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000, 4099} {
			p.Reset()
			x, y := lend(p, fractions(r, n)), lend(p, fractions(r, n))
			for _, y := range [][]float32{x, y} {
				got, want := k.Dot(x, y), generic[float32]{}.Dot(x, y)
				// Products of float32 are exact in float64; each of two sums rounds n times by 2⁻⁵³ of at most Σ|x·y|.
				scale := generic[float32]{}.Dot(abs(x), abs(y))
				if tol := 2 * float64(n) * scale / (1 << 53); !(math.Abs(got-want) <= tol) {
					t.Errorf("n=%d: got %.17g, want %.17g ± %g (2n·2⁻⁵³·Σ|x·y|)", n, got, want, tol)
				}
				if turned := k.Dot(y, x); turned != got {
					t.Errorf("n=%d: got %.17g, the other way round %.17g, want the same", n, got, turned)
				}
			}
			if n == 0 {
				continue
			}
			x[r.IntN(n)] = float32(math.Inf(-1))
			if got := k.Dot(x, x); !math.IsInf(got, 1) {
				t.Errorf("n=%d, one −Inf: got %g, want +Inf", n, got)
			}
			x[r.IntN(n)] = float32(math.NaN())
			if got := k.Dot(x, y); !math.IsNaN(got) {
				t.Errorf("n=%d, one NaN: got %g, want NaN", n, got)
			}
		}
	})
}
