package cpu

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
)

func TestCombine(t *testing.T) {
	e := newTest(t, "cnn-svhn", 3, 1)
	p := e.model.P
	fill := func(f func(i int) float32) []float32 {
		w := make([]float32, p)
		for i := range w {
			w[i] = f(i)
		}
		return w
	}
	// Small integers and coefficients in quarters: every sum is exact, fused or not.
	a, b := fill(func(i int) float32 { return float32(i % 97) }),
		fill(func(i int) float32 { return float32(i%31) - 15 })
	nan := float32(math.NaN())
	bank := must.Get(e.NewBank(4))(t)
	r := func(i int) nets.Row { return rowOf(bank, i) }
	for _, c := range []struct {
		name string
		dst  nets.Row
		c    []float64
		src  []nets.Row
		want func(i int) float32
	}{
		{"no terms", r(2), nil, nil, func(int) float32 { return 0 }},
		{"copy over NaN", r(2), []float64{1}, []nets.Row{r(0)}, func(i int) float32 { return a[i] }},
		{"two", r(2), []float64{0.25, -3}, []nets.Row{r(0), r(1)}, func(i int) float32 { return 0.25*a[i] - 3*b[i] }},
		{
			"into the first", r(0),
			[]float64{2, 0.5},
			[]nets.Row{r(0), r(1)},
			func(i int) float32 { return 2*a[i] + 0.5*b[i] },
		},
		{
			"into the last", r(1),
			[]float64{2, 0.5},
			[]nets.Row{r(0), r(1)},
			func(i int) float32 { return 2*a[i] + 0.5*b[i] },
		},
		{
			"one row three times", r(1),
			[]float64{1, 1, 1},
			[]nets.Row{r(1), r(1), r(1)},
			func(i int) float32 { return 3 * b[i] },
		},
		{"nothing of NaN is NaN", r(0), []float64{1, 0}, []nets.Row{r(0), r(2)}, func(int) float32 { return nan }},
		// 2²⁴+1 rounds to 2²⁴
		{"in order", r(0), []float64{0x1p24, 1, 1}, []nets.Row{r(3), r(3), r(3)}, func(int) float32 { return 0x1p24 }},
		{
			"in another order", r(0),
			[]float64{1, 1, 0x1p24},
			[]nets.Row{r(3), r(3), r(3)},
			func(int) float32 { return 0x1p24 + 2 },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			must.OK(t, e.Load(r(0), a))
			must.OK(t, e.Load(r(1), b))
			must.OK(t, e.Load(r(2), fill(func(int) float32 { return nan })))
			must.OK(t, e.Load(r(3), fill(func(int) float32 { return 1 })))
			must.OK(t, e.Combine(c.dst, c.c, c.src))
			for i, got := range load(t, e, c.dst) {
				if want := c.want(i); got != want && !(got != got && want != want) {
					t.Fatalf("element %d: got %g, want %g exactly", i, got, want)
				}
			}
		})
	}
}

func TestDot(t *testing.T) {
	e := newTest(t, "cnn-svhn", 1, 1)
	bank := must.Get(e.NewBank(2))(t)
	p := e.model.P
	for _, c := range []struct {
		name string
		set  func(w []float32)
		want float64
	}{
		{"zero", func([]float32) {}, 0},
		{"first and last", func(w []float32) { w[0], w[p-1] = 3, -4 }, 5},
		{"squares beyond float32", func(w []float32) { w[7] = 0x1p100 }, 0x1p100},
		{"squares below float32", func(w []float32) { w[7] = 0x1p-100 }, 0x1p-100},
		{"many", func(w []float32) {
			for i := range w {
				w[i] = 0.5
			}
		}, 0.5 * math.Sqrt(float64(p))},
		{"infinite", func(w []float32) { w[7] = float32(math.Inf(-1)) }, math.Inf(1)},
	} {
		w := make([]float32, p)
		c.set(w)
		must.OK(t, e.Load(rowOf(bank, 0), w))
		// Sums of powers of two are exact in float64; the root is rounded once.
		if got := must.Get(nets.Norm(e, rowOf(bank, 0)))(t); got != c.want {
			t.Errorf("norm of %s: got %g, want %g", c.name, got, c.want)
		}
	}
	x, y, products := make([]float32, p), make([]float32, p), 0.0 // of small integers: exact in any order
	for i := range x {
		x[i], y[i] = float32(i%7)-3, float32(i%5)-2
		products += float64(x[i]) * float64(y[i])
	}
	for _, c := range []struct {
		name string
		v    float32 // x[3], beside y[3] = 1
		want float64
	}{
		{"integers", 0, products},
		{"infinite", float32(math.Inf(-1)), math.Inf(-1)},
		{"NaN", float32(math.NaN()), math.NaN()},
	} {
		x[3] = c.v
		must.OK(t, e.Load(rowOf(bank, 0), x))
		must.OK(t, e.Load(rowOf(bank, 1), y))
		for _, b := range [][2]int{{0, 1}, {1, 0}} {
			got := must.Get(e.Dot(rowOf(bank, b[0]), rowOf(bank, b[1])))(t)
			if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("%s: dot of rows %v: got %g, want %g", c.name, b, got, c.want)
			}
		}
	}
}

