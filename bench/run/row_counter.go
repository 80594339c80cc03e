package run

import (
	"context"
	"slices"
	"time"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu"
)

// rowCounter is an engine that holds no row and trains nobody, and counts what a method asks it for. It answers how
// many rows a method will hold by running the method itself, so that nobody has to keep a formula per method. Every
// loss and every product of rows is 0, with which ca-fed excludes nobody.
type rowCounter struct {
	samples [2]int        // how many samples each part has: train, test
	timeout time.Duration // of a method in a file, see [algos.Process]
	rows    int           // rows of all banks
	load    cpu.Load

	trained   map[int]int // by client: the rounds in which it trained
	evaluated int         // samples in all evaluations
	last      int         // samples in the last evaluation
}

// countedBank is a bank of a rowCounter: its number of rows.
type countedBank int

// Rows implements [nets.Bank].
func (b countedBank) Rows() int { return int(b) }

// Free implements [nets.Bank]. It does not lower the count, since methods free their rows only at the end.
func (b countedBank) Free() {}

// Info implements [nets.Engine].
func (c *rowCounter) Info() nets.Info { return nets.Info{Params: 1} }

// NewBank implements [nets.Engine].
func (c *rowCounter) NewBank(rows int) (nets.Bank, error) {
	c.rows += rows
	return countedBank(rows), nil
}

// Combine implements [nets.Engine].
func (c *rowCounter) Combine(nets.Row, []float64, []nets.Row) error { return nil }

// CombineBuffers implements [nets.Engine].
func (c *rowCounter) CombineBuffers(nets.Row, []float64, []nets.Row) error { return nil }

// Dot implements [nets.Engine].
func (c *rowCounter) Dot(_, _ nets.Row) (float64, error) { return 0, nil }

// Load implements [nets.Engine].
func (c *rowCounter) Load(nets.Row, []float32) error { return nil }

// Store implements [nets.Engine].
func (c *rowCounter) Store(nets.Row, []float32) error { return nil }

// Close implements [nets.Engine].
func (c *rowCounter) Close() error { return nil }

// Train implements [nets.Engine].
func (c *rowCounter) Train(_ context.Context, work nets.LocalWork) ([]float32, error) {
	c.load.Clients = max(c.load.Clients, len(work.Clients))
	if c.trained == nil {
		c.trained = map[int]int{}
	}
	for _, client := range work.Clients {
		c.trained[client.Client]++
	}
	return make([]float32, len(work.Clients)), nil
}

// Evaluate implements [nets.Engine].
func (c *rowCounter) Evaluate(_ context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	answers, samples := make([]nets.EvalResult, len(jobs)), 0
	for i, j := range jobs {
		n := len(j.Index)
		if j.Index == nil {
			n = c.samples[j.Part]
		}
		samples += n
		answers[i] = nets.EvalResult{N: n}
	}
	c.evaluated, c.last = c.evaluated+samples, samples
	c.load.Jobs, c.load.Samples = max(c.load.Jobs, len(jobs)), max(c.load.Samples, samples)
	return answers, nil
}

// dryRun makes all rounds and the last evaluation of a run on a rowCounter.
func (c *rowCounter) dryRun(ctx context.Context, s *settings.Settings, seed uint32, clients Population) error {
	f, err := dryFederation(s, seed, clients, c)
	if err != nil {
		return err
	}
	defer f.Method.Close()
	for t := range s.Rounds {
		if _, _, err := f.round(ctx, t); err != nil {
			return err
		}
	}
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := f.testJobs(model)
	if s.EvalTrain {
		jobs = append(jobs, nets.EvalJob{Row: model, Part: nets.Train})
	}
	_, err = c.Evaluate(ctx, jobs)
	return err
}

// dryFederation is [Session.Federate] on a rowCounter. Each client has one sample and takes one step, and the model has
// one parameter, so that a dry run takes little memory and time.
func dryFederation(s *settings.Settings, seed uint32, clients Population, c *rowCounter) (*Federation, error) {
	planner := &plan.Planner{Seed: seed, Parts: slices.Repeat([][]int32{{0}}, s.Clients), E: 1, B: 1}
	f := &Federation{
		Planner: planner, W0: []float32{0}, settings: *s, clients: clients,
		importance: clients.importance(s.Weights), p: make([]float64, s.Clients),
		process: algos.Process{Timeout: c.timeout, Rehearsal: true},
	}
	f.target = clients.target(f.importance)
	return f, f.start(c, seed, nil)
}
