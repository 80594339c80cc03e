package cpu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// The goldens are what PyTorch computes in float64; nets/models/testdata/goldens.py made them, says what is in them,
// and alone rewrites them.
type goldenFile struct {
	Net                 string
	Samples             int
	Mean, Std           []float32
	Seed, Round, Client int
	Places              int // elements of a digest; 0: 64
	Rate                float64
	Params              []struct {
		Name  string
		Shape []int
	}
	Cases []goldenCase
}

type goldenCase struct {
	Name                string
	Batch, Count, Steps int
	Plan                int // the tensor of hashedPlan
	LR                  float64
	WeightDecay         float64 `json:"weight_decay"`
	Momentum            float64
	Clip                *float64
	Drift               bool
	Norms               []float64
	Loss                float64
	Logits              [][]float64
	Grads               []digest
	Update              []digest
	Evaluated           [][]float64
	Float32             struct{ Loss, Logits, Grads, Update, Evaluated float64 }
}

// digest is one tensor in PyTorch's layout, in short.
type digest struct {
	Norm, Sum, Largest float64
	Elements           []float64
}

// Tolerances, as parts of a tensor's largest element. One step or gradient: 1e-5, what correct float32 programs agree
// to (the goldens' own float32 column has 1e-6 … 6e-6). Five steps: 1e-4, half way (in the logarithm) to the 1e-3 of
// ten. In a deep net with batch normalisation a ReLU that two programs round to different sides in a later step sets
// them apart for good: PyTorch's own float32 and float64 differ by 0.012 there, so 0.02. Running statistics, which are
// means, do not. Logits of the net that five steps end in: 1e-3, for the same reason.
const (
	oneStep        = 1e-5
	fiveSteps      = 1e-4
	residualUpdate = 0.02
	evaluated      = 1e-3
)

func tolerance(steps int) float64 {
	if steps == 1 {
		return oneStep
	}
	return fiveSteps
}

// check compares a tensor with its digest: every element and the norm within tol of the largest, or of the norm, plus
// round, the rounding that every element may have by itself; the sum within what that allows a tensor of n elements.
func (d digest) check(t *testing.T, name string, tensor int, got []float64, tol, round float64) {
	t.Helper()
	n := len(got)
	var sum, squares, largest float64
	for _, v := range got {
		sum += v
		squares += v * v
		largest = max(largest, math.Abs(v))
	}
	root := math.Sqrt(float64(n))
	within := func(what string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol) {
			t.Errorf("%s: %s: got %.9g, want %.9g ± %.2g", name, what, got, want, tol)
		}
	}
	within("norm", math.Sqrt(squares), d.Norm, tol*d.Norm+round*root)
	within("sum", sum, d.Sum, root*(tol*d.Norm+round*root))
	within("largest", largest, d.Largest, tol*d.Largest+round)
	for i, want := range d.Elements {
		at := i
		if n > len(d.Elements) {
			at = int(hashed(hashPlace, tensor, i) % uint32(n))
		}
		within(fmt.Sprintf("element %d", at), got[at], want, tol*d.Largest+round)
	}
}

// checkAll compares a row a−b in PyTorch's order with the digests of all parameters; b nil: a alone.
func checkAll(t *testing.T, m *models.Model, what string, a, b []float32, want []digest, tol, round float64) {
	t.Helper()
	if len(want) != len(m.Params) {
		t.Fatalf("%s: the golden has %d tensors, want %d", what, len(want), len(m.Params))
	}
	for i, p := range m.Params {
		got := make([]float64, p.Size)
		for j := range got {
			got[j] = float64(a[p.Offset+j])
			if b != nil {
				got[j] -= float64(b[p.Offset+j])
			}
		}
		tol := tol
		if m.Trained < m.P && tol == fiveSteps && !p.Buffer {
			tol = residualUpdate
		}
		want[i].check(t, what+" of "+p.Name, i, got, tol, round)
	}
}

func readGolden(t *testing.T, net string) goldenFile {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../models/testdata", net+".json"))
	if err != nil {
		t.Fatalf("%v: a net needs its golden: add it to nets/models/testdata/goldens.py and run that", err)
	}
	var f goldenFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("%s.json: %v", net, err)
	}
	places := cmp.Or(f.Places, 64)
	for _, c := range f.Cases {
		for i, p := range f.Params {
			size := 1
			for _, d := range p.Shape {
				size *= d
			}
			if got, want := len(c.Update[i].Elements), min(size, places); got != want {
				t.Fatalf("%s.json: %s: %d elements of %s, want %d", net, c.Name, got, p.Name, want)
			}
		}
	}
	return f
}

