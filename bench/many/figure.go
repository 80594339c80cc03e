package many

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Measure measures the data of a figure, or the wanted part of it. Each type of papers.Measure has its own way.
func (p *Pool) Measure(ctx context.Context, f *papers.Figure, w *Wanted) (m papers.Measured, err error) {
	m.Figure = *f
	switch what := f.Measure.(type) {
	case papers.Nothing:
	case papers.Curves:
		m.Lines, err = p.lines(ctx, f, w, what.Decisions)
	case papers.ClassShares:
		m.Classes, err = p.classes(ctx, what, f.Seeds[0], w)
	case papers.BaseAvailability:
		m.Base, err = p.base(ctx, what, f.Seeds[0], w)
	case papers.Trajectories:
		for _, model := range what.Models {
			rows, err := Trajectories(model, availability.Defaults(what.Base, f.Seeds[0]), f.Rounds)
			if err != nil {
				return m, err
			}
			m.Paths = append(m.Paths, rows...)
		}
	case papers.EstimatorErrors:
		m.Errors, err = estimatorErrors(f, w)
	case papers.Coalitions:
		m.Coalitions, err = p.coalitions(ctx, f, w, what.MostStale)
	default:
		err = fmt.Errorf("figure %s: no way to measure %T", f.ID, what)
	}
	return m, err
}

// lines makes the runs of the wanted lines of a figure, with every seed.
func (p *Pool) lines(ctx context.Context, f *papers.Figure, w *Wanted, decisions bool) ([]papers.Line, error) {
	lines, tasks, err := w.lines(f)
	if err != nil {
		return nil, err
	}
	var wrong []error // a line that failed does not keep the other lines from being made
	lacking := 0
	left, err := p.Seeds(ctx, f.ID, tasks, f.Seeds, decisions, func(i int, runs papers.Runs, failed error) error {
		if failed == nil {
			lines[i].Runs = runs
			failed = markLine(&lines[i], tasks[i].Label)
		} else {
			failed = fmt.Errorf("%s: %w", tasks[i].Label, failed)
		}
		switch {
		case failed == nil:
		case errors.Is(failed, context.Canceled):
			return failed
		case isInterrupted(failed): // [Pool.Run] reports it, once, for all lines
		case IsElsewhere(failed):
			lacking++
		default:
			run.Logf(p.Stderr, "rollcall: %s\n", settings.ErrorLine(failed))
			wrong = append(wrong, failed)
		}
		return nil
	})
	switch {
	case err != nil:
	case left.Refused > 0:
		err = fmt.Errorf("figure %s: %d of %d lines failed, named above: %s", f.ID, len(wrong), len(lines),
			left.Words())
	case len(wrong) == 1:
		err = wrong[0]
	case wrong != nil:
		err = fmt.Errorf("figure %s: %d of %d lines failed, named above", f.ID, len(wrong), len(lines))
	case lacking > 0:
		err = &LackingError{left.Held, lacking}
		if left.Held == 0 {
			err = &OtherPartError{p.Keep.Part, left.Parts, lacking}
		}
	}
	return lines, err
}

// markLine adds marks to the name of a line whose mean is not what a reader expects: seeds that diverged are not in it,
// or the runs in it are not alike. It returns an error if every seed diverged.
func markLine(line *papers.Line, label string) error {
	var marks []string
	if left, away := len(line.Curves), len(line.Diverged); away > 0 {
		if left == 0 {
			return fmt.Errorf("%s: every seed diverged: %s", label, line.Diverged[0].Info.Error)
		}
		marks = append(marks, fmt.Sprintf("[%d of %d seeds, %d diverged]", left, left+away, away))
	}
	if words := results.MixedWords(line.Of); words != "" {
		marks = append(marks, "[mixed: "+words+"]")
	}
	if line.Series != "" && marks != nil { // a line without a name is not in the legend
		line.Series += " " + strings.Join(marks, " ")
	}
	return nil
}

