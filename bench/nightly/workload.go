package nightly

import (
	"context"
	"errors"
	"slices"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/nets"
	"rollcall/nets/models"
)

// workload is a data set of noise in the shape of a real one, and its net. Noise needs no download.
type workload struct {
	settings settings.Settings
	model    *models.Model
	set      *datasets.Set
}

func (b *Bench) workload(data string) (*workload, error) {
	s, err := settings.Defaults("fedavg-active", "code", data)
	if err != nil {
		return nil, err
	}
	s.Clients, s.LocalSteps, s.Batch = b.Suite.Clients, b.Suite.Steps, b.Suite.Batch
	s.Split = string(datasets.SplitEven) // every client has whole batches
	s.LR = 0.001                         // with a larger rate, training on noise diverges
	model, err := s.Model()
	if err != nil {
		return nil, err
	}
	train, test := noisePictures(model, b.Suite.Train, 0), noisePictures(model, b.Suite.Test, 1)
	return &workload{s, model, &datasets.Set{Name: data, Train: train, Test: test}}, nil
}

// noisePictures returns n pictures of random bytes, others for each part: 0 for training, 1 for tests. The time of a
// step does not depend on the picture.
func noisePictures(m *models.Model, n, part int) *plan.Samples {
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

// alone is what is timed of one client: a call of so many local steps, and an evaluation of one model.
type alone struct {
	steps            int
	step, evaluation func() error
	close            func() error
}

// alone prepares it. The CPU engine has one thread for it: how much processor time two threads take depends on whether
// they run at the same time, and so on what else the machine does. On a card it is the engine of the rounds, with as
// many steps as a round has.
func (b *Bench) alone(ctx context.Context, w *workload, engine nets.Engine) (a alone, err error) {
	a = alone{steps: b.Suite.Steps, close: func() error { return nil }}
	if b.one != nil {
		m := b.Machine
		m.Threads = 1
		engine, _, err = m.OpenEngine(w.model, w.set.Train, w.set.Test, run.Demand{Batch: b.Suite.Batch},
			func(string, string) {})
		if err != nil {
			return a, err
		}
		a.steps, a.close = 1, engine.Close
	}
	s := w.settings
	s.LocalSteps = a.steps
	f, err := run.SessionOn(w.set, w.model, engine).Federate(ctx, s, 1, engine)
	if err != nil {
		return a, errors.Join(err, a.close())
	}
	bank, err := engine.NewBank(2) // the initial weights, and those after the steps
	if err == nil {
		err = engine.Load(nets.Row{Bank: bank}, f.W0)
	}
	if err != nil {
		f.Method.Close()
		return a, errors.Join(err, a.close())
	}
	start := nets.Row{Bank: bank}
	client := nets.ClientWork{Start: start, End: nets.Row{Bank: bank, Index: 1}, Plan: f.Planner.Client(0, 0, 0)}
	work := nets.LocalWork{LR: s.LR, Clients: []nets.ClientWork{client}}
	a.step = func() error {
		_, err := engine.Train(ctx, work)
		return err
	}
	a.evaluation = func() error {
		_, err := engine.Evaluate(ctx, []nets.EvalJob{{Row: start, Part: nets.Test}})
		return err
	}
	closeEngine := a.close
	a.close = func() error {
		bank.Free()
		f.Method.Close()
		return closeEngine()
	}
	return a, nil
}
