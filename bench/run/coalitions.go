package run

import (
	"context"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/nets"
)

// Coalitions trains one federation, whose client 0 misses the last stale rounds, and returns the test accuracy of every
// coalition's model, in the order of [algos.Coalitions], all evaluated at once.
func (ses *Session) Coalitions(ctx context.Context, s settings.Settings, seed uint32, stale int) ([]float64, error) {
	if err := ses.openFor(ctx, &s, seed, func(c *rowCounter) error {
		clients, err := ses.populate(&s, seed)
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
	f, err := ses.Federate(ctx, s, seed, ses.Engine)
	if err != nil {
		return nil, err
	}
	if err := f.anyoneTrains(ctx); err != nil {
		f.Method.Close()
		return nil, err
	}
	answers, err := f.coalitions(ctx, ses.Engine, seed, stale)
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
	f.Method.Close() // algos.Coalitions trains the clients itself
	federation := f.forMethods(engine, seed)
	models, free, err := algos.Coalitions(ctx, federation, f.W0, f.settings.Rounds, stale, f.settings.Rate)
	if err != nil {
		return nil, err
	}
	defer free()
	jobs := make([]nets.EvalJob, len(models))
	for k, row := range models {
		jobs[k] = nets.EvalJob{Row: row, Part: f.clients.tested, Index: f.clients.same}
	}
	return engine.Evaluate(ctx, jobs)
}
