package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/models"
)

// Each client's smallest loss is the smallest loss of its problem alone; a client without samples has 0.
func TestLocal(t *testing.T) {
	s, i := drawn(90, 4, 3), all(90)
	parts := [][]int32{i[:20], nil, i[20:60], i[60:]}
	local := must.Get(Local(t.Context(), s, parts, 0.05))(t)
	last := solved(t, s, parts[3], 0.05, false).place
	for k, part := range parts {
		if len(part) == 0 {
			near(t, fmt.Sprintf("client %d without samples", k), local[k], 0, 0)
			continue
		}
		alone := solved(t, s, part, 0.05, false)
		near(t, fmt.Sprintf("client %d: loss", k), local[k], alone.loss, 0)
		if here := value(s, part, 0.05, false, last); k < 3 && !(alone.value < here) {
			t.Errorf("client %d: its minimum %g, want below its objective %g at another client's", k, alone.value, here)
		}
	}
}

// By hand: three labels of a constant feature have their entropy, whatever numbers they have; one class alone has 0, as
// no samples; and two classes of x = ±1 have the weight u of σ(−u) = u/(2n), n = 2: the ridge of two opposite outputs.
func TestReleasedCode(t *testing.T) {
	s := &plan.Samples{
		Name: "hand", H: 1, W: 1, C: 1, Classes: 10,
		Features: []float32{0, 0, 0, 0, 5, -5, 1, -1}, Labels: []uint8{2, 2, 5, 9, 4, 4, 7, 3},
	}
	got := must.Get(ReleasedCode(t.Context(), s, [][]int32{{0, 1, 2, 3}, {4, 5}, nil, {6, 7}}))(t)
	u := 1.0
	for range 200 { // Newton's steps of σ(−u) − u/4
		f := 1 / (1 + math.Exp(u))
		u -= (f - u/4) / (-f*(1-f) - 0.25)
	}
	for k, want := range []float64{0.5*math.Log(2) + 0.5*math.Log(4), 0, 0, math.Log1p(math.Exp(-u))} {
		near(t, fmt.Sprintf("client %d", k), got[k], want, 1e-6)
	}
}

// drawn returns n samples of normal features, whose labels follow a linear model with noise.
func drawn(n, features, classes int) *plan.Samples {
	s := &plan.Samples{
		Name: "drawn", H: 1, W: 1, C: features, Classes: classes,
		Features: make([]float32, n*features), Labels: make([]uint8, n),
	}
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

// outputs is the number of outputs for so many classes: two have one, the logit of class 1.
func outputs(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}

// logits computes the logits of a sample in the plainest way, from w in PyTorch's order.
func logits(s *plan.Samples, i int, w []float64) []float64 {
	z, n := make([]float64, s.Classes), outputs(s.Classes)
	for o := range n {
		at := len(z) - n + o
		z[at] = w[n*s.C+o]
		for j := range s.C {
			z[at] += w[o*s.C+j] * float64(s.Features[i*s.C+j])
		}
	}
	return z
}

// value is the objective of a client in the plainest way.
func value(s *plan.Samples, part []int32, ridge float64, freeBias bool, w []float64) float64 {
	sum := 0.0
	for _, i := range part {
		z, total := logits(s, int(i), w), 0.0
		for _, v := range z {
			total += math.Exp(v)
		}
		sum += (math.Log(total) - z[s.Labels[i]]) / float64(len(part))
	}
	for j, v := range w {
		if !freeBias || j < outputs(s.Classes)*s.C {
			sum += 0.5 * ridge * v * v
		}
	}
	return sum
}

// solved is the objective of these samples where it is smallest.
func solved(t *testing.T, s *plan.Samples, part []int32, ridge float64, freeBias bool) *objective {
	t.Helper()
	o := newObjective(s, part, ridge)
	o.freeBias = freeBias
	must.OK(t, o.minimise(t.Context()))
	return o
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: got %.12g, want %.12g ± %.2g", what, got, want, tol)
	}
}

// By hand: of a feature that is always 0, the biases alone can learn, and free ones learn the classes' shares; the
// smallest loss is their entropy. The gradient is the error of the probabilities, so Tolerance bounds theirs, and the
// loss's by its square.
func TestEntropy(t *testing.T) {
	s := &plan.Samples{
		Name: "constant", H: 1, W: 1, C: 1, Classes: 3, Features: make([]float32, 10),
		Labels: []uint8{0, 0, 0, 0, 0, 1, 1, 1, 2, 2},
	}
	got := solved(t, s, all(10), 0.01, true)
	want := -0.5*math.Log(0.5) - 0.3*math.Log(0.3) - 0.2*math.Log(0.2)
	near(t, "loss", got.loss, want, 1e-10)
	near(t, "objective", got.value, want, 1e-10)
	near(t, "log odds", got.place[3]-got.place[4], math.Log(0.5/0.3), 1e-5)
}