// lines returns the wanted lines of a figure, and the task of each.
func (w *Wanted) lines(f *papers.Figure) (lines []papers.Line, tasks []Task, err error) {
	var methods, sets []string
	var columns []papers.Column
	for _, r := range f.Runs {
		methods, sets, columns = append(methods, r.Method), append(sets, r.Data), append(columns, r.Column)
	}
	method, err := narrow("methods", w.Methods, methods)
	if err != nil {
		return nil, nil, err
	}
	data, err := narrow("data", w.Data, sets)
	if err != nil {
		return nil, nil, err
	}
	column, err := w.column("figure "+f.ID, columns)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range f.Runs {
		if method(r.Method) && data(r.Data) && column(&r.Column) {
			lines = append(lines, papers.Line{Training: r})
		}
	}
	if len(lines) == 0 {
		return nil, nil, settings.Usagef("figure %s: no run is left of these methods, data and columns", f.ID)
	}
	tasks = make([]Task, len(lines))
	for i, r := range lines {
		s, err := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
		if err != nil {
			return nil, nil, err
		}
		if curves, is := f.Measure.(papers.Curves); is && curves.Train {
			s.EvalTrainRounds = settings.EvalTrainAll
		}
		label := cellLabel(fmt.Sprintf("[%d/%d]", i+1, len(lines)), s, r.Column)
		if r.Series != "" && r.Series != r.Method {
			label += " " + r.Series
		}
		tasks[i] = Task{Settings: s, Label: label}
	}
	return lines, tasks, nil
}

// FigureInfo returns how the measured data of a figure were made, and how large the figure is in its paper. given are
// the flags that the user gave. It must be called before the pool is closed.
func (p *Pool) FigureInfo(
	f *papers.Figure, w *Wanted, m *papers.Measured, given map[string]string,
) (info results.FigureInfo, err error) {
	whole, err := papers.FigureByID(f.ID)
	if err == nil {
		err = (&Wanted{Readings: w.Readings}).Figure(&whole)
	}
	if err != nil {
		return info, err
	}
	ours, err := w.sizeOf(f)
	if err != nil {
		return info, err
	}
	paper, err := (&Wanted{Preset: w.Preset, Readings: w.Readings}).sizeOf(&whole)
	if err != nil {
		return info, err
	}
	info = results.FigureInfo{
		Figure: f.ID, Preset: w.Preset, Settings: given, Version: run.Version(),
		Rounds: f.Rounds, PaperRounds: whole.Rounds,
		Seeds: append([]uint32{}, f.Seeds...), PaperSeeds: len(whole.Seeds),
		Clients: ours.clients, PaperClients: paper.clients,
		Methods: ours.methods, PaperMethods: paper.methods,
		Data: map[string]string{}, PaperData: paper.data,
		Numerics: []string{}, Revisions: []string{},
	}
	for i := range m.Lines {
		line := &m.Lines[i]
		info.Trained = true
		info.Runs += len(line.Of)
		info.Diverged += len(line.Diverged)
		if len(line.Of) > 0 {
			info.Rounds = min(info.Rounds, line.Rounds())
		}
		for _, r := range line.Of {
			info.Data[r.Data] = results.DataInFile(r.DataChecksum)
			info.Numerics = append(info.Numerics, r.Numerics)
			info.Revisions = append(info.Revisions, r.Revisions.String())
		}
	}
	if _, trained := f.Measure.(papers.Coalitions); trained {
		info.Trained, info.Runs = true, len(m.Coalitions)
		class, engine, err := p.Sessions[0].Machine.Numerics()
		if err != nil {
			return info, err
		}
		info.Numerics = append(info.Numerics, class)
		info.Revisions = append(info.Revisions, run.Revisions(&ours.settings, engine).String())
	}
	// Data that no kept run names are still open in the sessions that read them.
	for _, ses := range p.Sessions {
		if len(m.Lines) == 0 && ses.Data != nil {
			info.Data[ses.Data.Name] = results.DataInFile(ses.Checksum(&ours.settings))
		}
	}
	info.Numerics, info.Revisions = files.SortedSet(info.Numerics), files.SortedSet(info.Revisions)
	return info, nil
}

// figureSize is what a figure's lines have, each value once: ascending clients, and names in the order of the lines.
type figureSize struct {
	clients       []int // not nil
	methods, data []string
	settings      settings.Settings // of the last line
}

