// Package tune chooses learning rates on a grid by successive halving, on samples that are held out of the training
// set: it is `rollcall tune`.
package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// Tuning says which rates are tried for which runs.
type Tuning struct {
	// Sweep has the methods, availability models, data sets, nets and seeds, and all settings but the rates, among them
	// the rounds of the last rung and a share of held-out samples. Its Rates are empty.
	many.Sweep
	LRs, ServerLRs []float64 // the grid of η_0 and η_g, each above 0 and once

	Part many.Part // of the cells, which are made whole
	Rung *int      // make the runs of this rung alone, from 1, and of the part in Keep; nil: of all rungs
}

// ErrEarlier says that a rung cannot be made yet: the runs before it are not finished.
var ErrEarlier = errors.New("the rung before it is not finished, want it first")

// cell is a method under an availability model on data: what rates are chosen for.
type cell struct {
	settings settings.Settings // with whichever rates
	rungs    []int             // see [rungs]
	trials   []trial           // that are left, at first the whole grid
	rows     []TrialRow        // of all rungs up to now
	winner   *many.RatesRow    // nil: there is none yet, or all pairs diverged
	failed   error             // why there is none; nil: nothing failed
	known    bool              // in a plan: which trials are left is known
}

// Validate reports the first impossible rate, seed or setting.
func (t *Tuning) Validate() error {
	_, err := t.cells()
	return err
}

// validate reports the first impossible rate or seed.
func (t *Tuning) validate() error {
	for _, c := range []struct {
		flag string
		grid []float64
	}{{"lrs", t.LRs}, {"server-lrs", t.ServerLRs}} {
		if len(c.grid) == 0 {
			return settings.Usagef("--%s: empty, want at least one rate", c.flag)
		}
		for _, x := range c.grid {
			// !(x > 0) refuses NaN too.
			if !(x > 0) || math.IsInf(x, 0) {
				return settings.Usagef("--%s %g: want finite numbers above 0", c.flag, x)
			}
		}
	}
	for _, seed := range t.Seeds {
		if err := refuseSeed("seeds", seed); err != nil {
			return err
		}
	}
	for _, name := range settings.SeedNames() {
		// Cells reports what is no seed.
		if seed, err := strconv.ParseUint(t.Given.Get(name, "none"), 10, 32); err == nil {
			if err := refuseSeed(name, uint32(seed)); err != nil {
				return err
			}
		}
	}
	return nil
}

func refuseSeed(flag string, seed uint32) error {
	of := papers.WithSeed(seed)
	if len(of) == 0 {
		return nil
	}
	return settings.Usagef("--%s %d: tables and figures such as %s have it, and their numbers would come "+
		"from the draws "+
		"with which the rates were chosen: want other seeds", flag, seed, of[0])
}

func (t *Tuning) cells() (cells []*cell, err error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	if t.Given.Get("hold-out", "0") == "0" {
		return nil, settings.Usagef("--hold-out 0: want a share above 0, by which the rates are chosen")
	}
	sweep := t.Sweep
	for _, method := range t.Methods { // stands in for the rates of a trial, since the method may have none by default
		sweep.Rates = append(sweep.Rates, fmt.Sprintf("%s=%g/%g", method, t.LRs[0], t.ServerLRs[0]))
	}
	_, of, err := sweep.Cells()
	if err != nil {
		return nil, err
	}
	var keys []many.RunKey
	for i := range of {
		keys = append(keys, many.RunKey{Cell: fmt.Sprint(many.RatesKeyOf(&of[i].Settings))})
	}
	ofPart := t.Part.Keys(keys)
	for i := range of {
		if !ofPart[keys[i]] {
			continue
		}
		s := of[i].Settings
		c := &cell{settings: s, rungs: rungs(s.Rounds, s.EvalEvery)}
		for _, lr := range t.LRs {
			for _, serverLR := range t.ServerLRs {
				c.trials = append(c.trials, trial{pair: pair{lr, serverLR}})
			}
		}
		cells = append(cells, c)
	}
	if t.Rung != nil {
		if most := mostRungs(cells); *t.Rung < 1 || *t.Rung > most {
			return nil, settings.Usagef("--rung %d: want 1 … %d", *t.Rung, most)
		}
	}
	return cells, nil
}

