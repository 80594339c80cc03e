package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// logits returns rows of n numbers of several kinds: close together, far apart, further apart than exp reaches.
func logits(r *rand.Rand, n int, spread float32) []float32 {
	x := fractions(r, n)
	for i := range x {
		x[i] *= spread
	}
	return x
}

func TestSoftmax(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(29, 30))
		for n := 1; n <= 130; n++ {
			for _, spread := range []float32{0, 1e-3, 1, 30, 400, 1e30} {
				x, c := logits(r, n, spread), 2*r.Float64()-1
				room := blocks(n, wideLanes) * wideLanes
				want, wantE := make([]float32, n), make([]float64, room)
				wantTop, wantZ := generic[float32]{}.Softmax(want, wantE, x, c)
				p.Reset()
				got, e, in := lend(p, numbers(r, n, 0)), lend(p, make([]float64, room)), lend(p, x)
				top, z := k.Softmax(got, e, in, c)
				what := fmt.Sprintf("n=%d in ±%g", n, spread)
				p.Intact(t, what)
				if top != wantTop {
					t.Fatalf("%s: top: got %g, want %g", what, top, wantTop)
				}
				// The series and math.Exp are each within a unit, 2⁻⁵², of the truth, and e below exp(−708) is 0.
				const unit = 0x1p-52
				for i := range x {
					if math.Abs(e[i]-wantE[i]) > 2*unit*wantE[i]+0x1p-1021 {
						t.Fatalf("%s: e[%d] = exp(%g): got %.17g, want %.17g ± 2·2⁻⁵²",
							what, i, x[i]-top, e[i], wantE[i])
					}
				}
				if tol := float64(n+3) * unit * wantZ; math.Abs(z-wantZ) > tol {
					t.Fatalf("%s: z: got %.17g, want %.17g ± %g ((n+3)·2⁻⁵²)", what, z, wantZ, tol)
				}
				for i := range x {
					// Rounded from float64 to float32 once, so a unit of float32 apart at most.
					diff := math.Abs(float64(got[i]) - float64(want[i]))
					if diff > 0x1p-23*math.Abs(float64(want[i]))+0x1p-149 {
						t.Fatalf("%s: p[%d]: got %g, want %g ± 2⁻²³ of it", what, i, got[i], want[i])
					}
				}
				if _, again := k.Softmax(nil, e, in, c); again != z {
					t.Fatalf("%s: without p: z %g, with p %g, want the same", what, again, z)
				}
			}
		}
	})
}

// TestSoftmaxNaN: what is not finite makes everything NaN, but for −Inf beside a finite number, which counts for
// nothing.
func TestSoftmaxNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, k := range Variants() {
		for _, n := range []int{1, 5, 8, 10, 17, 100} {
			for at := range n {
				for _, v := range []float32{nan, inf, math.Float32frombits(0xffc12345)} {
					x, p, e := make([]float32, n), make([]float32, n), make([]float64, n+wideLanes)
					x[at] = v
					_, z := k.Softmax(p, e, x, 1)
					if z == z || slices.ContainsFunc(p, func(v float32) bool { return v == v }) {
						t.Fatalf("%s: n=%d x[%d]=%g: z %g, p %v, want NaN all over", k.Name(), n, at, v, z, p)
					}
				}
			}
			x, p, e := slices.Repeat([]float32{-inf}, n), make([]float32, n), make([]float64, n+wideLanes)
			if _, z := k.Softmax(p, e, x, 1); z == z {
				t.Errorf("%s: n=%d of −Inf: z %g, want NaN", k.Name(), n, z)
			}
			x[n/2] = -3
			if top, z := k.Softmax(p, e, x, 1); top != -3 || z != 1 || p[n/2] != 1 {
				t.Errorf("%s: n=%d, −3 among −Inf: top %g z %g p %g, want −3, 1, 1", k.Name(), n, top, z, p[n/2])
			}
		}
	}
}

