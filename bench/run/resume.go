package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/algos"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/bench/settings"
	"rollcall/nets/gpu"
	"rollcall/results"
)

// begin makes the run ready to train, as the decision about its folder says.
func (t *trainer) begin(ctx context.Context, d folder.Decision) (err error) {
	w := t.want
	t.saved = savedState{round: -1, at: time.Now()}
	resume, goesOn := d.(folder.Resume)
	if goesOn && resume.Back != "" {
		if err := folder.Back(w.Dir, resume.Back); err != nil {
			return fmt.Errorf("%s: %w", w.Dir, err)
		}
		Logf(t.ses.Stderr, "%s: moved back from %s\n", w.Dir, resume.Back)
	}
	if t.place, err = folder.Begin(w, d, t.held); err != nil {
		return err
	}
	if !goesOn {
		if again, is := d.(folder.New); is && again.Why != "" {
			Logf(t.ses.Stderr, "%s: %s: moved aside, and trained again\n", w.Dir, again.Why)
		}
		return t.federate(ctx)
	}
	for _, note := range resume.Notes {
		Logf(t.ses.Stderr, "rollcall: %s\n", settings.ErrorLine(errors.New(note)))
	}
	t.earlier, t.finished, t.was = resume.Rows, resume.Finished, resume.Runtime
	if t.finished != nil {
		Logf(t.ses.Stderr, "%s: the run is kept, and trained again for the files that it lacks\n", w.Dir)
	}
	if resume.Round > 0 {
		if resumed, err := t.resumeNewest(ctx, resume.Round); resumed || err != nil {
			return err
		}
	}
	return t.federate(ctx)
}

// federate starts the clients and the method anew.
func (t *trainer) federate(ctx context.Context) (err error) {
	t.close()
	if t.f, err = t.ses.Federate(ctx, t.x.Settings, t.x.Seed, t.engine); err == nil {
		t.want.About.Runtime = algos.Runtime(t.f.Method)
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

// differs decides about a run whose curve.csv has other rows than the ones computed now. The numbers of one of them are
// wrong, so that the run is refused, unless it may be replaced: then what is there is moved aside.
func (t *trainer) differs(err error) error {
	err = fmt.Errorf("%s: %w", results.CurveFile, err)
	if changed := changedRuntime(t.was, t.want.About.Runtime); changed != "" {
		err = fmt.Errorf("%w (%s)", err, changed)
	}
	if !t.replace {
		last := t.earlier[len(t.earlier)-1]
		return &folder.RefusedError{Dir: t.x.Dir, Refuse: folder.Refuse{
			Why: err.Error(), Rounds: last.Round, Sec: last.ElapsedSec,
		}}
	}
	Logf(t.ses.Stderr, "rollcall: %s: %s: moved aside\n", t.x.Dir, settings.ErrorLine(err))
	t.earlier, t.finished = nil, nil
	return folder.Aside(t.x.Dir)
}

// resumeNewest resumes from the newest checkpoint up to a round that can be used, and names those that cannot.
func (t *trainer) resumeNewest(ctx context.Context, newest int) (resumed bool, err error) {
	rounds, err := checkpoint.Rounds(t.x.Dir)
	for _, round := range rounds {
		if round > newest {
			continue
		}
		path := filepath.Join(t.x.Dir, checkpoint.Name(round))
		useless, err := t.resume(ctx, path, round)
		if err != nil {
			return false, err
		}
		if useless == nil {
			countSaved()
			return true, nil
		}
		Logf(t.ses.Stderr, "rollcall: %s: not used\n", settings.ErrorLine(useless))
	}
	return false, err
}

// resume restores the state in the checkpoint of a round. useless says why the file cannot be used. err is any other
// failure, for which another checkpoint would be no better, such as a card without memory.
func (t *trainer) resume(ctx context.Context, path string, round int) (useless, err error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return err, nil
	}
	defer func() { _ = c.Close() }() // nothing was written
	if err := c.Unlike(&t.want.About); err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err), nil
	}
	rows, err := t.curveOf(c, round)
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err), nil
	}
	// curve.csv may be ahead of the checkpoint or behind it. Where both have a row it must be the same, and its time is
	// the one on disk, so that the file's beginning never changes.
	for i := range min(len(rows), len(t.earlier)) {
		if err := folder.SameRow(t.earlier[i], rows[i]); err != nil {
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
	t.done, t.rows, t.f.trained = c.Round, rows, !c.Idle
	if t.x.Decisions {
		t.decisions = c.Decisions
	}
	t.beforeSec = c.ElapsedSec
	t.want.About.Started = c.Started
	t.saved.round = c.Round
	by := ""
	if c.Version != t.want.About.Version {
		by = " of rollcall " + c.Version
	}
	t.was = c.Runtime
	if changed := changedRuntime(c.Runtime, t.want.About.Runtime); changed != "" {
		by += ", " + changed
	}
	Logf(t.ses.Stderr, "%s: resumes from round %d%s\n", t.x.Dir, c.Round, by)
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
	// The checkpoint may come from another version, or from another engine that computes the same numbers.
	template := t.x.row(t.ses.Engine.Info())
	if err := t.want.CheckRows(c.Curve); err != nil {
		return nil, fmt.Errorf("%s: %w", results.CurveFile, err)
	}
	if err := t.want.LacksTrain(c.Curve); err != nil {
		return nil, err
	}
	due := 1 // the row of round 0, which is always evaluated
	for done := range round {
		if done > 0 && t.x.Settings.Evaluates(done) {
			due++
		}
	}
	n := len(c.Curve)
	if n < due || c.Curve[n-1].Round > round {
		return nil, fmt.Errorf("%s of %d rows, want the rows of all rounds up to %d", results.CurveFile, n, round)
	}
	for k := range c.Curve {
		r := &c.Curve[k]
		r.Setup, r.Params, r.Engine, r.Precision, r.Version = template.Setup, template.Params, template.Engine,
			template.Precision, template.Version
	}
	if n := len(c.Decisions); t.x.Decisions && n != c.Round*t.x.Settings.Clients {
		return nil, fmt.Errorf("%d decisions, want the decisions of %d clients in %d rounds", n,
			t.x.Settings.Clients, c.Round)
	}
	return c.Curve, nil
}
