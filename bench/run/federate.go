package run

import (
	"context"
	"errors"
	"fmt"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/optimum"
	"rollcall/results"
)

// Federation is one run's clients, method and availability.
type Federation struct {
	settings   settings.Settings
	model      *nets.Model
	Planner    *plan.Planner
	process    availability.Process
	Method     algos.Method
	W0         []float32
	P          []float64 // [N] scratch of round
	test       [][]int32 // [N][k_i] test samples of each client; nil: all have the whole test set
	alike      [][]int32 // [N] test samples of each client's own two classes; nil: no such split
	importance []float64 // [N] α_i
	active     []int     // of the last round
	next       []int     // of the round after it; nil: before the first
}

// Federate splits the data, draws availability and initial weights, and starts the method on an engine.
func (l *Session) Federate(ctx context.Context, s settings.Settings, seed uint32, engine nets.Engine) (*Federation, error) {
	clients, err := Populate(l.Data, &s, seed)
	if err != nil {
		return nil, err
	}
	about, err := datasets.About(s.Data)
	if err != nil {
		return nil, err
	}
	f := &Federation{
		settings: s, model: l.Model, process: clients.Process, P: make([]float64, s.Clients),
		test: clients.test, alike: clients.alike, importance: clients.importance(&s), W0: l.Model.Init(nets.Init(s.Init), seed),
	}
	f.Planner = &plan.Planner{
		Seed: seed, Parts: clients.parts, E: s.LocalSteps, Epochs: int(s.LocalEpochs.Or(0)), B: s.Batch, Augment: s.Augmentation(), Flip: about.Flip,
	}
	options := s.MethodOptions()
	if s.Method == "ca-fed" {
		if err := l.caFed(ctx, &s, &clients, options.CAFed); err != nil {
			return nil, err
		}
	}
	f.Method, err = algos.New(s.Method, algos.Federation{
		Engine: engine, N: s.Clients, Seed: seed, Planner: f.Planner, Importance: f.importance, P: clients.Base, Lambda: clients.Lambda,
		WeightDecay: s.Decay, Momentum: s.Momentum, Clip: s.Clip.Value,
	}, f.W0, options)
	return f, err
}

// caFed puts into ca-fed's settings what depends on the clients' samples: those its losses are taken on, and F*.
func (l *Session) caFed(ctx context.Context, s *settings.Settings, clients *Population, o *algos.CAFed) error {
	if s.Losses == settings.HeldOut {
		o.HeldOut = &algos.HeldOut{Part: nets.Test, Index: clients.test}
		if clients.valid != nil {
			o.HeldOut = &algos.HeldOut{Part: nets.Train, Index: clients.valid}
		}
	}
	if o.FStar != algos.FStarSolved {
		return nil
	}
	if algos.Preset(s.Preset) == algos.Code {
		solved, err := optimum.ReleasedCode(ctx, l.Data.Train, clients.parts)
		o.Solved = solved
		return err
	}
	solutions, err := optimum.Local(ctx, optimum.Problem{Samples: l.Data.Train, Parts: clients.parts, Ridge: s.Decay, Tolerance: optimum.Tolerance})
	if err != nil {
		return err
	}
	for _, x := range solutions {
		o.Solved = append(o.Solved, x.Loss)
	}
	return nil
}

// round runs round t, one round after the other, and returns how many clients were active and their learning rate.
func (f *Federation) round(ctx context.Context, t int) (active int, lr float64, err error) {
	f.process.Probabilities(t, f.P)
	if f.active = f.next; f.active == nil {
		f.active = f.process.Active(t)
	}
	f.next = f.process.Active(t + 1)
	r := algos.Round{T: t, Active: f.active, Next: f.next, P: f.P, LR: f.settings.Rate(t), ServerLR: f.settings.ServerLR}
	_, err = f.Method.Round(ctx, r)
	if d, ok := errors.AsType[*nets.DivergedError](err); ok { // rounds and steps counted as in the CSV, from 1
		err = fmt.Errorf("%s: round %d: client %d: local step %d: loss %g, want a finite number (a lower --lr may help)", f.settings.Method, t+1, d.Client, d.Step+1, d.Loss)
	}
	return len(r.Active), r.LR, err
}

// testJobs are what the test set is asked of a model: the whole of it, or each client's own samples.
func (f *Federation) testJobs(model nets.Row) (jobs []nets.EvalJob) {
	if f.test == nil {
		return []nets.EvalJob{{Row: model, Part: nets.Test}}
	}
	for _, own := range f.test {
		if len(own) > 0 {
			jobs = append(jobs, nets.EvalJob{Row: model, Part: nets.Test, Index: own})
		}
	}
	return jobs
}

// testMeans returns loss and accuracy of the answers to testJobs: where clients have test samples of their own, the means over
// the clients weighed by their importance, as CA-Fed's released code reports them.
func (f *Federation) testMeans(answers []nets.EvalResult) (loss, accuracy float64) {
	if f.test == nil {
		return answers[0].Loss, answers[0].Accuracy()
	}
	total, k := 0.0, 0
	for i, own := range f.test {
		if len(own) == 0 {
			continue
		}
		r, a := answers[k], f.importance[i]
		loss, accuracy, total, k = loss+a*r.Loss, accuracy+a*r.Accuracy(), total+a, k+1
	}
	return loss / total, accuracy / total
}

// decisions returns what the method made of every client in the last round, which is numbered from 1 as in the CSV.
func (f *Federation) decisions(round int) []results.DecisionRow {
	inspector, ok := f.Method.(algos.Inspector)
	if !ok {
		return nil
	}
	d := inspector.Inspect()
	rows := make([]results.DecisionRow, len(d.Q))
	for i := range rows {
		rows[i] = results.DecisionRow{Round: round, Client: i, Included: Count01(d.Included[i]), Weight: d.Q[i], Pi: d.Pi[i], Lambda: d.Lambda[i], Target: f.importance[i]}
	}
	for _, i := range f.active {
		rows[i].Active = 1
	}
	return rows
}

func Count01(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
