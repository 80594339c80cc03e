package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/algos"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/nets/gpu"
	"rollcall/results"
)

// begin makes the run ready to train: at its first round, or at the newest checkpoint that can be used. It names the
// files of an earlier process that cannot be used.
func (t *trainer) begin(ctx context.Context) error {
	if lost := t.lost(); lost != nil { // the files belong to the new holder now
		return lost
	}
	goesOn, err := t.clear()
	if err != nil {
		return err
	}
	t.saved = savedState{round: -1, at: time.Now()}
	if goesOn {
		if err := t.readEarlier(); err != nil {
			return err
		}
		if resumed, err := t.resumeNewest(ctx); resumed || err != nil {
			return err
		}
	}
	// curve.csv does not have the revisions, as a checkpoint does: another version may have computed other numbers.
	if len(t.earlier) > 0 && t.earlier[0].Version != t.about.Version {
		path := filepath.Join(t.Dir, results.CurveFile)
		Logf(t.l.Stderr, "%s: of rollcall %s, without a checkpoint: runs anew\n", path, t.earlier[0].Version)
		t.earlier = nil
	}
	return t.federate(ctx)
}

// federate starts the clients and the method anew.
func (t *trainer) federate(ctx context.Context) (err error) {
	t.close()
	if t.f, err = t.l.Federate(ctx, t.Settings, t.Seed, t.engine); err == nil {
		t.about.Runtime = algos.Runtime(t.f.Method)
	}
	return err
}

// close frees the rows of the method.
func (t *trainer) close() {
	if t.f != nil && t.f.Method != nil {
		t.f.Method.Close()
	}
	t.f = nil
}

// clear removes or moves aside everything in the folder that could be taken for a result of the run that begins. It
// reports whether the run resumes from the files that are left. A finished run that is to be made anew is moved aside.
func (t *trainer) clear() (goesOn bool, err error) {
	if goesOn, err = t.canGoOn(); err != nil {
		return false, err
	}
	if !goesOn {
		return false, t.moveAside()
	}
	if err := checkpoint.CheckRemovable(t.Dir); err != nil {
		return false, err
	}
	ends, err := results.ModelFiles(t.Dir) // these and the files below come from the end of a run
	for _, name := range append(ends, results.RunFile, results.DecisionsFile, results.ClientsFile) {
		if gone := os.Remove(filepath.Join(t.Dir, name)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.Dir, gone))
		}
	}
	return true, err
}

// canGoOn reports whether the folder holds the beginning of this run, as far as run.json says so.
func (t *trainer) canGoOn() (bool, error) {
	path := filepath.Join(t.Dir, results.RunFile)
	_, err := os.Lstat(path)
	// A dump has to train its round. Beside asideFolder the files are of a new run already, which --again goes on with;
	// beside movingFolder they are of the old one.
	switch {
	case t.Dump != "" || t.Anew && !t.has(asideFolder) || t.has(movingFolder):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	}
	info, err := results.ReadRunInfo(path)
	if err != nil || info.Status == results.RunComplete || info.Status == results.RunDiverged {
		return false, nil // what is damaged is not gone on from
	}
	if differ := info.Likeness().Unlike(t.likeness()); differ != nil {
		Logf(t.l.Stderr, "%s: %s, there and here: runs anew\n", t.Dir, differ[0])
		return false, nil
	}
	t.was = info.Runtime
	return true, nil
}

// likeness returns what runs must have in common to be in one mean.
func (t *trainer) likeness() results.Likeness {
	info := t.info(nil)
	info.Schema, info.SettingsHash = results.Schema, t.about.SettingsHash
	return info.Likeness()
}

// readEarlier reads the curve that an earlier process left, if it is a curve of this run.
func (t *trainer) readEarlier() error {
	path := filepath.Join(t.Dir, results.CurveFile)
	rows, err := results.ReadCurve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
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
	if err != nil {
		Logf(t.l.Stderr, "rollcall: %s: not gone on from\n", settings.OneLine(err))
		return nil
	}
	if err := t.inOrder(rows); err != nil {
		return t.differs(err)
	}
	t.earlier = rows
	return nil
}

// inOrder checks that rows are the first rows of this run's curve: one for each round that is evaluated, in order.
func (t *trainer) inOrder(rows []results.CurveRow) error {
	k := 0
	for round := range t.Settings.Rounds + 1 {
		if k == len(rows) {
			return nil
		}
		if round > 0 && !t.Settings.Evaluates(round) {
			continue
		}
		if rows[k].Round != round {
			return fmt.Errorf("row %d: round %d, want %d", k+1, rows[k].Round, round)
		}
		k++
	}
	if k < len(rows) {
		return fmt.Errorf("%d rows, want %d at most", len(rows), k)
	}
	return nil
}

