package many

import (
	"context"
	"fmt"
	"math"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets/plan"
	"rollcall/results/papers"
)

// estimatorErrors returns the distance of the availability estimates from the truth, before the first round, when the
// estimator has seen the history only, and after the last round. Nothing is trained.
func estimatorErrors(f *papers.Figure, w *Wanted) (errors []papers.EstimatorError, err error) {
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
		errors = append(errors, first, last)
	}
	return errors, nil
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
