package tune

import (
	"context"
	"slices"

	"rollcall/bench/run"
	"rollcall/results"
)

// Title names the tuning in a plan.
func (t *Tuning) Title() string { return "Tuning " + t.Name + " by successive halving" }

// Plan returns the runs that [Tuning.Run] would make or keep, each with the rounds to which it comes. Which pairs go on
// is known as far as the runs are there; beyond that, the first of the grid stand for those that will. It writes
// nothing.
func (t *Tuning) Plan(ctx context.Context, p *run.Pool) (runs []run.Planned, err error) {
	cells, err := t.cells()
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		for rung := range c.rungs {
			tasks := c.tasks(rung)
			planned, err := p.Planned(ctx, t.Name, tasks, t.Seeds)
			if err != nil {
				return nil, err
			}
			left := make([]int, half(len(tasks))) // the first ones
			for i := range left {
				left[i] = i
			}
			if c.readScores(t, p, rung, planned) {
				left = best(c.trials, half(len(tasks)))
			}
			var next []trial
			for i, tried := range c.trials {
				if rung < len(c.rungs)-1 && slices.Contains(left, i) {
					next = append(next, tried)
					continue
				}
				for _, r := range planned[i*len(t.Seeds):][:len(t.Seeds)] {
					r.Settings.Rounds = c.rungs[rung]
					runs = append(runs, r)
				}
			}
			c.trials = next
		}
	}
	return runs, nil
}

// readScores reads the scores of a rung whose runs are all there, and reports whether they are.
func (c *cell) readScores(t *Tuning, p *run.Pool, rung int, planned []run.Planned) bool {
	if slices.ContainsFunc(planned, func(r run.Planned) bool { return !r.Kept }) {
		return false
	}
	for i, task := range c.tasks(rung) {
		var curves [][]results.CurveRow
		for _, seed := range t.Seeds {
			r, bad := results.ReadRunFolder(run.Folder(p.Sessions[0].Machine.Out, t.Name, task.Settings, seed))
			if len(bad) > 0 || len(r.Curve) == 0 {
				return false
			}
			curves = append(curves, r.Curve)
		}
		c.trials[i].score = scoreOf(curves, c.rungs[rung])
	}
	return true
}