func TestGolden(t *testing.T) {
	longtest.Numbers(t)
	for _, net := range models.Names() {
		large := net == "resnet18" // the same ops as resnet20's, eleven times as long
		t.Run(net, func(t *testing.T) {
			f := readGolden(t, net)
			m := must.Get(models.New(net))(t)
			if len(f.Params) != len(m.Params) || f.Net != net {
				t.Fatalf("golden of %s with %d parameters, want %s with %d", f.Net, len(f.Params), net, len(m.Params))
			}
			for i, p := range m.Params {
				if g := f.Params[i]; g.Name != p.Name || !slices.Equal(g.Shape, p.Shape) {
					t.Errorf("parameter %d: %s %v, PyTorch has %s %v", i, p.Name, p.Shape, g.Name, g.Shape)
				}
			}
			for _, c := range f.Cases {
				t.Run(c.Name, func(t *testing.T) {
					if large && c.Name != "plain" {
						longtest.Only(t, "one case of this net takes seconds")
					}
					golden(t, m, &f, &c)
				})
			}
		})
	}
}

func golden(t *testing.T, m *models.Model, f *goldenFile, c *goldenCase) {
	e := must.Get(Open(m, hashedSamples(m, f.Samples, f.Mean, f.Std), nil, Options{Threads: 2, Batch: c.Batch}))(t)
	defer e.Close()
	w0 := hashedWeights(m)
	bank := must.Get(e.NewBank(4))(t)
	start, end, momentum, drift := rowOf(bank, 0), rowOf(bank, 1), rowOf(bank, 2), rowOf(bank, 3)
	must.OK(t, e.Load(start, w0))
	var d []float32
	for i, p := range m.Params {
		d = append(d, symmetric(hashDrift, i, p.Size, 0x1p-6)...)
	}
	must.OK(t, e.Load(drift, d))
	client := nets.ClientWork{
		Client: f.Client, Start: start, End: end, Plan: hashedPlan(c.Plan, c.Steps, c.Batch, c.Count, f.Samples),
	}
	work := nets.LocalWork{
		Round: f.Round, Seed: uint32(f.Seed), LR: c.LR, WeightDecay: c.WeightDecay, Momentum: c.Momentum, Clip: c.Clip,
	}

	if c.Grads != nil {
		goldenFirstBatch(t, e, f, c, work, client, momentum)
	}
	if c.Momentum != 0 {
		must.OK(t, e.Load(momentum, make([]float32, m.P)))
		client.Momentum = momentum
	}
	if c.Drift {
		client.Drift = drift
	}
	work.Clients = []nets.ClientWork{client}
	must.Get(e.Train(t.Context(), work))(t)
	w1 := make([]float32, m.P)
	must.OK(t, e.Store(end, w1))
	// Weights are below 1/2, so half a unit in the last place is at most 2^-26, once a step; weights of batch
	// normalisations and running variances are below 2.
	unit := 0x1p-26
	if c.Evaluated != nil {
		unit = 0x1p-24
	}
	checkAll(t, m, "update", w1, w0, c.Update, tolerance(c.Steps), float64(c.Steps)*unit)
	if c.Evaluated != nil {
		goldenEvaluated(t, e, c, end)
	}
}

// goldenEvaluated compares the logits of the first samples in evaluation mode, with the running statistics of five
// steps.
func goldenEvaluated(t *testing.T, e *Engine, c *goldenCase, end nets.Row) {
	index := []int32{0, 1, 2, 3, 4, 5, 6, 7}
	must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: end, Part: nets.Train, Index: index}}))(t)
	for _, s := range e.slots {
		if s.evalMachine != nil {
			compareLogits(t, "evaluated", s.evalMachine.Logits, c.Evaluated, evaluated)
		}
	}
}

