package nightly

import (
	"slices"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/nets"
)

// workload is a data set of noise in the shape of a real one, and its net. Noise needs no download.
type workload struct {
	settings settings.Settings
	model    *nets.Model
	set      *datasets.Set
}

// workload returns the workload of a data set.
func (b *Bench) workload(data string) (*workload, error) {
	s, err := settings.Defaults("fedavg-active", "code", data)
	if err != nil {
		return nil, err
	}
	s.Clients, s.LocalSteps, s.Batch = b.Suite.Clients, b.Suite.Steps, b.Suite.Batch
	s.Split = string(datasets.SplitEven) // every client has whole batches
	s.LR = 0.001                         // with a larger rate, training on noise diverges
	model, err := nets.NewModel(s.Net)
	if err != nil {
		return nil, err
	}
	train, test := noisePictures(model, b.Suite.Train, 0), noisePictures(model, b.Suite.Test, 1)
	return &workload{s, model, &datasets.Set{Name: data, Train: train, Test: test}}, nil
}

// noisePictures returns n pictures of random bytes, others for each part: 0 for training, 1 for tests. The time of a
// step does not depend on the picture.
func noisePictures(m *nets.Model, n, part int) *plan.Samples {
	s := &plan.Samples{
		Name: "noise", H: m.H, W: m.W, C: m.C, Classes: m.Classes,
		Labels: make([]uint8, n), Images: make([]uint8, n*m.H*m.W*m.C),
		Mean: slices.Repeat([]float32{0.5}, m.C), Std: slices.Repeat([]float32{0.25}, m.C),
	}
	stream := rng.Key{Seed: 1, Purpose: rng.Generated}.Stream(part, 0, 0)
	for i := range s.Labels {
		s.Labels[i] = uint8(i % m.Classes)
	}
	for i := range s.Images {
		s.Images[i] = uint8(stream.Uint32() >> 24)
	}
	return s
}