func (c *cell) task(t *trial, rung int) many.Task {
	s := c.settings
	s.LR, s.ServerLR = t.lr, t.serverLR
	task := many.Task{
		Settings: s,
		Label: fmt.Sprintf("%s %s %s lr=%g server-lr=%g, to round %d", s.Method, s.Data, s.Availability, t.lr,
			t.serverLR, c.rungs[rung]),
	}
	if rung < len(c.rungs)-1 {
		task.StopAt = &c.rungs[rung]
	}
	if rung > 0 {
		task.From = c.rungs[rung-1]
	}
	return task
}

// later returns the tasks of the rungs after one, as many as there will be: which trials are in them is not known yet,
// and the first ones stand for them.
func later(cells []*cell, rung int) (tasks []many.Task) {
	for _, c := range cells {
		n := len(c.trials)
		for next := rung + 1; next < len(c.rungs) && c.failed == nil; next++ {
			n = half(n)
			for i := range n {
				tasks = append(tasks, c.task(&c.trials[i], next))
			}
		}
	}
	return tasks
}

func (c *cell) tasks(rung int) (tasks []many.Task) {
	if c.failed != nil || rung >= len(c.rungs) {
		return nil
	}
	for i := range c.trials {
		tasks = append(tasks, c.task(&c.trials[i], rung))
	}
	return tasks
}

// Outcome is what a tuning came to.
type Outcome struct {
	Rates       []many.RatesRow // of the cells that have some
	Cells       int             // all cells
	Failed      []error         // of cells without rates, an error each
	many.Undone                 // of all rungs

	path   string // of the file with the rates
	tuning *Tuning
	rungs  string // for people
}

