package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/results"
)

// begin makes the run ready to train: at its first round, or where an earlier process left it. What an earlier one left
// and is of no use is named.
func (t *trainer) begin(ctx context.Context) error {
	goesOn, err := t.clear()
	if err != nil {
		return err
	}
	t.saved = savedState{round: -1, at: time.Now()}
	if goesOn {
		if err := t.readEarlier(); err != nil {
			return err
		}
		rounds, err := checkpoint.Rounds(t.Dir)
		if err != nil {
			return err
		}
		for _, round := range rounds {
			path := filepath.Join(t.Dir, checkpoint.Name(round))
			err := t.resume(ctx, path)
			if err == nil {
				return nil
			}
			if ctx.Err() != nil || isFinal(err) {
				return err
			}
			Logf(t.l.Stderr, "rollcall: %s: not gone on from\n", settings.OneLine(err))
		}
	}
	t.done, t.rows, t.decisions, t.before = 0, nil, nil, 0
	if len(t.earlier) > 0 && t.earlier[0].Version != t.about.Version {
		Logf(t.l.Stderr, "%s: of rollcall %s, without a checkpoint: runs anew\n", filepath.Join(t.Dir, results.CurveFile),
			t.earlier[0].Version)
		t.earlier = nil
	}
	return t.federate(ctx)
}

// federate starts the clients and the method.
func (t *trainer) federate(ctx context.Context) (err error) {
	if t.f != nil {
		t.f.Method.Close()
	}
	t.f, err = t.l.Federate(ctx, t.Settings, t.Seed, t.engine)
	return err
}

// clear sees to it that nothing in the folder is taken for the outcome of the run that begins, and reports whether it
// goes on from what is there. A run that has ended and is to be made anew is moved aside.
func (t *trainer) clear() (goesOn bool, err error) {
	if goesOn, err = t.canGoOn(); err != nil {
		return false, err
	}
	if !goesOn {
		return false, t.moveAside()
	}
	ends, err := results.ModelFiles(t.Dir) // what only the end of a run writes
	for _, name := range append(ends, results.RunFile, results.DecisionsFile, results.ClientsFile) {
		if gone := os.Remove(filepath.Join(t.Dir, name)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.Dir, gone))
		}
	}
	return true, err
}

// canGoOn reports whether what is in the folder is the beginning of the run, as far as run.json tells.
func (t *trainer) canGoOn() (bool, error) {
	path := filepath.Join(t.Dir, results.RunFile)
	_, err := os.Lstat(path)
	switch {
	case t.Dump != "" || t.Anew && !t.isAside():
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	}
	info, err := results.ReadRunInfo(path)
	if err != nil || info.Status == results.RunComplete || info.Status == results.RunDiverged {
		return false, nil //nolint:nilerr // what is damaged is not gone on from
	}
	if differ := info.Likeness().Unlike(t.likeness()); differ != nil {
		Logf(t.l.Stderr, "%s: %s, there and here: runs anew\n", t.Dir, differ[0])
		return false, nil
	}
	return true, nil
}

// likeness returns what the run has alike with others of a mean.
func (t *trainer) likeness() results.Likeness {
	info := t.info(nil)
	info.Schema, info.SettingsHash = results.Schema, t.about.SettingsHash
	return info.Likeness()
}

// readEarlier reads the curve that an earlier process left, if it is one of this run.
func (t *trainer) readEarlier() error {
	path := filepath.Join(t.Dir, results.CurveFile)
	rows, err := results.ReadCurve(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(rows) == 0:
		return nil
	case err == nil:
		template := t.row(t.l.Engine.Info())
		for _, r := range rows {
			if r.Cell != template.Cell || r.Seed != t.Seed || r.Params != template.Params {
				err = fmt.Errorf("%s: of another run", path)
			} else if was := nets.Numerics(r.Engine, r.Precision); was != t.about.Numerics {
				err = fmt.Errorf("%s: numerics %s, want %s", path, was, t.about.Numerics)
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		Logf(t.l.Stderr, "rollcall: %s: not gone on from\n", settings.OneLine(err))
		return nil
	}
	t.earlier = rows
	return nil
}

// resume takes up the state that a checkpoint holds.
func (t *trainer) resume(ctx context.Context, path string) (err error) {
	c, err := checkpoint.Open(path, &t.about)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	rows, err := t.curveOf(c)
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	for i := range min(len(rows), len(t.earlier)) {
		if err := sameRow(t.earlier[i], rows[i]); err != nil {
			return &finalError{fmt.Errorf("%s: %w in %s: --again begins the run anew",
				filepath.Join(t.Dir, results.CurveFile), err, filepath.Base(path))}
		}
		rows[i].ElapsedSec = t.earlier[i].ElapsedSec
	}
	if err := t.federate(ctx); err != nil {
		return err
	}
	if err := t.f.Method.Restore(c.State(t.engine)); err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	t.done, t.rows = c.Round, rows
	if t.Clients {
		t.decisions = c.Decisions
	}
	t.before = time.Duration(c.ElapsedSec * float64(time.Second))
	t.about.Started = c.Started
	t.saved.round = c.Round
	by := ""
	if c.Version != t.about.Version {
		by = " of rollcall " + c.Version
	}
	Logf(t.l.Stderr, "%s: goes on from round %d%s\n", t.Dir, c.Round, by)
	return nil
}

// curveOf returns the rows of a checkpoint as this program writes them: those of all rounds to evaluate up to its own,
// which may be evaluated yet or not.
func (t *trainer) curveOf(c *checkpoint.File) ([]results.CurveRow, error) {
	template := t.row(t.l.Engine.Info())
	k := 0
	for round := range c.Round + 1 {
		if round > 0 && !t.Settings.Evaluates(round) {
			continue
		}
		if k == len(c.Curve) && round == c.Round {
			break
		}
		if k == len(c.Curve) || c.Curve[k].Round != round {
			return nil, fmt.Errorf("%s of %d rows, want round %d in row %d", results.CurveFile, len(c.Curve), round, k+1)
		}
		r := &c.Curve[k]
		if r.Cell.Method != template.Method || r.Seed != t.Seed || r.Params != template.Params {
			return nil, fmt.Errorf("%s: of another run", results.CurveFile)
		}
		r.Cell, r.Params, r.Engine, r.Precision, r.Version = template.Cell, template.Params, template.Engine,
			template.Precision, template.Version
		k++
	}
	if k < len(c.Curve) {
		return nil, fmt.Errorf("%s of %d rows, want %d", results.CurveFile, len(c.Curve), k)
	}
	if n := len(c.Decisions); t.Clients && n != c.Round*t.Settings.Clients {
		return nil, fmt.Errorf("%d decisions, want those of %d clients in %d rounds", n, t.Settings.Clients, c.Round)
	}
	return c.Curve, nil
}
