package run

import (
	"context"
	"slices"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/nets"
)

// Coalitions trains and returns the test accuracy of every coalition's model, all evaluated at once.
func Coalitions(ctx context.Context, l *Session, s settings.Settings, seed uint32, stale int) ([]float64, error) {
	if err := l.Open(ctx, &s, seed); err != nil {
		return nil, err
	}
	f, err := l.Federate(ctx, s, seed, l.Engine)
	if err != nil {
		return nil, err
	}
	f.Method.Close() // its clients are wanted, not its server
	federation := f.of(l.Engine, seed)
	federation.P, federation.Lambda = slices.Repeat([]float64{1}, s.Clients), nil
	c, err := algos.NewCoalitions(ctx, federation, f.W0, s.Rounds, stale, s.Rate)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	jobs := make([]nets.EvalJob, len(c.Rows))
	for k, row := range c.Rows {
		jobs[k] = nets.EvalJob{Row: row, Part: nets.Test}
	}
	answers, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return nil, err
	}
	accuracies := make([]float64, len(answers))
	for k, r := range answers {
		accuracies[k] = r.Accuracy()
	}
	return accuracies, nil
}