// The spans of Info are what CombineBuffers changes of a row as Load and Store have it.
func TestBuffers(t *testing.T) {
	for _, net := range []string{"resnet20", "lenet5"} {
		e := newTest(t, net, 1, 1)
		bank := must.Get(e.NewBank(1))(t)
		w := slices.Repeat([]float32{1}, e.model.P)
		must.OK(t, e.Load(rowOf(bank, 0), w))
		must.OK(t, e.CombineBuffers(rowOf(bank, 0), nil, nil))
		for _, s := range e.Info().Buffers {
			clear(w[s.From:s.To])
		}
		same(t, net, load(t, e, rowOf(bank, 0)), w)
	}
}

// Every row starts at zero and keeps what was loaded, and only that row.
func TestLoadStore(t *testing.T) {
	e := newTest(t, "cnn-cinic10", 1, 1)
	b := must.Get(e.NewBank(3))(t)
	w := hashedWeights(e.model)
	must.OK(t, e.Load(rowOf(b, 1), w))
	zero := make([]float32, e.model.P)
	for i, want := range [][]float32{zero, w, zero} {
		same(t, fmt.Sprintf("row %d", i), load(t, e, rowOf(b, i)), want)
	}
	if b.Rows() != 3 || e.Info().Params != e.model.P {
		t.Errorf("%d rows of %d, want 3 of %d", b.Rows(), e.Info().Params, e.model.P)
	}
}

// Banks in files hold what banks in memory hold, in a folder that stays empty, and more than the memory has. What there
// is no room for is refused when it is asked for.
func TestRowsInFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("rows are in files on Linux alone")
	}
	dir := t.TempDir()
	e := newTest(t, "linear-mnist", 1, 1)
	e.rowsDir = dir
	w := make([]float32, e.model.P)
	for i := range w {
		w[i] = float32(i%61) - 30
	}
	files, inMemory := rows(t, e, 5, w), newTest(t, "linear-mnist", 1, 1)
	memory := rows(t, inMemory, 5, w)
	for _, on := range []struct {
		e *Engine
		b nets.Bank
	}{{e, files}, {inMemory, memory}} {
		must.OK(t, on.e.Combine(rowOf(on.b, 3), []float64{0.5, -2}, []nets.Row{rowOf(on.b, 3), rowOf(on.b, 1)}))
	}
	for i := range 5 {
		if !slices.Equal(load(t, e, rowOf(files, i)), load(t, inMemory, rowOf(memory, i))) {
			t.Errorf("row %d: another one than in memory", i)
		}
	}
	if slices.ContainsFunc(load(t, e, rowOf(must.Get(e.NewBank(1))(t), 0)), func(x float32) bool { return x != 0 }) {
		t.Error("a new bank, want zeros")
	}
	if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("%v in the folder, want nothing", left)
	}
	for _, c := range []struct {
		dir  string
		rows int
	}{{dir, 1 << 40}, {filepath.Join(dir, "none"), 1}} {
		e.rowsDir = c.dir
		if _, err := e.NewBank(c.rows); err == nil || !strings.Contains(err.Error(), c.dir) {
			t.Errorf("%d rows in %s: %v, want an error that names it", c.rows, c.dir, err)
		}
	}
	files.Free()
	if _, err := e.row("", rowOf(files, 0)); err == nil {
		t.Error("a row of a bank that was freed")
	}
}
