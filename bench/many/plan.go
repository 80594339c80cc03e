package many

import (
	"context"
	"path/filepath"

	"rollcall/bench/run"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// Planned is one run that a command would train or keep.
type Planned struct {
	Settings settings.Settings
	Seed     uint32
	Kept     bool
	Refused  string // why the run is refused; "": it is not
	From     int    // the round after which its work begins, of a tuning's later rung; 0: all is its own
	Done     int    // the round of the checkpoint that it resumes from; 0: it has all rounds to train
	Models   int    // how many models it evaluates after the last round, and no curve; 0: it evaluates a curve

	Dir       string // its folder; empty: it has none
	Twin      bool   // another cell has the same run, and comes first
	Decisions bool   // it writes decisions.csv too
}

// Key names the run in [Part.Keys].
func (r *Planned) Key() RunKey {
	return RunKey{Cell: filepath.Base(filepath.Dir(r.Dir)), Seed: r.Seed}
}

// Left reports whether the command trains the run, or resumes it.
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
	return p.Planned(ctx, t.ID, tableTasks(cells, byData(cells)), t.Seeds, false)
}

// PlanFigure returns the runs of a figure, none if nothing is trained for it.
func (p *Pool) PlanFigure(ctx context.Context, f *papers.Figure, w *Wanted) (runs []Planned, err error) {
	switch what := f.Measure.(type) {
	case papers.Curves:
		_, tasks, err := w.lines(f)
		if err != nil {
			return nil, err
		}
		return p.Planned(ctx, f.ID, tasks, f.Seeds, what.Decisions)
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

// Planned returns the runs of some tasks, in the order in which [Pool.Seeds] would train them, with decisions.csv or
// without. It writes nothing.
func (p *Pool) Planned(
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
			d, other, err := r.x.Look(ctx, p.Sessions[0], p.Keep.Keep)
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

// Reached returns the curve of a run of a tuning that has come to a round, or has diverged before it; ok is false if it
// has not. The run may go on beyond the round in another process: then it has no run.json, and a checkpoint vouches for
// its rows.
func (p *Pool) Reached(table string, t Task, seed uint32, round int) (curve []results.CurveRow, ok bool) {
	dir := run.Folder(p.Sessions[0].Machine.Out, table, t.Settings, seed)
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