// sizeOf returns the size of the wanted part of a figure. A figure that is computed from no setting of a run has none.
func (w *Wanted) sizeOf(f *papers.Figure) (size figureSize, err error) {
	one := func(s settings.Settings, err error) ([]settings.Settings, error) { return []settings.Settings{s}, err }
	var lines []settings.Settings
	trained, reads := false, true
	switch what := f.Measure.(type) {
	case papers.Curves:
		trained = true
		lines, _, err = FigureSettings(f, w)
	case papers.Coalitions:
		trained = true
		lines, err = one(w.coalitionSettings(f, what.MostStale))
	case papers.EstimatorErrors:
		reads = false // the estimators watch the clients alone
		for _, r := range f.Runs {
			s, wrong := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
			lines, err = append(lines, s), cmp.Or(err, wrong)
		}
	case papers.BaseAvailability:
		lines, err = one(w.splitOf(what.Method, what.Data, nil))
	case papers.ClassShares:
		lines, err = one(w.splitOf(what.Method, what.Data, &what.Clients))
	}
	if err != nil {
		return size, err
	}
	for _, s := range lines {
		size.settings, size.clients = s, append(size.clients, s.Clients)
		if trained {
			size.methods = append(size.methods, s.Method)
		}
		if reads {
			size.data = append(size.data, s.Data)
		}
	}
	size.clients = files.SortedSet(size.clients)
	size.methods = append([]string{}, files.Unique(size.methods)...) // not nil, so that JSON has []
	size.data = append([]string{}, files.Unique(size.data)...)
	return size, nil
}

// estimatorErrors returns the distance of the availability estimates from the truth, before the first round, when the
// estimator has seen the history only, and after the last round. Nothing is trained.
func estimatorErrors(f *papers.Figure, w *Wanted) (rows []papers.EstimatorError, err error) {
	for _, r := range f.Runs {
		s, err := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
		if err != nil {
			return nil, err
		}
		// A chain has its own availability, and takes from the p_i only how many clients there are.
		options := s.AvailabilityOptions(slices.Repeat([]float64{1}, s.Clients))
		first, last := papers.EstimatorError{X: r.X}, papers.EstimatorError{X: r.X, Round: s.Rounds}
		for _, seed := range f.Seeds {
			options.Seed = seed
			model, err := availability.New(s.Availability, options)
			if err != nil {
				return nil, err
			}
			pi, lambda := model.Stationary()
			e := algos.NewEstimator(int(r.X), algos.Preset(s.Preset), seed, pi, lambda)
			first.Pi = append(first.Pi, meanDistance(e.Pi, pi))
			first.Lambda = append(first.Lambda, meanDistance(e.Lambda, lambda))
			for t := range s.Rounds {
				e.Observe(model.Active(t))
			}
			last.Pi = append(last.Pi, meanDistance(e.Pi, pi))
			last.Lambda = append(last.Lambda, meanDistance(e.Lambda, lambda))
		}
		rows = append(rows, first, last)
	}
	return rows, nil
}

// meanDistance returns the mean of |a − b| over the elements.
func meanDistance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i]-b[i]) / float64(len(a))
	}
	return sum
}

// Trajectories returns p_i^t and the activity of every client under an availability model, for the first rounds.
func Trajectories(model string, o availability.Options, rounds int) (rows []papers.FedAWEF6Row, err error) {
	made, err := availability.New(model, o)
	if err != nil {
		return nil, err
	}
	for i, base := range o.Base {
		p := make([]float64, len(o.Base))
		for t := range rounds {
			made.Probabilities(t, p)
			active := 0
			if slices.Contains(made.Active(t), i) {
				active = 1
			}
			rows = append(rows, papers.FedAWEF6Row{
				Availability: model, P: base, Round: t, Probability: p[i], Active: active,
			})
		}
	}
	return rows, nil
}

// base returns the p_i [N] that the split of a data set gives the clients, which FedAWE's Figure 5 counts.
func (p *Pool) base(ctx context.Context, of papers.BaseAvailability, seed uint32, w *Wanted) ([]float64, error) {
	s, err := w.splitOf(of.Method, of.Data, nil)
	if err != nil {
		return nil, err
	}
	clients, _, err := p.populate(ctx, &s, seed)
	return clients.Base, err
}