// TestCrossEntropy compares loss and gradient with the formula in the plainest loops and float64.
func TestCrossEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, k := range Variants() {
		exec := NewExec(k, nil)
		for _, c := range []struct {
			name       string
			b, n, skip int // every skip-th sample is ignored; 0: none
			spread     float32
		}{
			{"10 classes", 7, 10, 0, 3},
			{"ragged", 7, 10, 3, 3},
			{"all ignored", 4, 10, 1, 3},
			{"100 classes", 5, 100, 2, 10},
			{"sure", 7, 10, 0, 90},
		} {
			x, labels, grad := logits(r, c.b*c.n, c.spread), make([]int32, c.b), numbers(r, c.b*c.n, 2)
			count, loss := 0, 0.0
			for i := range labels {
				labels[i] = int32(r.IntN(c.n))
				if c.skip > 0 && i%c.skip == 0 {
					labels[i] = Ignore
				} else {
					count++
				}
			}
			want := make([]float64, c.b*c.n)
			for i, label := range labels {
				if label == Ignore {
					continue
				}
				z := 0.0
				for _, v := range x[i*c.n:][:c.n] {
					z += math.Exp(float64(v) - float64(x[i*c.n+int(label)]))
				}
				loss += math.Log(z) / float64(count)
				for j, v := range x[i*c.n:][:c.n] {
					p := math.Exp(float64(v)-float64(x[i*c.n+int(label)])) / z
					if j == int(label) {
						p = math.Expm1(-math.Log(z))
					}
					want[i*c.n+j] = p / float64(count)
				}
			}
			got := CrossEntropy(exec, x, labels, grad)
			// The loss is a float32, rounded once.
			if math.Abs(float64(got)-loss) > 0x1p-24*loss+1e-15 {
				t.Errorf("%s: %s: loss %g, want %g ± 2⁻²⁴ of it", k.Name(), c.name, got, loss)
			}
			for i, w := range want {
				// One rounding to float32, and the few of float64 in front of it, absolute in p − 1.
				if math.Abs(float64(grad[i])-w) > 0x1p-23*math.Abs(w)+1e-15 {
					t.Errorf("%s: %s: gradient [%d,%d]: got %g, want %g ± 2⁻²³ of it",
						k.Name(), c.name, i/c.n, i%c.n, grad[i], w)
				}
			}
		}
	}
}

func TestScore(t *testing.T) {
	nan := float32(math.NaN())
	x := []float32{
		1, 2, 0, // right
		2, 2, 0, // the first of equals: label 1 is wrong
		2, 2, 0, // and label 0 right
		9, 9, 9, // padding
		0, nan, 1, // never right
	}
	labels := []int32{1, 1, 0, Ignore, 1}
	for _, k := range Variants() {
		loss, correct, count := Score(NewExec(k, nil), x[:12], labels[:4])
		want := math.Log(1+math.Exp(-1)+math.Exp(-2)) + 2*math.Log(2+math.Exp(-2))
		// A handful of roundings of float64.
		if math.Abs(loss-want) > 1e-15*10 || correct != 2 || count != 3 {
			t.Errorf("%s: loss %.17g, %d of %d, want %.17g ± 1e-14, 2 of 3", k.Name(), loss, correct, count, want)
		}
		if loss, correct, count := Score(NewExec(k, nil), x, labels); loss == loss || correct != 2 || count != 4 {
			t.Errorf("%s: with NaN: loss %g, %d of %d, want NaN, 2 of 4", k.Name(), loss, correct, count)
		}
	}
}

func TestSoftmaxPanics(t *testing.T) {
	for _, k := range fast(t) {
		x, e := make([]float32, 10), make([]float64, 16)
		for what, run := range map[string]func(){
			"no x":    func() { k.Softmax(x, e, nil, 1) },
			"short e": func() { k.Softmax(x, e[:15], x, 1) },
			"short p": func() { k.Softmax(x[:9], e, x, 1) },
		} {
			wantPanic(t, k.Name()+": softmax: "+what, run)
		}
	}
}
