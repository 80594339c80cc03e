package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/nets/optimum"
	"rollcall/results"
)

// Federation is the clients, the method and the availability of one run.
type Federation struct {
	Method  algos.Method
	Planner *plan.Planner
	W0      []float32 // [P] initial weights, in PyTorch's order

	settings   settings.Settings
	model      *models.Model
	clients    Population
	importance []float64     // [N] α_i, of everybody
	target     []float64     // [N] α_i of the clients who are there at all, 0 of the others: what the method aims at
	p          []float64     // [N] p_i^t of the round, overwritten by the next
	active     []int         // the active clients of the last round
	next       []int         // the active clients of the next round; nil: before the first round
	trained    bool          // a client has trained in a round
	process    algos.Process // for a method that is a program of its own
}

var augmentations = map[string]plan.Augment{
	"batch": plan.AugmentPerBatch, "sample": plan.AugmentPerSample, "none": plan.AugmentNone,
}

// Federate splits the data, draws availability and initial weights, and starts the method on an engine.
func (ses *Session) Federate(
	ctx context.Context, s settings.Settings, seed uint32, engine nets.Engine,
) (*Federation, error) {
	clients, err := ses.populate(&s, seed)
	if err != nil {
		return nil, err
	}
	if n := clients.empty; n > 0 {
		line := fmt.Sprintf("split: seed %d: %d of %s without samples to train on, never available", seed, n,
			files.Count(s.Clients, "client"))
		ses.notice(line, line)
	}
	about, err := datasets.About(s.Data)
	if err != nil {
		return nil, err
	}
	w0, err := initial(ses.model, &s, seed)
	if err != nil {
		return nil, err
	}
	f := &Federation{
		Planner: clients.planner(&s, s.Seeds(seed).Batches, about.Flip),
		W0:      w0, settings: s, model: ses.model, clients: clients,
		importance: clients.importance(s.Weights), p: make([]float64, s.Clients), process: ses.Machine.Methods,
	}
	f.process.Output = ses.Stderr
	f.target = clients.target(f.importance)
	if kind, _, _ := strings.Cut(s.Population, ":"); kind != "none" && algos.Has(s.Method, algos.Remembers) {
		line := fmt.Sprintf("population: %s keeps what it remembers of clients who have left, and steps with it",
			s.Method)
		ses.notice(line, line)
	}
	if n := clients.absent(); n > 0 && algos.Has(s.Method, algos.UsesImportance) {
		line := fmt.Sprintf("availability: %s, seed %d: %d of %s never available, left out: the target importance is "+
			"shared among the others", s.Availability, seed, n, files.Count(s.Clients, "client"))
		ses.notice(line, line)
	}
	var solved []float64
	if s.MethodOptions().Values["fstar"] == algos.FStarSolved {
		if solved, err = solve(ctx, ses.Data.Train, clients.train, &s); err != nil {
			return nil, err
		}
	}
	return f, f.start(engine, seed, solved)
}

// initial returns the initial weights [P] in PyTorch's order: from a file, or from a draw that is the same for all
// methods.
func initial(model *models.Model, s *settings.Settings, seed uint32) ([]float32, error) {
	w0, err := s.ReadInit()
	if err == nil && w0 == nil {
		w0 = model.Init(models.Init(s.Init), s.Seeds(seed).Init)
	}
	return w0, err
}

// planner returns the planner of the batches of a run; flip says whether its data may be mirrored.
func (p *Population) planner(s *settings.Settings, seed uint32, flip bool) *plan.Planner {
	return &plan.Planner{
		Seed: seed, Parts: p.train, E: s.LocalSteps, Epochs: int(s.LocalEpochs.Or(0)), B: s.Batch,
		Augment: augmentations[s.Augment], Flip: flip,
	}
}

// start starts the method, for a dry run in the same way as for a real one. solved is each client's smallest loss [N],
// for ca-fed with --fstar solved; nil otherwise.
func (f *Federation) start(engine nets.Engine, seed uint32, solved []float64) (err error) {
	options := f.settings.MethodOptions()
	options.HeldOut, options.Solved = f.clients.heldOut(&f.settings), solved
	options.Process = f.process
	f.Method, err = algos.New(f.settings.Method, f.forMethods(engine, seed), f.W0, options)
	return err
}

// forMethods returns what every method is started with.
func (f *Federation) forMethods(engine nets.Engine, seed uint32) algos.Federation {
	s := &f.settings
	seeds := s.Seeds(seed)
	return algos.Federation{
		Engine: engine, N: s.Clients, Seed: seeds.Batches, HistorySeed: seeds.Availability,
		Planner: f.Planner, Importance: f.target,
		Pi: f.clients.Pi, Lambda: f.clients.Lambda,
		WeightDecay: s.Decay, Momentum: s.Momentum, Clip: s.MaxNorm(),
	}
}

