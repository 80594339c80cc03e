package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// naiveScore is the loss and the verdict on one sample, in the plainest loops and float64, from weights in PyTorch's
// order.
func naiveScore(m *models.Model, w []float32, s *plan.Samples, sample int) (loss float64, correct bool) {
	size, channels := s.H, s.C
	x := make([]float64, channels*size*size) // [C,H,W]
	for i := range x {
		c, at := i/(size*size), i%(size*size)
		v := s.Images[sample*len(x)+at*channels+c]
		x[i] = (float64(v)/255 - float64(s.Mean[c])) / float64(s.Std[c])
	}
	for p := 0; p < len(m.Params); p += 2 {
		weight, bias := w[m.Params[p].Offset:], w[m.Params[p+1].Offset:]
		out := m.Params[p].Shape[0]
		if len(m.Params[p].Shape) == 4 {
			y := make([]float64, out*size/2*size/2) // ReLU: at least 0
			for i := range out * size * size {
				o, row, col := i/(size*size), i/size%size, i%size
				sum := float64(bias[o])
				for j := range channels * 9 {
					c, r, q := j/9, row+j/3%3-1, col+j%3-1
					if r >= 0 && r < size && q >= 0 && q < size {
						sum += float64(weight[o*channels*9+j]) * x[(c*size+r)*size+q]
					}
				}
				at := &y[(o*size/2+row/2)*size/2+col/2]
				*at = max(*at, sum)
			}
			x, size, channels = y, size/2, out
			continue
		}
		y := make([]float64, out)
		for o := range y {
			y[o] = float64(bias[o])
			for i, v := range x {
				y[o] += float64(weight[o*len(x)+i]) * v
			}
			if !m.Params[p].Last {
				y[o] = max(0, y[o])
			}
		}
		x = y
	}
	label, sum := int(s.Labels[sample]), 0.0
	for _, v := range x {
		sum += math.Exp(v - x[label])
	}
	return math.Log(sum), slices.Max(x) == x[label]
}

// Two rows on two parts in one call: the whole of a part, lists of samples, repeated ones, none, one that ends in a
// second unit of work; against the naive forward pass, and the same bits for every number of threads.
func TestEvaluate(t *testing.T) {
	const net = "cnn-cinic10"
	m := must.Get(models.New(net))(t)
	w := [2][]float32{m.Init(models.Kaiming, 3), hashedWeights(m)}
	long := make([]int32, evalUnit+3) // repeats a dozen samples, to keep the naive side short
	for i := range long {
		long[i] = int32(i * 7 % 12)
	}
	type request struct {
		row   int
		part  nets.Part
		index []int32
	}
	requests := []request{
		{0, nets.Test, nil},
		{1, nets.Train, []int32{39, 0, 17, 17, 3}},
		{1, nets.Test, []int32{69}},
		{0, nets.Train, []int32{}},
		{0, nets.Train, []int32{5, 6, 7}},
		{1, nets.Test, long},
	}
	var first []nets.EvalResult
	for _, threads := range []int{1, 2, 7} {
		e := newTest(t, net, threads, 1)
		bank := must.Get(e.NewBank(2))(t)
		var jobs []nets.EvalJob
		for i := range w {
			must.OK(t, e.Load(rowOf(bank, i), w[i]))
		}
		for _, r := range requests {
			jobs = append(jobs, nets.EvalJob{Row: rowOf(bank, r.row), Part: r.part, Index: r.index})
		}
		got := must.Get(e.Evaluate(t.Context(), jobs))(t)
		if first != nil {
			if !slices.Equal(got, first) {
				t.Errorf("%d threads: got %v, want what 1 gives: %v", threads, got, first)
			}
			continue
		}
		first = got
		for j, r := range requests {
			t.Run(fmt.Sprintf("job=%d", j), func(t *testing.T) {
				naiveCheck(t, m, w[r.row], e.parts[r.part], r.index, got[j])
			})
		}
		if none := must.Get(e.Evaluate(t.Context(), nil))(t); len(none) != 0 {
			t.Errorf("no jobs: %v, want no results", none)
		}
	}
}

func naiveCheck(t *testing.T, m *models.Model, w []float32, s *plan.Samples, index []int32, got nets.EvalResult) {
	if index == nil {
		for i := range s.Len() {
			index = append(index, int32(i))
		}
	}
	type score struct {
		loss    float64
		correct bool
	}
	known := map[int32]score{}
	want := nets.EvalResult{N: len(index)}
	for _, i := range index {
		if _, seen := known[i]; !seen {
			loss, correct := naiveScore(m, w, s, int(i))
			known[i] = score{loss, correct}
		}
		want.Loss += known[i].loss / float64(len(index))
		if known[i].correct {
			want.Correct++
		}
	}
	// Logits are of order 3 and right to 1e-5 of that (see TestGolden); so are losses.
	if got.N != want.N || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 3e-5 {
		t.Errorf("got %+v, want %+v, loss ± 3e-5", got, want)
	}
	accuracy := 0.0
	if want.N > 0 {
		accuracy = float64(want.Correct) / float64(want.N)
	}
	if got.Accuracy() != accuracy {
		t.Errorf("accuracy %g, want %g", got.Accuracy(), accuracy)
	}
}

// A model that puts NaN out is never right, and its loss is NaN, not an error.
func TestEvaluateNaN(t *testing.T) {
	e := newTest(t, "cnn-svhn", 1, 1)
	bank := must.Get(e.NewBank(1))(t)
	must.OK(t, e.Load(rowOf(bank, 0), slices.Repeat([]float32{float32(math.NaN())}, e.model.P)))
	got := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: rowOf(bank, 0), Part: nets.Test}}))(t)[0]
	if got.N != 70 || got.Correct != 0 || !math.IsNaN(got.Loss) {
		t.Errorf("got %+v, want 0 of 70 and loss NaN", got)
	}
}