// compareLogits compares with a golden's, each within tol of the largest.
func compareLogits(t *testing.T, what string, got []float32, want [][]float64, tol float64) {
	t.Helper()
	largest := 0.0
	for _, row := range want {
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	for b, row := range want {
		for o, want := range row {
			if got := float64(got[b*len(row)+o]); math.Abs(got-want) > tol*largest {
				t.Errorf("%s[%d,%d]: got %.9g, want %.9g ± %.2g", what, b, o, got, want, tol*largest)
			}
		}
	}
}

// goldenFirstBatch compares loss, logits and gradients of the first batch.
func goldenFirstBatch(
	t *testing.T, e *Engine, f *goldenFile, c *goldenCase,
	work nets.LocalWork, client nets.ClientWork, momentum nets.Row,
) {
	m := e.model
	// After one step the momentum row, zero before, is the gradient itself.
	client.Plan.E, client.Momentum = 1, momentum
	client.Plan.Index, client.Plan.Crop, client.Plan.Flip = client.Plan.Index[:c.Batch],
		client.Plan.Crop[:2*c.Batch], client.Plan.Flip[:c.Batch]
	work.Clients = []nets.ClientWork{client}
	loss := must.Get(e.Train(t.Context(), work))(t)
	// Losses are of order 3, where a float32 has steps of 2.4e-7; their error is the error of the logits.
	if got := float64(loss[0]); math.Abs(got-c.Loss) > oneStep {
		t.Errorf("loss: got %.9g, want %.9g ± %g", got, c.Loss, oneStep)
	}
	grad := make([]float32, m.P)
	must.OK(t, e.Store(momentum, grad))
	checkAll(t, m, "gradient", grad, nil, c.Grads, oneStep, 0)
	norm := must.Get(nets.Norm(e, momentum))(t)
	if math.Abs(norm-c.Norms[0]) > oneStep*c.Norms[0] {
		t.Errorf("gradient norm: got %.9g, want %.9g ± %.2g", norm, c.Norms[0], oneStep*c.Norms[0])
	}

	s := e.slots[0]
	machine := must.Get(s.machine(true))(t)
	job := must.Get(e.trainJob(&work, 0))(t)
	copy(s.row, job.rows.Start)
	if !s.load(machine, &job, 0) {
		t.Fatal("the first batch is empty")
	}
	must.OK(t, machine.run())
	if len(c.Logits) != c.Count {
		t.Fatalf("the golden has logits of %d samples, want %d", len(c.Logits), c.Count)
	}
	compareLogits(t, "logits", machine.Logits, c.Logits, oneStep)
}

// The goldens' own float32 column must be well inside the tolerances, or they would be too tight to mean anything.
func TestGoldenTolerances(t *testing.T) {
	for _, net := range models.Names() {
		for _, c := range readGolden(t, net).Cases {
			// clipped updates are small beside the rounding of the weights, which is allowed for by itself
			limit := 2 * tolerance(c.Steps)
			if c.Evaluated != nil && c.Steps > 1 {
				limit = residualUpdate
			}
			if c.Float32.Update > limit || c.Float32.Grads > oneStep {
				t.Errorf("%s: %s: float32 and float64 of PyTorch differ by %g and %g, want at most %g and %g",
					net, c.Name, c.Float32.Update, c.Float32.Grads, limit, oneStep)
			}
		}
	}
}

// What a hashed number is for; goldens.py has the same list.
const (
	hashImage = iota + 1
	hashLabel
	hashWeight
	hashIndex
	hashCrop
	hashFlip
	hashDrift
	hashPlace
	hashFeature
)

// hashed is goldens.py's source of numbers.
func hashed(kind, tensor, i int) uint32 {
	x := uint32(i)*0x9E3779B1 + uint32(kind)*0x85EBCA6B + uint32(tensor)*0xC2B2AE35
	for _, m := range []uint32{0x7FEB352D, 0x846CA68B} {
		x ^= x >> 16
		x *= m
	}
	return x ^ x>>15
}

// symmetric returns n numbers in ±bound.
func symmetric(kind, tensor, n int, bound float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((float64(hashed(kind, tensor, i))*0x1p-31 - 1) * bound)
	}
	return x
}

// hashedWeights are the weights the goldens start from, in PyTorch's order.
func hashedWeights(m *models.Model) []float32 {
	var w []float32
	for i, p := range m.Params {
		bound := 0.125
		if len(p.Shape) > 1 {
			bound = math.Sqrt(6 / float64(p.FanIn))
			if p.Last {
				bound = math.Sqrt(1 / float64(p.FanIn))
			}
		}
		x := symmetric(hashWeight, i, p.Size, bound)
		for j := range x {
			if strings.HasSuffix(p.Name, ".running_var") || len(p.Shape) == 1 && strings.HasSuffix(p.Name, ".weight") {
				x[j]++
			}
		}
		w = append(w, x...)
	}
	return w
}

// hashedSamples are n samples of noise, as a net takes them: images, of whose mean and std the first channels are used,
// or features.
func hashedSamples(m *models.Model, n int, mean, std []float32) *plan.Samples {
	s := &plan.Samples{Name: "hashed", H: m.H, W: m.W, C: m.C, Classes: m.Classes, Labels: make([]uint8, n)}
	for i := range s.Labels {
		s.Labels[i] = uint8(hashed(hashLabel, 0, i) % uint32(m.Classes))
	}
	size := n * m.H * m.W * m.C
	if m.H == 1 {
		s.Features = symmetric(hashFeature, 0, size, 1)
		return s
	}
	s.Mean, s.Std, s.Images = mean[:m.C], std[:m.C], make([]uint8, size)
	for i := range s.Images {
		s.Images[i] = uint8(hashed(hashImage, 0, i) >> 24)
	}
	return s
}

func rest(s *plan.Samples, n int) *plan.Samples {
	r := *s
	r.Labels = s.Labels[n:]
	if s.Features != nil {
		r.Features = s.Features[n*s.H*s.W*s.C:]
	} else {
		r.Images = s.Images[n*s.H*s.W*s.C:]
	}
	return &r
}

// hashedPlan reads n samples in hashed order, crops and flips; tensor tells plans apart; places from count on are
// padding.
func hashedPlan(tensor, steps, batch, count, n int) plan.Local {
	l := plan.Local{
		E: steps, B: batch, Index: make([]int32, steps*batch), Crop: make([]uint8, 2*steps*batch),
		Flip: make([]uint8, steps*batch),
	}
	for i := range l.Index {
		l.Index[i] = -1
		if i%batch < count {
			l.Index[i] = int32(hashed(hashIndex, tensor, i) % uint32(n))
		}
		l.Flip[i] = uint8(hashed(hashFlip, tensor, i) % 2)
	}
	for i := range l.Crop {
		l.Crop[i] = uint8(hashed(hashCrop, tensor, i) % (2*plan.Pad + 1))
	}
	return l
}

func rowOf(b nets.Bank, i int) nets.Row { return nets.Row{Bank: b, Index: i} }