// differs decides about a run whose curve.csv has other rows than the ones computed now. That is an error, because the
// numbers of one of them are wrong. With --again it logs the difference, and the run is made anew.
func (t *trainer) differs(err error) error {
	err = fmt.Errorf("%s: %w", filepath.Join(t.Dir, results.CurveFile), err)
	if changed := changedRuntime(t.was, t.about.Runtime); changed != "" {
		err = fmt.Errorf("%w (%s)", err, changed)
	}
	if !t.Anew {
		return &finalError{fmt.Errorf("%w: --again begins the run anew", err)}
	}
	Logf(t.l.Stderr, "rollcall: %s: written anew\n", settings.OneLine(err))
	t.earlier = nil
	return nil
}

// resumeNewest resumes from the newest checkpoint that can be used, and names those that cannot.
func (t *trainer) resumeNewest(ctx context.Context) (resumed bool, err error) {
	rounds, err := checkpoint.Rounds(t.Dir)
	for _, round := range rounds {
		path := filepath.Join(t.Dir, checkpoint.Name(round))
		useless, err := t.resume(ctx, path, round)
		if useless == nil || err != nil {
			return err == nil, err
		}
		Logf(t.l.Stderr, "rollcall: %s: not gone on from\n", settings.OneLine(useless))
	}
	return false, err
}

// resume restores the state in the checkpoint of a round. useless says why the file cannot be used. err is any other
// failure, for which another checkpoint would be no better, such as a card without memory.
func (t *trainer) resume(ctx context.Context, path string, round int) (useless, err error) {
	c, err := checkpoint.Open(path, &t.about)
	if err != nil {
		return err, nil
	}
	defer func() { _ = c.Close() }() // nothing was written
	rows, err := t.curveOf(c, round)
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err), nil
	}
	// curve.csv may be ahead of the checkpoint or behind it. Where both have a row it must be the same, and its time is
	// the one on disk, so that the file's beginning never changes.
	for i := range min(len(rows), len(t.earlier)) {
		if err := sameRow(t.earlier[i], rows[i]); err != nil {
			if err := t.differs(fmt.Errorf("%w in %s", err, filepath.Base(path))); err != nil {
				return nil, err
			}
			break
		}
		rows[i].ElapsedSec = t.earlier[i].ElapsedSec
	}
	// Restore wants a method that was just started, also after another checkpoint has failed halfway.
	if err := t.federate(ctx); err != nil {
		return nil, err
	}
	if err := t.f.Method.Restore(c.State(t.engine)); err != nil {
		err = fmt.Errorf("checkpoint: %s: %w", path, err)
		if gpu.OutOfMemory(err) {
			return nil, err
		}
		return err, nil
	}
	t.done, t.rows = c.Round, rows
	if t.Decisions {
		t.decisions = c.Decisions
	}
	t.beforeSec = c.ElapsedSec
	t.about.Started = c.Started
	t.saved.round = c.Round
	by := ""
	if c.Version != t.about.Version {
		by = " of rollcall " + c.Version
	}
	t.was = c.Runtime
	if changed := changedRuntime(c.Runtime, t.about.Runtime); changed != "" {
		by += ", " + changed
	}
	Logf(t.l.Stderr, "%s: goes on from round %d%s\n", t.Dir, c.Round, by)
	return nil, nil
}

// changedRuntime says what a method in Python ran on when its run was begun, and what now: "numpy 2.0.1 there, 2.4.6
// here"; "" if nothing has changed.
func changedRuntime(was, is map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if before := was[name]; before != "" && before != is[name] {
			words = append(words, fmt.Sprintf("%s %s there, %s here", name, before, is[name]))
		}
	}
	return strings.Join(words, "; ")
}

// curveOf returns the curve in a checkpoint, with the cell, engine and version of this program. It checks that the
// curve has all rounds to evaluate up to the checkpoint's round; the row of that round itself may be missing, because
// it is evaluated after the checkpoint or before.
func (t *trainer) curveOf(c *checkpoint.File, round int) ([]results.CurveRow, error) {
	if c.Round != round {
		return nil, fmt.Errorf("of round %d, want %d as its name says", c.Round, round)
	}
	if err := t.inOrder(c.Curve); err != nil {
		return nil, fmt.Errorf("%s: %w", results.CurveFile, err)
	}
	due := 1 // the row of round 0, which is always evaluated
	for done := range round {
		if done > 0 && t.Settings.Evaluates(done) {
			due++
		}
	}
	n := len(c.Curve)
	if n < due || c.Curve[n-1].Round > round {
		return nil, fmt.Errorf("%s of %d rows, want those of all rounds up to %d", results.CurveFile, n, round)
	}
	// The checkpoint may come from another version, or from another engine that computes the same numbers.
	template := t.row(t.l.Engine.Info())
	for k := range c.Curve {
		r := &c.Curve[k]
		if r.Method != template.Method || r.Seed != t.Seed || r.Params != template.Params {
			return nil, fmt.Errorf("%s: of another run", results.CurveFile)
		}
		r.Cell, r.Params, r.Engine, r.Precision, r.Version = template.Cell, template.Params, template.Engine,
			template.Precision, template.Version
	}
	if n := len(c.Decisions); t.Decisions && n != c.Round*t.Settings.Clients {
		return nil, fmt.Errorf("%d decisions, want those of %d clients in %d rounds", n, t.Settings.Clients, c.Round)
	}
	return c.Curve, nil
}
