package cpu

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// trainOnce trains one client on a plan and returns the loss and the weights.
func trainOnce(
	t *testing.T, net string, batch int, w []float32,
	change func(*nets.LocalWork, *nets.ClientWork, nets.Bank), l plan.Local,
) (loss float32, end, momentum []float32) {
	t.Helper()
	e := newTest(t, net, 2, batch)
	b := must.Get(e.NewBank(4))(t)
	must.OK(t, e.Load(rowOf(b, 0), w))
	work, c := nets.LocalWork{LR: 0x1p-6}, nets.ClientWork{Start: rowOf(b, 0), End: rowOf(b, 1), Plan: l}
	change(&work, &c, b)
	work.Clients = []nets.ClientWork{c}
	loss = must.Get(e.Train(t.Context(), work))(t)[0]
	end = load(t, e, rowOf(b, 1))
	each(e.model, true, func(p models.Param) {
		if least := slices.Min(end[p.Offset:][:p.Size]); strings.HasSuffix(p.Name, "running_var") && !(least >= 0) {
			t.Errorf("%s: a running variance of %g, want none below 0", p.Name, least)
		}
	})
	return loss, end, load(t, e, rowOf(b, 2))
}

// each calls do for the learned parameters of a row, or for its running statistics.
func each(m *models.Model, buffers bool, do func(p models.Param)) {
	for _, p := range m.Params {
		if p.Buffer == buffers {
			do(p)
		}
	}
}

// Samples that do not count enter no statistics and no gradient, wherever they stand in the batch: 5 of 8 give what
// 5 of 5 give.
func TestRaggedBatch(t *testing.T) {
	nothing := func(*nets.LocalWork, *nets.ClientWork, nets.Bank) {}
	var w, want []float32
	for _, net := range []string{"cnn-svhn", "resnet20"} {
		w = hashedWeights(must.Get(models.New(net))(t))
		var wantLoss float32
		wantLoss, want, _ = trainOnce(t, net, 5, w, nothing, hashedPlan(0, 1, 5, 5, 40))
		loss, got, _ := trainOnce(t, net, 8, w, nothing, hashedPlan(0, 1, 8, 5, 40))
		same(t, net+": loss", []float32{loss}, []float32{wantLoss})
		same(t, net+": weights", got, want)
	}

	// Scattered, the sums have other orders: tolerance ten times what float32 programs agree to.
	l := hashedPlan(0, 1, 8, 5, 40)
	order := []int{5, 0, 1, 6, 2, 3, 7, 4}
	scattered := plan.Local{E: 1, B: 8, Index: make([]int32, 8), Crop: make([]uint8, 16), Flip: make([]uint8, 8)}
	for to, from := range order {
		scattered.Index[to], scattered.Flip[to] = l.Index[from], l.Flip[from]
		copy(scattered.Crop[2*to:], l.Crop[2*from:][:2])
	}
	_, got, _ := trainOnce(t, "resnet20", 8, w, nothing, scattered)
	for i := range got {
		if d := got[i] - want[i]; d > 1e-4 || d < -1e-4 {
			t.Fatalf("element %d: got %g, want %g ± 1e-4", i, got[i], want[i])
		}
	}
}

// Weight decay, clipping, momentum, drift and learning rate do not touch running statistics, and their momentum stays
// 0.
func TestBuffersAreNoWeights(t *testing.T) {
	m := must.Get(models.New("resnet20"))(t)
	w, l := hashedWeights(m), hashedPlan(0, 1, 4, 4, 40)
	_, want, _ := trainOnce(t, "resnet20", 4, w, func(*nets.LocalWork, *nets.ClientWork, nets.Bank) {}, l)
	_, got, momentum := trainOnce(t, "resnet20", 4, w, func(work *nets.LocalWork, c *nets.ClientWork, b nets.Bank) {
		clip := 0.01
		work.LR, work.WeightDecay, work.Momentum, work.Clip = 0.5, 0.25, 0.5, &clip
		c.Momentum, c.Drift = rowOf(b, 2), rowOf(b, 0)
	}, l)
	each(m, true, func(p models.Param) {
		same(t, p.Name, got[p.Offset:][:p.Size], want[p.Offset:][:p.Size])
		if v := momentum[p.Offset:][:p.Size]; slices.Max(v) != 0 || slices.Min(v) != 0 {
			t.Errorf("momentum of %s: %g … %g, want 0", p.Name, slices.Min(v), slices.Max(v))
		}
	})
	each(m, false, func(p models.Param) {
		if slices.Equal(got[p.Offset:][:p.Size], want[p.Offset:][:p.Size]) {
			t.Errorf("%s: the same whatever the options", p.Name)
		}
	})
}

