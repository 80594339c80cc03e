package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rollcall/algos"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/results"
)

// Work estimates the cost of a run from its settings alone, before its data are open, to compare runs with one another:
// it assumes that all clients are active in every round. kind names runs that cost the same.
func Work(kind string, s *settings.Settings) progress.Work {
	w := progress.Work{Kind: kind, Rounds: s.Rounds}
	model, err := s.Model()
	if err != nil {
		return w // the run itself reports the error
	}
	samples := float64(samples(s))
	trained := float64(s.Clients * s.LocalSteps * s.Batch)
	if s.LocalEpochs.Valid {
		trained = samples * s.LocalEpochs.Value
	}
	w.Round = trained * model.Train
	w.Evaluation = func(round int) float64 {
		switch {
		case !s.Evaluates(round):
			return 0
		case !s.EvaluatesTrain(round):
			return samples * model.Forward / 6 // the share of test samples in CIFAR-10, about that in MNIST
		}
		return samples * model.Forward
	}
	return w
}

// samples returns how many samples of its data set a run uses in both parts, at least, as far as that is known before
// reading it.
func samples(s *settings.Settings) (all int) {
	ses := Session{}
	sizes, drawn := datasets.LeastSizes(s.Data, ses.dataOptions(s, 0)), s.Sizes()
	for part := range sizes {
		all += cmp.Or(drawn[part], sizes[part])
	}
	return all
}

// Needs is the work and the memory that a run needs.
type Needs struct {
	Images    float64 // images that clients train on, in all rounds
	Evaluated float64 // images in all evaluations, including the method's own
	Bytes     int64   // memory on the host; for a run on a card the samples alone
	Memory    string  // what takes the memory, for people
	Least     bool    // the numbers are counted on other data, and the run may need more
}

// Needs counts what a run of s needs, by a dry run over its availability trace, on the data that are open. If these are
// not the run's data, it scales the evaluations to the run's number of samples. extra is how many models the run
// evaluates after its last round in place of a curve; 0: it evaluates a curve.
func (ses *Session) Needs(ctx context.Context, s *settings.Settings, seed uint32, extra int) (n Needs, err error) {
	if other := *s; ses.Data.Name != s.Data { // which may have fewer samples than the run's
		other.TrainSize = min(s.TrainSize, ses.Data.Train.Len())
		other.TestSize = min(s.TestSize, ses.Data.Test.Len())
		if s.Split == string(datasets.SplitFile) {
			other.Split = string(datasets.SplitEven)
		}
		s = &other
	}
	clients, err := ses.populate(s, seed)
	if err != nil {
		return n, err
	}
	c := &rowCounter{samples: [2]int{ses.Data.Train.Len(), ses.Data.Test.Len()}, timeout: ses.Machine.Methods.Timeout}
	if err := c.dryRun(ctx, s, seed, clients); err != nil {
		return n, err
	}
	held, err := ses.need(s, c, ses.Data.Bytes())
	if err != nil {
		return n, err
	}
	for i, trained := range c.trained {
		images := s.LocalSteps * min(s.Batch, len(clients.train[i]))
		if s.LocalEpochs.Valid {
			images = int(s.LocalEpochs.Value) * len(clients.train[i])
		}
		n.Images += float64(trained * images)
	}
	// The dry run evaluated once, at its end. The real run evaluates as the settings say; what the method itself
	// evaluates in its rounds is already counted.
	n.Evaluated = float64(c.evaluated - c.last)
	trained, tested := ses.Data.Train.Len(), ses.Data.Test.Len()
	if clients.whole != nil {
		trained = len(clients.whole)
	}
	if clients.same != nil {
		tested = len(clients.same)
	}
	for t := range s.Rounds + 1 {
		if s.Evaluates(t) {
			n.Evaluated += float64(c.last)
			if s.EvalTrain && !s.EvaluatesTrain(t) {
				n.Evaluated -= float64(trained)
			}
		}
	}
	if extra > 0 {
		n.Evaluated = float64(extra * tested)
	}
	n.Bytes, n.Memory, n.Least = held.total(), held.String(), ses.Data.Name != s.Data
	if n.Least {
		n.Evaluated *= max(1, float64(samples(s))/float64(trained+tested))
	}
	return n, nil
}

// Rate measures only this much, so that a plan for hours of training takes seconds.
const (
	ratedRounds = 3    // rounds after the first one
	ratedImages = 2000 // images evaluated, at most
)

// Rate measures a few rounds of s, and an evaluation of a part of the test set, on the engine that is open for s.
func (ses *Session) Rate(ctx context.Context, s settings.Settings, seed uint32) (row results.BenchRow, err error) {
	info, counter := ses.Engine.Info(), &imageCounter{Engine: ses.Engine}
	f, err := ses.Federate(ctx, s, seed, counter)
	if err != nil {
		return row, err
	}
	defer f.Method.Close()
	if err := f.anyoneTrains(ctx); err != nil {
		return row, err
	}
	var took time.Duration
	for t := range 1 + ratedRounds { // the first round finds memory and is not measured
		if t == 1 {
			counter.steps, counter.images = 0, 0
		}
		started := time.Now()
		if _, _, err := f.round(ctx, t); err != nil {
			return row, err
		}
		if t > 0 {
			took += time.Since(started)
		}
	}
	row = results.BenchRow{
		Version: Version(), Data: s.Data, Net: s.Net, Batch: s.Batch, LocalSteps: s.LocalSteps, Clients: s.Clients,
		Rounds: ratedRounds, Threads: ses.Machine.Threads,
		Engine: info.Engine, Precision: info.Precision, Device: info.Device,
		ImagesPerSec: float64(counter.images) / took.Seconds(),
		ClientStepMS: 1e3 * took.Seconds() / float64(max(1, counter.steps)),
	}
	model, err := f.Method.Model()
	if err != nil {
		return row, err
	}
	// The second evaluation counts: the first one finds memory.
	part := make([]int32, min(ratedImages, ses.Data.Test.Len()))
	for i := range part {
		part[i] = int32(i)
	}
	for range 2 {
		started := time.Now()
		if _, err := ses.Engine.Evaluate(ctx, []nets.EvalJob{{Row: model, Part: nets.Test, Index: part}}); err != nil {
			return row, err
		}
		row.EvalMS, row.EvalImages = files.Some(ms(time.Since(started))), len(part)
	}
	return row, nil
}

// rowCounter is a [nets.Engine] that holds no row, trains nobody, and counts what a method asks it for. It answers how
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

// countedBank is a bank of a rowCounter: its number of rows. Methods free rows only at the end, so Free counts none.
type countedBank int

func (b countedBank) Rows() int { return int(b) }
func (b countedBank) Free()     {}

func (c *rowCounter) NewBank(rows int) (nets.Bank, error) {
	c.rows += rows
	return countedBank(rows), nil
}

func (c *rowCounter) Info() nets.Info                                      { return nets.Info{Params: 1} }
func (c *rowCounter) Combine(nets.Row, []float64, []nets.Row) error        { return nil }
func (c *rowCounter) CombineBuffers(nets.Row, []float64, []nets.Row) error { return nil }
func (c *rowCounter) Dot(_, _ nets.Row) (float64, error)                   { return 0, nil }
func (c *rowCounter) Load(nets.Row, []float32) error                       { return nil }
func (c *rowCounter) Store(nets.Row, []float32) error                      { return nil }
func (c *rowCounter) Close() error                                         { return nil }

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
		jobs = append(jobs, f.trainJob(model))
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
