package run

import (
	"context"
	"fmt"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/results/papers"
)

// coalitions returns the accuracies of all coalitions of the clients of the figure's first run, for each number of
// rounds that client 0 is away in the end, and each seed.
func (p *Pool) coalitions(ctx context.Context, f *papers.Figure, w *Wanted, mostStale int) ([]papers.Coalition, error) {
	s, err := w.ofCoalitions(f, mostStale)
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
		jobs[i] = []*Job{{Run: fmt.Sprint(c.Stale, c.Seed), Do: func(ctx context.Context, l *Session) (err error) {
			c.Accuracies, err = coalitionAccuracies(ctx, l, s, c.Seed, c.Stale)
			return err
		}}}
	}
	err = p.Run(ctx, jobs, func(i int) error {
		c := &all[i]
		if err := jobs[i][0].Err; err != nil {
			return fmt.Errorf("stale %d, seed %d: %w", c.Stale, c.Seed, err)
		}
		n := len(c.Accuracies)
		Logf(p.Stderr, "stale %d, seed %d: test accuracy %.1f %% without and %.1f %% with the last round of all, %d "+
			"coalitions\n",
			c.Stale, c.Seed, 100*c.Accuracies[0], 100*c.Accuracies[n-1], n)
		return nil
	})
	return all, err
}

// ofCoalitions returns the settings of the figure's first run.
func (w *Wanted) ofCoalitions(f *papers.Figure, mostStale int) (settings.Settings, error) {
	s, err := w.settings("figure "+f.ID, f.Rounds, f.Runs[0].Column, f.Runs[0].Method)
	if err == nil && (s.Rounds <= mostStale || s.Clients > 10) {
		err = settings.Usagef("figure %s: --rounds %d --clients %d: want more than %d rounds and at most 10 clients, "+
			"whose coalitions are 1024", f.ID, s.Rounds, s.Clients, mostStale)
	}
	return s, err
}

// coalitionAccuracies trains and returns the test accuracy of every coalition's model, all evaluated at once.
func coalitionAccuracies(
	ctx context.Context, l *Session, s settings.Settings, seed uint32, stale int,
) ([]float64, error) {
	if err := l.openFor(ctx, &s, seed, func(c *rowCounter) error {
		clients, err := Populate(l.Data, &s, seed)
		if err != nil {
			return err
		}
		f, err := dryFederation(&s, seed, clients, c)
		if err != nil {
			return err
		}
		_, err = f.coalitions(ctx, c, seed, stale)
		return err
	}); err != nil {
		return nil, err
	}
	f, err := l.Federate(ctx, s, seed, l.Engine)
	if err != nil {
		return nil, err
	}
	answers, err := f.coalitions(ctx, l.Engine, seed, stale)
	accuracies := make([]float64, len(answers))
	for k, r := range answers {
		accuracies[k] = r.Accuracy()
	}
	return accuracies, err
}

// coalitions trains on an engine and evaluates the model of every coalition.
func (f *Federation) coalitions(
	ctx context.Context, engine nets.Engine, seed uint32, stale int,
) ([]nets.EvalResult, error) {
	f.Method.Close() // its clients are wanted, not its server
	models, free, err := algos.Coalitions(ctx, f.of(engine, seed), f.W0, f.settings.Rounds, stale, f.settings.Rate)
	if err != nil {
		return nil, err
	}
	defer free()
	jobs := make([]nets.EvalJob, len(models))
	for k, row := range models {
		jobs[k] = nets.EvalJob{Row: row, Part: nets.Test}
	}
	return engine.Evaluate(ctx, jobs)
}