// solve returns the smallest loss of each client [N]: as CA-Fed's released code finds it, or else to the last digit.
func solve(ctx context.Context, train *plan.Samples, parts [][]int32, s *settings.Settings) ([]float64, error) {
	if algos.Preset(s.Preset).Reading() == algos.Code {
		return optimum.ReleasedCode(ctx, train, parts)
	}
	return optimum.Local(ctx, train, parts, s.Decay)
}

// anyoneTrains returns an error that says why, if no client is available in any round of the run: the initial model
// would be its result.
func (f *Federation) anyoneTrains(ctx context.Context) error {
	s, p, pi := &f.settings, &f.clients, 0.0
	for _, of := range p.Pi {
		pi += of
	}
	for t := 0; pi > 0 && t < s.Rounds; t++ {
		if len(p.Availability.Active(t)) > 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	why := fmt.Sprintf("nobody is available in %s under %s", files.Count(s.Rounds, "round"), s.Availability)
	for _, name := range []string{"p", "population", "min-separation", "outages"} {
		if value := s.Get(name); value != "none" && value != "0" || name == "p" && s.P.Valid {
			why += fmt.Sprintf(" with --%s %s", name, value)
		}
	}
	if p.empty > 0 {
		why = fmt.Sprintf("%d of %s have no sample to train on", p.empty, files.Count(s.Clients, "client"))
		if p.empty < s.Clients {
			why += ", and the others are not available in " + files.Count(s.Rounds, "round")
		}
		for _, share := range []struct {
			flag  string
			value float64
		}{{"validation", s.Validation}, {"hold-out", s.HoldOut}} {
			if share.value > 0 {
				why += fmt.Sprintf(" (--%s %g)", share.flag, share.value)
			}
		}
	}
	return Final(fmt.Errorf("%w: %s", errNobodyTrained, why))
}

// errNobodyTrained is wrapped by the errors of runs whose result would be the initial model.
var errNobodyTrained = errors.New("no client trained")

// round makes round t and returns how many clients were active and their learning rate. The caller makes the rounds in
// order, because the method keeps state. round draws the clients of the next round too, so that the method can make
// their batch plans while this round trains.
func (f *Federation) round(ctx context.Context, t int) (active int, lr float64, err error) {
	f.clients.Availability.Probabilities(t, f.p)
	if f.active = f.next; f.active == nil {
		f.active = f.clients.Availability.Active(t)
	}
	f.next = f.clients.Availability.Active(t + 1)
	r := algos.Round{
		T: t, Active: f.active, Next: f.next, P: f.p, LR: f.settings.Rate(t), ServerLR: f.settings.ServerLR,
	}
	loss, err := f.Method.Round(ctx, r)
	f.trained = f.trained || len(loss) > 0
	if d, ok := errors.AsType[*nets.DivergedError](err); ok { // the message counts from 1, as the CSV does
		err = &divergedError{fmt.Errorf(
			"%s: round %d: client %d: local step %d: loss %g, want a finite number (a lower --lr may help)",
			f.settings.Method, t+1, d.Client, d.Step+1, d.Loss)}
	}
	return len(r.Active), r.LR, err
}

// testJobs returns what to evaluate a model on: the whole test set or each client's own test samples, or with
// --hold-out what stands in for them.
func (f *Federation) testJobs(model nets.Row) (jobs []nets.EvalJob) {
	if f.clients.test == nil {
		return []nets.EvalJob{{Row: model, Part: f.clients.tested, Index: f.clients.same}}
	}
	for _, own := range f.clients.test {
		if len(own) > 0 { // a client without test samples has no accuracy
			jobs = append(jobs, nets.EvalJob{Row: model, Part: f.clients.tested, Index: own})
		}
	}
	return jobs
}

// testMeans returns loss and accuracy of the answers to testJobs. Where clients have test samples of their own, these
// are means over the clients weighted by importance, as CA-Fed's released code reports them.
func (f *Federation) testMeans(answers []nets.EvalResult) (loss, accuracy float64) {
	if f.clients.test == nil {
		return answers[0].Loss, answers[0].Accuracy()
	}
	total, k := 0.0, 0
	for i, own := range f.clients.test {
		if len(own) == 0 {
			continue
		}
		r, a := answers[k], f.importance[i]
		loss, accuracy, total, k = loss+a*r.Loss, accuracy+a*r.Accuracy(), total+a, k+1
	}
	return loss / total, accuracy / total
}

// decisions returns how the method used every client in the last round; nil for a method that weights nobody. round
// counts from 1, as in the CSV.
func (f *Federation) decisions(round int) []results.DecisionRow {
	d := f.Method.Inspect()
	if d == nil {
		return nil
	}
	rows := make([]results.DecisionRow, len(d.Q))
	for i := range rows {
		rows[i] = results.DecisionRow{
			Round: round, Client: i, Included: count01(d.Included[i]), Weight: d.Q[i], Pi: d.Pi[i], Lambda: d.Lambda[i],
			Target: f.target[i],
		}
	}
	for _, i := range f.active {
		rows[i].Active = 1
	}
	return rows
}

// count01 returns 1 for yes and 0 for no, as decisions.csv has it.
func count01(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
