package tune

import (
	"context"
	"slices"

	"rollcall/bench/many"
	"rollcall/results"
)

// Title names the tuning in a plan.
func (t *Tuning) Title() string { return "Tuning " + t.Name + " by successive halving" }

// Plan returns the runs that [Tuning.Run] would train or keep, each with the rounds to which it comes. It only reads.
func (t *Tuning) Plan(ctx context.Context, p *many.Pool) (runs []many.Planned, err error) {
	err = t.plan(ctx, p, func(c *cell, rung int, planned []many.Planned, left []int) {
		for i := range c.trials {
			if rung < len(c.rungs)-1 && slices.Contains(left, i) {
				continue // the next rung has it
			}
			runs = append(runs, planned[i*len(t.Seeds):][:len(t.Seeds)]...)
		}
	})
	return runs, err
}

// PlanRungs returns the runs of each rung, from the round to which the rung before it comes. Of a rung whose runs are
// not known yet only their number is right, and all are to be made. It writes nothing.
func (t *Tuning) PlanRungs(ctx context.Context, p *many.Pool) (rungs [][]many.Planned, err error) {
	err = t.plan(ctx, p, func(c *cell, rung int, planned []many.Planned, _ []int) {
		if rung == len(rungs) {
			rungs = append(rungs, nil)
		}
		for _, r := range planned {
			if rung > 0 {
				r.From = c.rungs[rung-1]
			}
			if !c.known {
				r.Kept, r.Done = false, 0
			}
			rungs[rung] = append(rungs[rung], r)
		}
	})
	return rungs, err
}

// plan calls visit for every rung of every cell, with its runs, each with the rounds to which it comes, and the trials
// that go on. Which do is known as far as the runs are there; beyond that, the first of the grid stand for them.
func (t *Tuning) plan(
	ctx context.Context, p *many.Pool, visit func(c *cell, rung int, planned []many.Planned, left []int),
) error {
	cells, err := t.cells()
	if err != nil {
		return err
	}
	for _, c := range cells {
		c.known = true
		for rung := range c.rungs {
			tasks := c.tasks(rung)
			planned, err := p.Planned(ctx, t.Name, tasks, t.Seeds, false)
			if err != nil {
				return err
			}
			whole := c.readScores(t, p, rung)
			for i := range planned {
				planned[i].Settings.Rounds = c.rungs[rung]
				planned[i].Kept = planned[i].Kept || whole
			}
			left := make([]int, half(len(tasks))) // the first ones
			for i := range left {
				left[i] = i
			}
			if whole {
				left = best(c.trials, half(len(tasks)))
			}
			visit(c, rung, planned, left)
			c.known = c.known && whole
			var next []trial
			for _, i := range left {
				next = append(next, c.trials[i])
			}
			c.trials = next
		}
	}
	return nil
}

// readScores reads the scores of a rung from the files of its runs, and reports whether all runs are there. A run that
// is in a later rung by now has its rows, though it may have no run.json: another process may be making it.
func (c *cell) readScores(t *Tuning, p *many.Pool, rung int) bool {
	scores := make([]score, len(c.trials))
	for i, task := range c.tasks(rung) {
		var curves [][]results.CurveRow
		for _, seed := range t.Seeds {
			r, ok := p.Reached(t.Name, task, seed, c.rungs[rung])
			if !ok {
				return false
			}
			curves = append(curves, r)
		}
		scores[i] = scoreOf(&c.settings, curves, c.rungs[rung])
	}
	for i := range scores {
		c.trials[i].score = scores[i]
	}
	return true
}
