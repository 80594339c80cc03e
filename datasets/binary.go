package datasets

import (
	"context"
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// The binary synthetic set of CA-Fed (INFOCOM, appendix F). All clients share one linear model, but the labels of the
// second group of clients are noisy.
//
//	w* ~ N(0, I_d); x ~ N(0, I_d), d = 10
//	y ~ Bernoulli(σ(⟨w*, x⟩)) in group 0
//	y ~ Bernoulli(0.8 σ(⟨w*, x⟩) + 0.2 (1 − σ(⟨w*, x⟩))) in group 1
//
// Every client has 50 training and 150 test samples, as in the released runs; the appendix prints 150 samples in all
// and no split. The groups depend on the [Reading]. By the paper, client k is in group 1 with probability 1/2. By the
// code, group 1 is the second half of the clients, whose number must be even.
//
// w* comes from stream (0, 0, 5) of rng.Generated. Stream (0, k, 6) has client k's group and then its samples, the
// training samples first, each with x before y.
const (
	binaryFeatures = 10
	binaryTrain    = 50
	binaryTest     = 150
	binaryNoise    = 0.2
)

var binaryInfo = Info{
	Name: "binary", Net: "linear-binary", Shape: plan.Shape{H: 1, W: 1, C: binaryFeatures, Classes: 2},
	Features: true,
}

func generateBinary(ctx context.Context, o Options) (*Set, error) {
	if err := o.made(); err != nil {
		return nil, err
	}
	if o.Reading == ReadCode && o.Clients%2 != 0 {
		return nil, fmt.Errorf("%d clients in two equal groups, want an even number", o.Clients)
	}
	key := rng.Key{Seed: o.Seed, Purpose: rng.Generated}
	// The first stream draws the model, and each client has a stream of its own.
	var model [binaryFeatures]float64
	r := key.Stream(0, 0, rng.GeneratedStepBinaryModel)
	for j := range model {
		model[j] = r.Normal()
	}
	sizes := [2][]int{slices.Repeat([]int{binaryTrain}, o.Clients), slices.Repeat([]int{binaryTest}, o.Clients)}
	group := make([]int, o.Clients)
	set, err := makeByClient(ctx, "binary", sizes, binaryFeatures, 2, func(k int) func([]float32) uint8 {
		r := key.Stream(0, k, rng.GeneratedStepBinarySamples)
		second := r.Float64() < 0.5
		if o.Reading == ReadCode {
			second = k >= o.Clients/2
		}
		if second {
			group[k] = 1
		}
		return func(x []float32) uint8 { return drawBinary(r, &model, second, x) }
	})
	if err == nil {
		set.Split.Group = group
	}
	return set, err
}

// drawBinary draws a sample x [10] and returns its label; second says that the client is in group 1.
func drawBinary(r *rng.Stream, model *[binaryFeatures]float64, second bool, x []float32) uint8 {
	z := 0.0
	for j := range x {
		x[j] = float32(r.Normal())
		z += float64(model[j] * float64(x[j])) // the conversion rounds, so that no machine fuses multiply and add
	}
	p := 1 / (1 + math.Exp(-z))
	if second {
		p = (1-binaryNoise)*p + binaryNoise*(1-p)
	}
	if r.Float64() < p {
		return 1
	}
	return 0
}
