package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/nets"
)

// drawn returns n samples of normal features, whose labels follow a linear model with noise.
func drawn(n, features, classes int) *plan.Samples {
	s := &plan.Samples{Name: "drawn", H: 1, W: 1, C: features, Classes: classes, Features: make([]float32, n*features), Labels: make([]uint8, n)}
	r := rng.Key{Seed: 8, Purpose: rng.Generated}.Stream(0, 0, 0)
	model := make([]float64, classes*features)
	for j := range model {
		model[j] = r.Normal()
	}
	for i := range n {
		best := math.Inf(-1)
		for j := range features {
			s.Features[i*features+j] = float32(1 + 2*r.Normal())
		}
		for c := range classes {
			z := 2 * r.Normal()
			for j := range features {
				z += model[c*features+j] * float64(s.Features[i*features+j])
			}
			if z > best {
				best, s.Labels[i] = z, uint8(c)
			}
		}
	}
	return s
}

func all(n int) []int32 {
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	return index
}

// value is the objective of the first client in the plainest way, of outputs by PyTorch's order of w.
func value(p *Problem, w []float64) float64 {
	features, outputs := p.Samples.C, p.Samples.Classes
	if outputs == 2 {
		outputs = 1
	}
	sum := 0.0
	for _, i := range p.Parts[0] {
		z := make([]float64, p.Samples.Classes)
		for o := range outputs {
			at := len(z) - outputs + o // the one output of two classes is that of class 1
			z[at] = w[outputs*features+o]
			for j := range features {
				z[at] += w[o*features+j] * float64(p.Samples.Features[int(i)*features+j])
			}
		}
		total := 0.0
		for _, v := range z {
			total += math.Exp(v)
		}
		sum += (math.Log(total) - z[p.Samples.Labels[i]]) / float64(len(p.Parts[0]))
	}
	for j, v := range w {
		if !p.FreeBias || j < outputs*features {
			sum += 0.5 * p.Ridge * v * v
		}
	}
	return sum
}

// solve solves the problem of the first client.
func solve(t *testing.T, p Problem) Solution {
	t.Helper()
	s, err := Local(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: got %.12g, want %.12g ± %.2g", what, got, want, tol)
	}
}

// By hand: of a feature that is always 0, the biases alone can learn, and free ones learn the classes' shares; the smallest
// loss is their entropy. The gradient is the error of the probabilities, so Tolerance bounds theirs, and the loss's by its
// square.
func TestEntropy(t *testing.T) {
	s := &plan.Samples{Name: "constant", H: 1, W: 1, C: 1, Classes: 3, Features: make([]float32, 10), Labels: []uint8{0, 0, 0, 0, 0, 1, 1, 1, 2, 2}}
	got := solve(t, Problem{Samples: s, Parts: [][]int32{all(10)}, Ridge: 0.01, FreeBias: true, Tolerance: Tolerance})
	want := -0.5*math.Log(0.5) - 0.3*math.Log(0.3) - 0.2*math.Log(0.2)
	near(t, "loss", got.Loss, want, 1e-10)
	near(t, "objective", got.Objective, want, 1e-10)
	near(t, "log odds", got.W[3]-got.W[4], math.Log(0.5/0.3), 1e-5)
}

// By hand: of x = 1 labelled 1 and x = −1 labelled 0, the bias is 0 by symmetry, and w is where σ(−w) = Ridge·w: at 1 if the
// ridge is σ(−1). Tolerance: the gradient's bound over the curvature, at least the ridge, for w; its square over twice the
// ridge for the objective.
func TestOneWeight(t *testing.T) {
	s := &plan.Samples{Name: "signs", H: 1, W: 1, C: 1, Classes: 2, Features: []float32{1, -1}, Labels: []uint8{1, 0}}
	ridge := 1 / (1 + math.E)
	got := solve(t, Problem{Samples: s, Parts: [][]int32{{0, 1}}, Ridge: ridge, Tolerance: Tolerance})
	near(t, "weight", got.W[0], 1, Tolerance/ridge)
	near(t, "bias", got.W[1], 0, Tolerance/ridge)
	near(t, "loss", got.Loss, math.Log1p(1/math.E), 1e-6)
	near(t, "objective", got.Objective, math.Log1p(1/math.E)+ridge/2, Tolerance*Tolerance/(2*ridge))
}

