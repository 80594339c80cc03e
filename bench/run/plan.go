package run

import (
	"context"
	"path/filepath"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/bench/run/part"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/papers"
)

// Work estimates the cost of a run from its settings alone, before its data are open, to compare runs with one another:
// it assumes that all clients are there in every round. kind names runs that cost the same.
func Work(kind string, s *settings.Settings) progress.Work {
	w := progress.Work{Kind: kind, Rounds: s.Rounds, Evaluates: s.Evaluates}
	model, err := models.New(s.Net)
	if err != nil {
		return w // the run itself reports the error
	}
	samples := float64(samples(s, model))
	trained := float64(s.Clients * s.LocalSteps * s.Batch)
	if s.LocalEpochs.Valid {
		trained = samples * s.LocalEpochs.Value
	}
	if !s.EvalTrain {
		samples /= 6 // the share of test samples in CIFAR-10, about that in MNIST
	}
	w.Round, w.Evaluation = trained*model.Train, samples*model.Forward
	return w
}

// samples returns how many samples a data set has in both parts, at least, as far as that is known before reading it.
func samples(s *settings.Settings, model *models.Model) int {
	l := Session{}
	bytes := datasets.LeastBytes(s.Data, l.dataOptions(s, 0))
	size := model.H * model.W * model.C
	if model.H == 1 {
		size *= 4 // features are float32, pixels are bytes
	}
	return int(bytes / int64(size+1)) // with one byte for the label, as [datasets.LeastBytes] counts
}

// Planned is one run that a command would make or keep.
type Planned struct {
	Settings settings.Settings
	Seed     uint32
	Kept     bool
	Refused  string // why the run is refused; "": it is not
	From     int    // the round after which its work begins, of a tuning's later rung; 0: all is its own
	Done     int    // the round of the checkpoint that it resumes from; 0: it has all rounds to make
	Models   int    // how many models it evaluates after the last round, and no curve; 0: it evaluates a curve

	Dir       string // its folder; empty: it has none
	Twin      bool   // another cell has the same run, and comes first
	Decisions bool   // it writes decisions.csv too
}

// Key names the run in [part.Part.Keys].
func (r *Planned) Key() part.Key {
	return part.Key{Cell: filepath.Base(filepath.Dir(r.Dir)), Seed: r.Seed}
}

// Left reports whether the command makes the run, or what is left of it.
func (r *Planned) Left() bool { return !r.Kept && r.Refused == "" }

// Shares returns which share of the work of all its rounds is the run's, and which of these is left to do.
func (r *Planned) Shares() (own, left float64) {
	of := func(from int) float64 { return float64(r.Settings.Rounds-from) / float64(r.Settings.Rounds) }
	if own = of(r.From); !r.Left() {
		return own, 0
	}
	return own, of(max(r.From, r.Done))
}

// left returns the FLOP that are left of the run to make, of which work is all, as the name of its newest checkpoint
// says: it only orders the runs.
func (r *seedRun) left(work *progress.Work) float64 {
	rounds, err := checkpoint.Rounds(r.x.Dir)
	if err != nil || len(rounds) == 0 {
		return work.Left(0)
	}
	return work.Left(min(rounds[0], work.Rounds))
}

// PlanTable returns the runs of a table, in the order in which Table would make them.
func (p *Pool) PlanTable(ctx context.Context, t *papers.Table, cells []Cell) ([]Planned, error) {
	return p.planned(ctx, t.ID, tableTasks(cells, byData(cells)), t.Seeds, false)
}

// PlanFigure returns the runs of a figure, none if nothing is trained for it.
func (p *Pool) PlanFigure(ctx context.Context, f *papers.Figure, w *Wanted) (runs []Planned, err error) {
	switch what := f.Measure.(type) {
	case papers.Curves:
		_, tasks, err := w.lines(f)
		if err != nil {
			return nil, err
		}
		return p.planned(ctx, f.ID, tasks, f.Seeds, what.Decisions)
	case papers.Coalitions:
		s, err := w.coalitionSettings(f, what.MostStale)
		for range what.MostStale + 1 {
			for _, seed := range f.Seeds {
				// Every set of clients is a coalition, the empty set too.
				runs = append(runs, Planned{Settings: s, Seed: seed, Models: 1 << s.Clients})
			}
		}
		return runs, err
	}
	return nil, nil
}

// Planned returns the runs of some tasks, in the order in which [Pool.Seeds] would make them. It writes nothing.
func (p *Pool) Planned(ctx context.Context, table string, tasks []Task, seeds []uint32) ([]Planned, error) {
	return p.planned(ctx, table, tasks, seeds, false)
}