// Combine and Norm see the weights alone, and CombineBuffers the running statistics alone: whatever the others are,
// they stay. A row has the weights first.
func TestCombineBuffers(t *testing.T) {
	e := newTest(t, "resnet20", 1, 2)
	m := e.model
	fill := func(weight, running float32) []float32 {
		w := make([]float32, m.P)
		for _, p := range m.Params {
			for i := range p.Size {
				if w[p.Offset+i] = weight; p.Buffer {
					w[p.Offset+i] = running
				}
			}
		}
		return w
	}
	nan := float32(math.NaN())
	b := must.Get(e.NewBank(4))(t)
	must.OK(t, e.Load(rowOf(b, 0), fill(3, 10)))
	must.OK(t, e.Load(rowOf(b, 1), fill(5, 30)))
	must.OK(t, e.Combine(rowOf(b, 1), []float64{2, -1}, []nets.Row{rowOf(b, 0), rowOf(b, 1)}))
	same(t, "Combine", load(t, e, rowOf(b, 1)), fill(1, 30))
	must.OK(t, e.CombineBuffers(rowOf(b, 1), []float64{0.25, 0.5}, []nets.Row{rowOf(b, 0), rowOf(b, 1)}))
	same(t, "CombineBuffers", load(t, e, rowOf(b, 1)), fill(1, 17.5))
	must.OK(t, e.CombineBuffers(rowOf(b, 1), nil, nil))
	same(t, "CombineBuffers of no rows", load(t, e, rowOf(b, 1)), fill(1, 0))
	must.OK(t, e.Load(rowOf(b, 2), fill(2, nan)))
	must.OK(t, e.Load(rowOf(b, 3), fill(nan, 4)))
	must.OK(t, e.Combine(rowOf(b, 0), []float64{1}, []nets.Row{rowOf(b, 2)}))
	must.OK(t, e.CombineBuffers(rowOf(b, 0), []float64{1}, []nets.Row{rowOf(b, 3)}))
	same(t, "rows with NaN", load(t, e, rowOf(b, 0)), fill(2, 4))
	// the squares of whole numbers are exact, and the root is rounded once
	if got, want := must.Get(nets.Norm(e, rowOf(b, 2)))(t), math.Sqrt(4*float64(m.Trained)); got != want {
		t.Errorf("norm %g, want %g of %d weights", got, want, m.Trained)
	}
}

// Evaluation takes the running statistics: changing them changes the loss, and what the other samples of a batch are
// does not.
func TestEvaluateRunningStatistics(t *testing.T) {
	e := newTest(t, "resnet20", 2, 4)
	w := hashedWeights(e.model)
	b := rows(t, e, 2, w)
	each(e.model, true, func(p models.Param) {
		for i := range p.Size {
			if strings.HasSuffix(p.Name, "running_var") {
				w[p.Offset+i] *= 2
			}
		}
	})
	must.OK(t, e.Load(rowOf(b, 1), w))
	results := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{
		{Row: rowOf(b, 0), Part: nets.Test},
		{Row: rowOf(b, 1), Part: nets.Test},
		{Row: rowOf(b, 0), Part: nets.Test, Index: []int32{5}},
		{Row: rowOf(b, 0), Part: nets.Test, Index: []int32{5, 3, 9}},
		{Row: rowOf(b, 0), Part: nets.Test, Index: []int32{3}},
		{Row: rowOf(b, 0), Part: nets.Test, Index: []int32{9}},
	}))(t)
	if results[0].Loss == results[1].Loss || results[0].N != 70 {
		t.Errorf("losses %g and %g over %d samples, want different ones over 70",
			results[0].Loss, results[1].Loss, results[0].N)
	}
	together, apart := 3*results[3].Loss, results[2].Loss+results[4].Loss+results[5].Loss
	if d := together - apart; d > 1e-12 || d < -1e-12 { // float64 sums of three numbers
		t.Errorf("three samples together have a loss of %.17g, one by one %.17g", together, apart)
	}
}