// The solution's numbers are those of the plain objective; its gradient, by central differences of that (good to 1e-8), is
// nearly zero; and no step away from it goes down, by more than the rounding of the objective.
func TestSolutions(t *testing.T) {
	const n = 2500 // three stripes
	for _, classes := range []int{2, 3, 10} {
		for _, free := range []bool{false, true} {
			t.Run(fmt.Sprintf("classes=%d_free=%t", classes, free), func(t *testing.T) {
				s := drawn(n, 5, classes)
				p := Problem{Samples: s, Parts: [][]int32{all(n)}, Ridge: 0.01, FreeBias: free, Tolerance: Tolerance}
				got := solve(t, p)
				near(t, "objective", got.Objective, value(&p, got.W), 1e-12)
				if got.Gradient > Tolerance || got.Evaluations < 2 {
					t.Errorf("gradient %g after %d evaluations, want at most %g", got.Gradient, got.Evaluations, Tolerance)
				}
				bare := p
				bare.Ridge = 0
				near(t, "loss", got.Loss, value(&bare, got.W), 1e-12)
				const h = 1e-5
				w := slices.Clone(got.W)
				for j := range w {
					w[j] = got.W[j] + h
					up := value(&p, w)
					w[j] = got.W[j] - h
					down := value(&p, w)
					w[j] = got.W[j]
					near(t, fmt.Sprintf("gradient of w[%d]", j), (up-down)/(2*h), 0, Tolerance+1e-8)
					if min(up, down) < got.Objective-1e-10 {
						t.Errorf("w[%d]: %.12g and %.12g a step away, below the minimum %.12g", j, up, down, got.Objective)
					}
				}
			})
		}
	}
}

// The engine's losses at the solution are the solution's: the same net, the same order of weights, images normalised alike.
// Tolerance: 1e-5, float32 logits of order 1.
func TestEngineAgrees(t *testing.T) {
	images := &plan.Samples{Name: "bytes", H: 28, W: 28, C: 1, Classes: 10, Mean: []float32{.1307}, Std: []float32{.3081}}
	r := rng.Key{Seed: 1, Purpose: rng.Generated}.Stream(0, 0, 0)
	for i := range 60 {
		images.Labels = append(images.Labels, uint8(i%10))
		for range 784 {
			images.Images = append(images.Images, uint8(r.Uint32()))
		}
	}
	for net, s := range map[string]*plan.Samples{"linear-synthetic": drawn(200, 60, 10), "linear-binary": drawn(200, 10, 2), "linear-mnist": images} {
		t.Run(net, func(t *testing.T) {
			got := solve(t, Problem{Samples: s, Parts: [][]int32{all(s.Len())}, Ridge: 0.01, Tolerance: Tolerance})
			m, err := nets.NewModel(net)
			if err != nil {
				t.Fatal(err)
			}
			e, err := nets.NewCPU(m, s, nil, nets.CPUOptions{Batch: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			bank, err := e.NewBank(1)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]float32, len(got.W))
			for j, v := range got.W {
				w[j] = float32(v)
			}
			if err := e.Load(nets.Row{Bank: bank}, w); err != nil {
				t.Fatal(err)
			}
			results, err := e.Evaluate(t.Context(), []nets.EvalJob{{Row: nets.Row{Bank: bank}}})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "the engine's loss", results[0].Loss, got.Loss, 1e-5)
			if got.Loss > math.Log(float64(s.Classes))*0.9 {
				t.Errorf("loss %g, want one that has learnt something", got.Loss)
			}
		})
	}
}

// The result is the same, bit for bit, on one core and on all.
func TestThreads(t *testing.T) {
	p := Problem{Samples: drawn(5000, 6, 4), Parts: [][]int32{all(5000)}, Ridge: 0.01, Tolerance: Tolerance}
	many := solve(t, p)
	before := runtime.GOMAXPROCS(1)
	one := solve(t, p)
	runtime.GOMAXPROCS(before)
	if !slices.Equal(one.W, many.W) || one.Objective != many.Objective {
		t.Errorf("objective %.17g on one core, %.17g on %d, want the same", one.Objective, many.Objective, before)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Problem)
		want   string
	}{
		{"samples", func(p *Problem) { p.Samples = nil }, "optimum: no samples"},
		{"no clients", func(p *Problem) { p.Parts = nil }, "optimum: 0 clients, none with samples, want at least one"},
		{"empty", func(p *Problem) { p.Parts = make([][]int32, 2) }, "optimum: 2 clients, none with samples, want at least one"},
		{"ridge", func(p *Problem) { p.Ridge = 0 }, "optimum: ridge 0, want a finite positive number"},
		{"tolerance", func(p *Problem) { p.Tolerance = math.NaN() }, "optimum: tolerance NaN, want positive"},
		{"labels", func(p *Problem) { p.Samples.Labels[3] = 9 }, "optimum: plan: drawn: sample 3: label 9, want 0 … 2"},
		{"classes", func(p *Problem) { p.Samples.Classes, p.Samples.Labels = 1, make([]uint8, 40) }, "optimum: drawn: 1 classes, want at least 2"},
		{"sample", func(p *Problem) { p.Parts[1][2] = 40 }, "optimum: client 1: sample 40, want 0 … 39"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Problem{Samples: drawn(40, 3, 3), Parts: [][]int32{all(20), all(10)}, Ridge: 1, Tolerance: 1e-6}
			c.change(&p)
			if _, err := Local(t.Context(), p); fmt.Sprint(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := Problem{Samples: drawn(40, 3, 3), Parts: [][]int32{all(40)}, Ridge: 1, Tolerance: 1e-6}
	if _, err := Local(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	p.Tolerance = 1e-300 // beyond float64
	_, err := Local(t.Context(), p)
	if err == nil {
		t.Fatal("a gradient of 1e-300: no error")
	}
	t.Log(err)
}