// planned is Planned for runs that may write decisions.csv too.
func (p *Pool) planned(
	ctx context.Context, table string, tasks []Task, seeds []uint32, decisions bool,
) (runs []Planned, err error) {
	seen, ofPart := map[string]bool{}, p.keysOfPart(table, tasks, seeds)
	for _, t := range tasks {
		for _, seed := range seeds {
			r := t.run(p, table, seed, decisions)
			if !ofPart[r.key()] {
				continue
			}
			if r.x.Others, err = r.others(); err != nil {
				return nil, err
			}
			if p.Keep.Again {
				r.x.Was = folder.StampOf(r.x.Dir)
			}
			_, d, other, err := r.x.decide(ctx, p.Sessions[0], p.Keep, r.x.policy(p.Keep), false)
			if err != nil {
				return nil, err
			}
			one := Planned{Settings: t.Settings, Seed: seed, Kept: other != nil}
			switch d := d.(type) {
			case folder.Keep:
				one.Kept = true
			case folder.Resume:
				one.Done = d.Round
			case folder.Refuse:
				one.Refused = d.String()
			}
			// Two cells with the same settings have one run, which is made for the first of them.
			one.Dir, one.Twin, one.Decisions = r.x.Dir, seen[r.x.Dir], decisions
			one.Kept = one.Kept || one.Twin
			seen[r.x.Dir] = true
			runs = append(runs, one)
		}
	}
	return runs, nil
}

// Needs is the work and the memory that a run needs.
type Needs struct {
	Images    float64 // images that clients train on, in all rounds
	Evaluated float64 // images in all evaluations, including the method's own
	Bytes     int64   // memory on the host; for a run on a card the samples alone
	Memory    string  // what takes the memory, for people
	Least     bool    // the numbers are counted on other data, and the run may need more
}

// Needs counts what a planned run needs, by a dry run with every client's availability in every round, on the data that
// are open. If these are not the run's data, it scales the evaluations to the run's number of samples.
func (l *Session) Needs(ctx context.Context, r *Planned) (n Needs, err error) {
	s := &r.Settings
	clients, err := Populate(l.Data, s, r.Seed)
	if err != nil {
		return n, err
	}
	c := &rowCounter{samples: [2]int{l.Data.Train.Len(), l.Data.Test.Len()}, timeout: l.Machine.Methods.Timeout}
	if err := c.dryRun(ctx, s, r.Seed, clients); err != nil {
		return n, err
	}
	held, err := l.need(s, c, l.Data.Bytes())
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
	evaluations := 0
	for t := range s.Rounds + 1 {
		if s.Evaluates(t) {
			evaluations++
		}
	}
	n.Evaluated = float64(c.evaluated-c.last) + float64(evaluations*c.last)
	if r.Models > 0 {
		n.Evaluated = float64(r.Models * l.Data.Test.Len())
	}
	n.Bytes, n.Memory, n.Least = held.total(), held.String(), l.Data.Name != s.Data
	if n.Least {
		model, err := models.New(s.Net)
		if err != nil {
			return n, err
		}
		n.Evaluated *= max(1, float64(samples(s, model))/float64(l.Data.Train.Len()+l.Data.Test.Len()))
	}
	return n, nil
}

// Rate measures only this much, so that a plan for hours of training takes seconds.
const (
	ratedRounds = 3    // rounds after the first one
	ratedImages = 2000 // images evaluated, at most
)

// Rate measures a few rounds of s, and an evaluation of a part of the test set, on the engine that is open for s.
func (l *Session) Rate(ctx context.Context, s settings.Settings, seed uint32) (row results.BenchRow, err error) {
	info, counter := l.Engine.Info(), &imageCounter{Engine: l.Engine}
	f, err := l.Federate(ctx, s, seed, counter)
	if err != nil {
		return row, err
	}
	defer f.Method.Close()
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
		Rounds: ratedRounds, Threads: l.Machine.Threads,
		Engine: info.Engine, Precision: info.Precision, Device: info.Device,
		ImagesPerSec: float64(counter.images) / took.Seconds(),
		ClientStepMS: 1e3 * took.Seconds() / float64(max(1, counter.steps)),
	}
	model, err := f.Method.Model()
	if err != nil {
		return row, err
	}
	// The second evaluation counts: the first one finds memory.
	part := make([]int32, min(ratedImages, l.Data.Test.Len()))
	for i := range part {
		part[i] = int32(i)
	}
	for range 2 {
		started := time.Now()
		if _, err := l.Engine.Evaluate(ctx, []nets.EvalJob{{Row: model, Part: nets.Test, Index: part}}); err != nil {
			return row, err
		}
		row.EvalMS, row.EvalImages = files.Some(ms(time.Since(started))), len(part)
	}
	return row, nil
}

// Reached returns the curve of a run of a tuning that has come to a round, or has diverged before it; ok is false if it
// has not. The run may go on beyond the round in another process: then it has no run.json, and a checkpoint vouches for
// its rows.
func (p *Pool) Reached(table string, t Task, seed uint32, round int) (curve []results.CurveRow, ok bool) {
	dir := Folder(p.Sessions[0].Machine.Out, table, t.Settings, seed)
	r, bad := results.ReadRunFolder(dir)
	if rows := r.Verified(); len(bad) == 0 && len(rows) > 0 &&
		(rows[len(rows)-1].Round >= round || r.Status() == results.RunDiverged) {
		return rows, true
	}
	rounds, err := checkpoint.Rounds(dir)
	if err != nil || len(bad) > 0 || len(rounds) == 0 || rounds[0] < round {
		return nil, false
	}
	c, err := checkpoint.Open(filepath.Join(dir, checkpoint.Name(rounds[0])))
	if err != nil {
		return nil, false
	}
	return c.Curve, c.Close() == nil && c.SettingsHash == results.Hash(t.Settings) && c.Seed == seed
}