// By hand: of x = 1 labelled 1 and x = −1 labelled 0, the bias is 0 by symmetry, and w is where σ(−w) = Ridge·w: at 1
// if the ridge is σ(−1). Tolerance: the gradient's bound over the curvature, at least the ridge, for w; its square over
// twice the ridge for the objective.
func TestOneWeight(t *testing.T) {
	s := &plan.Samples{Name: "signs", H: 1, W: 1, C: 1, Classes: 2, Features: []float32{1, -1}, Labels: []uint8{1, 0}}
	ridge := 1 / (1 + math.E)
	got := solved(t, s, []int32{0, 1}, ridge, false)
	near(t, "weight", got.place[0], 1, tolerance/ridge)
	near(t, "bias", got.place[1], 0, tolerance/ridge)
	near(t, "loss", got.loss, math.Log1p(1/math.E), 1e-6)
	near(t, "objective", got.value, math.Log1p(1/math.E)+ridge/2, tolerance*tolerance/(2*ridge))
}

// The solution's numbers agree with the plain objective; its gradient, by central differences (good to 1e-8),
// is nearly zero; and no step away from it goes down, by more than the rounding of the objective.
func TestSolutions(t *testing.T) {
	const n = 2500 // three stripes
	for _, classes := range []int{2, 3, 10} {
		for _, free := range []bool{false, true} {
			t.Run(fmt.Sprintf("classes=%d_free=%t", classes, free), func(t *testing.T) {
				s := drawn(n, 5, classes)
				got := solved(t, s, all(n), 0.01, free)
				near(t, "objective", got.value, value(s, all(n), 0.01, free, got.place), 1e-12)
				if slope := floats.Norm(got.gradient, 2); slope > tolerance || got.evaluations < 2 {
					t.Errorf("gradient %g after %d evaluations, want at most %g", slope, got.evaluations, tolerance)
				}
				near(t, "loss", got.loss, value(s, all(n), 0, free, got.place), 1e-12)
				const h = 1e-5
				w := slices.Clone(got.place)
				for j := range w {
					w[j] = got.place[j] + h
					up := value(s, all(n), 0.01, free, w)
					w[j] = got.place[j] - h
					down := value(s, all(n), 0.01, free, w)
					w[j] = got.place[j]
					near(t, fmt.Sprintf("gradient of w[%d]", j), (up-down)/(2*h), 0, tolerance+1e-8)
					if min(up, down) < got.value-1e-10 {
						t.Errorf("w[%d]: %.12g and %.12g a step away, below the minimum %.12g", j, up, down, got.value)
					}
				}
			})
		}
	}
}

// The engine's losses at the solution are the solution's, and of features it predicts as many right: the same net, the
// same order of weights, images normalised alike. Tolerance: 1e-5, float32 logits of order 1.
func TestEngineAgrees(t *testing.T) {
	images := &plan.Samples{
		Name: "bytes", H: 28, W: 28, C: 1, Classes: 10, Mean: []float32{.1307}, Std: []float32{.3081},
	}
	r := rng.Key{Seed: 1, Purpose: rng.Generated}.Stream(0, 0, 0)
	for i := range 60 {
		images.Labels = append(images.Labels, uint8(i%10))
		for range 784 {
			images.Images = append(images.Images, uint8(r.Uint32()))
		}
	}
	for net, s := range map[string]*plan.Samples{
		"linear-synthetic": drawn(1000, 60, 10), "linear-binary": drawn(200, 10, 2), "linear-mnist": images,
	} {
		t.Run(net, func(t *testing.T) {
			got := solved(t, s, all(s.Len()), 0.01, false)
			e := must.Get(cpu.Open(must.Get(models.New(net))(t), s, nil, cpu.Options{Batch: 1}))(t)
			defer e.Close()
			bank := must.Get(e.NewBank(1))(t)
			w := make([]float32, len(got.place))
			for j, v := range got.place {
				w[j] = float32(v)
			}
			must.OK(t, e.Load(nets.Row{Bank: bank}, w))
			result := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: nets.Row{Bank: bank}}}))(t)[0]
			near(t, "the engine's loss", result.Loss, got.loss, 1e-5)
			right := 0
			for i := range s.Features[:len(s.Features)/s.C] {
				if z := logits(s, i, got.place); z[s.Labels[i]] == slices.Max(z) {
					right++
				}
			}
			if s.Features != nil && (result.Correct != right || right == 0 || right == s.Len()) {
				t.Errorf("%d of %d right, want %d, neither none nor all", result.Correct, s.Len(), right)
			}
			if got.loss > math.Log(float64(s.Classes))*0.9 {
				t.Errorf("loss %g, want one that has learnt something", got.loss)
			}
		})
	}
}

// The result is the same, bit for bit, on one core and on all.
func TestThreads(t *testing.T) {
	s := drawn(5000, 6, 4)
	many := solved(t, s, all(5000), 0.01, false)
	before := runtime.GOMAXPROCS(1)
	one := solved(t, s, all(5000), 0.01, false)
	runtime.GOMAXPROCS(before)
	if !slices.Equal(one.place, many.place) || one.value != many.value {
		t.Errorf("objective %.17g on one core, %.17g on %d, want the same", one.value, many.value, before)
	}
}

func TestErrors(t *testing.T) {
	s, parts := drawn(40, 3, 3), [][]int32{all(40)}
	if _, err := Local(t.Context(), s, parts, 0); fmt.Sprint(err) != "optimum: ridge 0, want a finite positive number" {
		t.Errorf("no ridge: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Local(ctx, s, parts, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	// Beyond float64: the curvature of so small a ridge.
	for i := range s.Features {
		s.Features[i] *= 1e18
	}
	if _, err := Local(t.Context(), s, parts, 1e-300); err == nil {
		t.Error("features of 1e18: no error")
	} else {
		t.Log(err)
	}
}