// classes returns the number of training images of each class at each client [N][classes], FedAWE's Figure 4.
func (p *Pool) classes(ctx context.Context, of papers.ClassShares, seed uint32, w *Wanted) ([][]int, error) {
	s, err := w.splitOf(of.Method, of.Data, &of.Clients)
	if err != nil {
		return nil, err
	}
	clients, train, err := p.populate(ctx, &s, seed)
	if err != nil {
		return nil, err
	}
	return clients.ClassCounts(train), nil
}

// splitOf returns the settings of the split that a method's paper makes of a data set, or of the wanted one, for so
// many clients unless others are wanted. nil: as many as in the paper's runs.
func (w *Wanted) splitOf(method, data string, clients *int) (s settings.Settings, err error) {
	if w.Data != nil {
		if len(w.Data) != 1 {
			return s, settings.Usagef("--data: %d data sets, want one", len(w.Data))
		}
		data = w.Data[0]
	}
	if s, err = settings.Defaults(method, w.Preset, data); err != nil {
		return s, err
	}
	if clients != nil {
		s.Clients = *clients
	}
	if err := s.Give(w.Given); err != nil {
		return s, err
	}
	return s, s.Validate()
}

// populate opens the data set of s and splits it among the clients. It also returns the training samples.
func (p *Pool) populate(ctx context.Context, s *settings.Settings, seed uint32) (run.Population, *plan.Samples, error) {
	session := p.Sessions[0]
	if err := session.OpenData(ctx, s, seed); err != nil {
		return run.Population{}, nil, err
	}
	clients, err := run.Populate(session.Data, s, seed)
	return clients, session.Data.Train, err
}

// coalitions returns the accuracies of all coalitions of clients, for each number of last rounds that client 0 misses,
// from 0 to mostStale, and each seed. A coalition's model is the mean over its clients only. The figure's first run
// gives the settings.
func (p *Pool) coalitions(ctx context.Context, f *papers.Figure, w *Wanted, mostStale int) ([]papers.Coalition, error) {
	s, err := w.coalitionSettings(f, mostStale)
	if err != nil {
		return nil, err
	}
	var all []papers.Coalition
	for stale := range mostStale + 1 {
		for _, seed := range f.Seeds {
			all = append(all, papers.Coalition{Stale: stale, Seed: seed})
		}
	}
	jobs := make([][]*Job, len(all))
	for i := range all {
		c := &all[i]
		do := func(ctx context.Context, ses *run.Session) (err error) {
			c.Accuracies, err = ses.Coalitions(ctx, s, c.Seed, c.Stale)
			return err
		}
		jobs[i] = []*Job{{Run: fmt.Sprint(c.Stale, c.Seed), Do: do}}
	}
	err = p.Run(ctx, jobs, func(i int) error {
		c := &all[i]
		if err := jobs[i][0].Err; err != nil {
			return fmt.Errorf("stale %d, seed %d: %w", c.Stale, c.Seed, err)
		}
		n := len(c.Accuracies) // the first is of no client, the last of all clients, see [algos.Coalitions]
		run.Logf(p.Stderr, "stale %d, seed %d: test accuracy %.1f %% without and %.1f %% with the last round of all, "+
			"%d coalitions\n", c.Stale, c.Seed, 100*c.Accuracies[0], 100*c.Accuracies[n-1], n)
		return nil
	})
	return all, err
}

// coalitionSettings returns the settings of the figure's first run. It refuses more than 10 clients: with each client
// there are twice as many coalitions, and each coalition has a model in the engine's memory.
func (w *Wanted) coalitionSettings(f *papers.Figure, mostStale int) (settings.Settings, error) {
	s, err := w.settings("figure "+f.ID, f.Rounds, f.Runs[0].Column, f.Runs[0].Method)
	if err == nil && (s.Rounds <= mostStale || s.Clients > 10) {
		err = settings.Usagef("figure %s: --rounds %d --clients %d: want more than %d rounds and at most 10 clients, "+
			"whose coalitions are 1024", f.ID, s.Rounds, s.Clients, mostStale)
	}
	return s, err
}
