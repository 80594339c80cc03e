package cpu

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

// TestInfiniteWeight plants an infinite weight whose input is 0 with black images and positive with white ones.
// Products with every number end the training at a known step, and so must products that leave zeros out: where the
// input is 0, the same loss is NaN, since 0·∞ is; where the ReLU makes 0 of −∞, the SGD step makes NaN of the weight,
// and the next loss is.
func TestInfiniteWeight(t *testing.T) {
	const batch, black, white = 3, 0, 1
	m := &models.Model{Name: "two", H: 24, W: 24, C: 1, Classes: 3, Build: func(b *models.Builder) models.Maps {
		h := b.Conv(b.Conv(b.Input(0), 3, 5, 0), 64, 3, 0)
		return b.Linear(b.Linear(h, 256, true), 3, false)
	}}
	must.OK(t, m.Describe())
	samples := &plan.Samples{
		Name: "plain", H: 24, W: 24, C: 1, Classes: 3, Labels: []uint8{black: 0, white: 1},
		Images: make([]uint8, 2*24*24), Mean: []float32{0.5}, Std: []float32{0.5},
	}
	for i := range 24 * 24 {
		samples.Images[24*24*white+i] = 255
	}
	param := func(w []float32, name string) []float32 {
		for _, p := range m.Params {
			if p.Name == name {
				return w[p.Offset:][:p.Size]
			}
		}
		t.Fatalf("no parameter %s", name)
		return nil
	}
	for _, c := range []struct {
		layer  string
		sign   int
		images [2]int // of either step
		want   int    // the step whose loss is no number
	}{
		{"conv2.weight", 1, [2]int{black, white}, 0},
		{"conv2.weight", 1, [2]int{white, white}, 0},
		{"conv2.weight", -1, [2]int{black, white}, 0},
		{"conv2.weight", -1, [2]int{white, black}, 1},
		{"conv2.weight", -1, [2]int{white, white}, 1},
		{"fc1.weight", 1, [2]int{black, white}, 0},
		{"fc1.weight", 1, [2]int{white, white}, 0},
		{"fc1.weight", -1, [2]int{black, white}, 0},
		{"fc1.weight", -1, [2]int{white, black}, 1},
		{"fc1.weight", -1, [2]int{white, white}, 1},
	} {
		for _, k := range kernels.Choices(kernels.FP32) {
			t.Run(fmt.Sprintf("%s/%s=%d∞/images=%v", k.Name(), c.layer, c.sign, c.images), func(t *testing.T) {
				t.Setenv("ROLLCALL_CPU", k.Name())
				e := must.Get(Open(m, samples, nil, Options{Threads: 1, Batch: batch}))(t)
				defer e.Close()
				w := hashedWeights(m)
				// The first output of both convolutions is positive with white images, else 0.
				for i := range 25 {
					param(w, "conv1.weight")[i] = 0.1
				}
				clear(param(w, "conv2.weight")[:3*9])
				for i := range 9 {
					param(w, "conv2.weight")[i] = 0.1
				}
				param(w, "conv1.bias")[0], param(w, "conv2.bias")[0] = 0, 0
				at := 0 // of input 0: fc1's first output
				if c.layer == "conv2.weight" {
					at = 2 * 3 * 9 // the third output, which no other case looks at
				}
				param(w, c.layer)[at] = float32(math.Inf(c.sign))
				b := must.Get(e.NewBank(2))(t)
				must.OK(t, e.Load(rowOf(b, 0), w))
				local := plan.Local{E: 2, B: batch, Crop: make([]uint8, 4*batch), Flip: make([]uint8, 2*batch)}
				for i := range 2 * batch {
					local.Index = append(local.Index, int32(c.images[i/batch]))
					local.Crop[2*i], local.Crop[2*i+1] = plan.Pad, plan.Pad
				}
				_, err := e.Train(t.Context(), nets.LocalWork{Round: 4, LR: 0.01, Clients: []nets.ClientWork{
					{Client: 7, Start: rowOf(b, 0), End: rowOf(b, 1), Plan: local},
				}})
				d, ok := errors.AsType[*nets.DivergedError](err)
				if !ok || d.Round != 4 || d.Client != 7 || d.Step != c.want {
					t.Errorf("got %v, want round 4 client 7 step %d", err, c.want)
				}
			})
		}
	}
}