// Run makes the runs of all rungs, one rung after the other, in a pool; runs that are there already are kept. After
// every rung it writes what was tried, and at the end the rates. When ctx ends it returns ctx's error, and a repeated
// Run goes on.
//
// With Rung it makes the runs of that rung, and writes what was tried as far as the files of all runs say it: whoever
// finishes the last run of a rung writes the rung down. It returns [ErrEarlier] if a rung before is not finished.
func (t *Tuning) Run(ctx context.Context, p *many.Pool) (*Outcome, error) {
	cells, err := t.cells()
	if err != nil {
		return nil, err
	}
	done := &Outcome{Cells: len(cells), tuning: t}
	if len(cells) == 0 { // there are more parts than cells
		return done, nil
	}
	done.rungs = rungWords(cells)
	whole := true // all runs are there, as far as Rung lets this command say so
	for rung := 0; whole && rung < mostRungs(cells); rung++ {
		if t.Rung == nil || rung+1 == *t.Rung {
			if t.Rung == nil {
				p.Expect(later(cells, rung), len(t.Seeds))
			}
			left, err := t.makeRung(ctx, p, cells, rung)
			if err != nil {
				return nil, err
			}
			done.Parts, done.Held, done.Refused = left.Parts, done.Held+left.Held, done.Refused+left.Refused
			p.Keep.Again = false // the later rungs go on with the runs of this one
		}
		if t.Rung != nil { // the other parts of this rung may have been made meanwhile, and the later rungs before
			if whole = t.readRung(p, cells, rung); !whole && rung+1 < *t.Rung {
				return nil, fmt.Errorf("tune %s: --rung %d: %w", t.Name, *t.Rung, ErrEarlier)
			}
		}
		if whole {
			if err := t.endRung(ctx, p, cells, rung); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range cells {
		switch {
		case c.winner != nil:
			done.Rates = append(done.Rates, *c.winner)
		case c.failed != nil && !many.IsElsewhere(c.failed):
			done.Failed = append(done.Failed, c.failed)
		case c.failed == nil && whole:
			done.Failed = append(done.Failed,
				fmt.Errorf("%s: every pair of rates diverged, want smaller ones", many.RatesKeyOf(&c.settings)))
		}
	}
	done.path, err = t.writeRates(p, done.Rates)
	return done, err
}

// mostRungs returns how many rungs the cells have, at most.
func mostRungs(cells []*cell) (most int) {
	for _, c := range cells {
		most = max(most, len(c.rungs))
	}
	return most
}

// makeRung makes the runs of a rung, and returns how many it has left undone.
func (t *Tuning) makeRung(ctx context.Context, p *many.Pool, cells []*cell, rung int) (left many.Undone, err error) {
	var tasks []many.Task
	var of []*trial // of each task
	var in []*cell
	for _, c := range cells {
		own := c.tasks(rung)
		for i := range own {
			of, in = append(of, &c.trials[i]), append(in, c)
		}
		tasks = append(tasks, own...)
	}
	for i := range tasks {
		tasks[i].Label = fmt.Sprintf("[%d/%d] %s", i+1, len(tasks), tasks[i].Label)
	}
	left, err = p.Seeds(ctx, t.Name, tasks, t.Seeds, false, func(n int, runs papers.Runs, failed error) error {
		if c := in[n]; failed != nil && ctx.Err() == nil && (c.failed == nil || many.IsElsewhere(c.failed)) {
			c.failed = fmt.Errorf("%s: %w", tasks[n].Label, failed)
		}
		of[n].score = scoreOf(&in[n].settings, curvesOf(runs), in[n].rungs[rung])
		return nil
	})
	return left, errors.Join(err, ctx.Err())
}

// readRung reads the scores of a rung from the files of all runs, and reports whether these are there.
func (t *Tuning) readRung(p *many.Pool, cells []*cell, rung int) bool {
	for _, c := range cells {
		if rung >= len(c.rungs) {
			continue
		}
		if c.failed != nil && !many.IsElsewhere(c.failed) {
			return false
		}
		was := c.failed
		if c.failed = nil; !c.readScores(t, p, rung) {
			c.failed = was
			return false
		}
	}
	return true
}

// curvesOf returns the curves of the runs of all seeds, also of those that diverged.
func curvesOf(runs papers.Runs) [][]results.CurveRow {
	curves := slices.Clone(runs.Curves)
	for _, r := range runs.Diverged {
		curves = append(curves, r.Curve)
	}
	return curves
}

// endRung decides which trials go on, writes down all of them, and drops the checkpoints of the others.
func (t *Tuning) endRung(ctx context.Context, p *many.Pool, cells []*cell, rung int) error {
	for _, c := range cells {
		if c.failed != nil || rung >= len(c.rungs) {
			continue
		}
		most, fate := half(len(c.trials)), FateKept
		if rung == len(c.rungs)-1 {
			if most, fate = 1, FateWinner; tied(c.trials) {
				same := c.trials[0]
				c.failed = fmt.Errorf("%s: every pair of rates comes to the accuracy %.4g and the loss %.6g, want "+
					"pairs that differ: there is nothing to choose by",
					many.RatesKeyOf(&c.settings), same.acc.Mean, same.loss)
				continue
			}
		}
		left := best(c.trials, most)
		var next []trial
		for i, tried := range c.trials {
			row := c.row(&tried, rung)
			if row.Fate = FateDropped; slices.Contains(left, i) {
				row.Fate = fate
				next = append(next, tried)
			} else if t.Rung != nil && rung+1 < *t.Rung {
				// dropped by the command that made the rung
			} else if err := p.Drop(ctx, t.Name, c.task(&tried, rung), t.Seeds); err != nil {
				return err
			}
			c.rows = append(c.rows, row)
		}
		if c.trials = next; fate == FateWinner && len(next) == 1 {
			c.winner = t.rates(c, &next[0])
		}
	}
	if t.Rung != nil && rung+1 < *t.Rung {
		return nil // the file may have this rung already
	}
	return t.writeTrials(p, cells)
}
