package cpu

import (
	"fmt"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// normalised returns s with its images as features: what the engine makes of the bytes itself.
func normalised(s *plan.Samples) *plan.Samples {
	f := *s
	f.Features, f.Images, f.Mean, f.Std = make([]float32, len(s.Images)), nil, nil, nil
	for i, v := range s.Images {
		c := i % s.C
		f.Features[i] = (float32(v)/255 - s.Mean[c]) / s.Std[c]
	}
	return &f
}

// Normalised pixels given as features train and evaluate to the same bits as the images, with and without a border in
// front of the first convolution; crops and flips are not looked at.
func TestFeaturesAreImages(t *testing.T) {
	for _, net := range []string{"linear-mnist", "lenet5", "cnn-svhn"} {
		t.Run(net, func(t *testing.T) {
			const batch, steps, n = 5, 2, 40
			m := must.Get(models.New(net))(t)
			samples := hashedSamples(m, 110, testMean, testStd)
			run := func(s *plan.Samples, p plan.Local) ([]float32, []float32, []nets.EvalResult) {
				e := must.Get(Open(m, rest(s, 70), rest(s, 20), Options{Threads: 2, Batch: batch}))(t)
				defer e.Close()
				start, end := rows(t, e, 1, hashedWeights(m)), must.Get(e.NewBank(1))(t)
				clients := []nets.ClientWork{{Start: rowOf(start, 0), End: rowOf(end, 0), Plan: p}}
				work := nets.LocalWork{LR: 0x1p-5, WeightDecay: 0x1p-6, Clients: clients}
				loss := must.Get(e.Train(t.Context(), work))(t)
				r := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{
					{Row: rowOf(end, 0), Part: nets.Test},
					{Row: rowOf(end, 0), Part: nets.Train, Index: []int32{3, 1}},
				}))(t)
				return load(t, e, rowOf(end, 0)), loss, r
			}
			drawn := hashedPlan(0, steps, batch, batch-1, n)
			still := hashedPlan(0, steps, batch, batch-1, n)
			for i := range still.Flip {
				still.Flip[i], still.Crop[2*i], still.Crop[2*i+1] = 0, plan.Pad, plan.Pad
			}
			want, wantLoss, wantEval := run(samples, still)
			for name, p := range map[string]plan.Local{"plain": still, "crops and flips": drawn} {
				got, loss, eval := run(normalised(samples), p)
				same(t, name, got, want)
				same(t, name+": loss", loss, wantLoss)
				if fmt.Sprint(eval) != fmt.Sprint(wantEval) {
					t.Errorf("%s: evaluation %v, want %v", name, eval, wantEval)
				}
			}
		})
	}
}

// Images that follow features at the same place of a batch, and the reverse, leave nothing of each other in the border.
func TestFeaturesBesideImages(t *testing.T) {
	m := must.Get(models.New("cnn-svhn"))(t)
	samples := hashedSamples(m, 64, testMean, testStd)
	e := must.Get(Open(m, samples, normalised(samples), Options{Threads: 1, Batch: 1}))(t)
	defer e.Close()
	w := rowOf(rows(t, e, 1, hashedWeights(m)), 0)
	for range 2 {
		r := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: w, Part: nets.Train}, {Row: w, Part: nets.Test}}))(t)
		if r[0] != r[1] || r[0].N != 64 || r[0].Loss <= 0 {
			t.Errorf("images %v, the same as features %v, want equal ones of 64 samples", r[0], r[1])
		}
	}
}
