package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/lock"
	"rollcall/results"
)

// Keep says which finished runs a command keeps as they are. The zero value keeps the runs that this program and this
// machine would train again.
type Keep struct {
	Again   bool // keep none: train every run again
	Replace bool // move aside what is refused, and train it again
	Mixed   bool // keep runs of other numerics and data too

	Look bool // train nothing: what is not finished counts as failed
}

// Validate reports flags that cannot be had together.
func (k *Keep) Validate() error {
	if k.Again && k.Replace {
		return settings.Usagef("--again: of no use with --replace, want one of the two")
	}
	return nil
}

// Outcome is what came of a run.
type Outcome struct {
	Run  *results.Run       // complete or diverged, or stopped where it had to; nil: it is none of these
	Kept bool               // it was finished before, or another worker has finished it
	Rows []results.CurveRow // the curve up to now, also of a run that was interrupted or has failed
}

// Do finds the run finished, or trains or resumes it, and writes curve.csv and run.json, also for a run that
// fails, diverges or is interrupted. This is a run's whole life.
//
// The error is an *[ElsewhereError] if another worker trains the run, and a *[folder.RefusedError] if its folder has
// other work. A run that diverges is an error and is returned. When ctx ends, Do writes a checkpoint and returns within
// [Machine.Grace].
func (x *Experiment) Do(ctx context.Context, ses *Session, keep Keep, p progress.Run) (m Outcome, err error) {
	held, unlocked := lock.Take(x.Dir, lock.Holder{Version: Version()})
	if other, busy := errors.AsType[*lock.HeldError](unlocked); busy {
		return m, &ElsewhereError{other.Holder}
	}
	policy := x.policy(keep) // not before: the lock may have waited a little, while another process made the run
	if unlocked == nil {
		defer func() { err = errors.Join(err, held.Release()) }()
		if held.Useless {
			ses.notice("lock", fmt.Sprintf("%s: this file system cannot lock: two workers on one run would both train "+
				"it, to the same bytes", ses.Machine.Out))
		}
		if err := folder.Settle(x.Dir); err != nil {
			return m, fmt.Errorf("%s: %w", x.Dir, err)
		}
	}
	w, d, other, err := x.decide(ctx, ses, keep, policy, unlocked == nil && held.Useless)
	if err != nil {
		return m, err
	}
	if unlocked == nil { // the decision is not about what another has put in the folder's place
		if err := folder.Present(held, x.Dir); err != nil {
			return m, err
		}
	}
	switch d := d.(type) {
	case folder.Refuse:
		return m, &folder.RefusedError{Dir: x.Dir, Refuse: d}
	case folder.Keep:
		// A finished run can be kept without a lock, so that a folder that cannot be written to serves for reading.
		return x.keep(ses, w, d, unlocked)
	}
	if other != nil && !x.Own {
		return Outcome{Run: other, Kept: true, Rows: other.Curve}, nil
	}
	if unlocked != nil {
		if _, err := Writable(x.Dir); err != nil {
			return m, err // the lock failed for the same reason, and this error says it better
		}
		return m, unlocked
	}
	if other != nil {
		return x.adopt(ses, w, other)
	}
	if err := ses.Open(ctx, &x.Settings, x.Seed); err != nil {
		return m, err
	}
	w.About.DataChecksum = ses.Checksum(&x.Settings) // only now it is known
	clients, err := ses.populate(&x.Settings, x.Seed)
	if err != nil {
		return m, err
	}
	w.About.WithoutSamples = &clients.empty
	if err := folder.Present(held, x.Dir); err != nil { // opening may have taken minutes
		return m, err
	}
	if d, err = folder.DecideAgain(w, policy, d); err != nil {
		return m, err
	}
	switch d := d.(type) {
	case folder.Refuse:
		return m, &folder.RefusedError{Dir: x.Dir, Refuse: d}
	case folder.Keep: // another process has finished it meanwhile, where nothing can be locked
		return x.keep(ses, w, d, nil)
	}
	return x.make(ctx, ses, keep, w, d, held, p)
}

// Await is Do that waits for another process. As a rule that process has finished the run then.
func (x *Experiment) Await(ctx context.Context, ses *Session, keep Keep, p progress.Run) (Outcome, error) {
	for began := time.Now(); ; {
		m, err := x.Do(ctx, ses, keep, p)
		if !IsElsewhere(err) {
			return m, err
		}
		if other, held := errors.AsType[*ElsewhereError](err); held {
			ses.notice(x.Dir, fmt.Sprintf("rollcall: %s: waits for %s, which trains this run", x.Dir, &other.Holder))
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(Pause(FirstPause, time.Since(began))):
		}
	}
}

// decide says what becomes of the run's folder. other is the run if it is finished in another folder alone.
func (x *Experiment) decide(
	ctx context.Context, ses *Session, keep Keep, policy folder.Policy, lockless bool,
) (w *folder.Want, d folder.Decision, other *results.Run, err error) {
	w, err = x.want(ctx, ses, keep)
	if err != nil {
		return nil, nil, nil, err
	}
	w.Lockless = lockless
	if d, err = folder.Decide(w, policy); err != nil {
		return nil, nil, nil, err
	}
	resume, goesOn := d.(folder.Resume)
	if _, isNew := d.(folder.New); policy.Again || !isNew && (!goesOn || resume.Finished != nil) {
		return w, d, nil, nil
	}
	for _, dir := range x.Others {
		there := *w
		there.Dir = dir
		is, err := folder.Decide(&there, folder.Policy{})
		if err != nil {
			return nil, nil, nil, err
		}
		if k, kept := is.(folder.Keep); kept && k.Back == "" {
			return w, d, k.Run, nil
		}
	}
	return w, d, nil, nil
}

// Look says what becomes of the run's folder, and changes nothing. other is the run if it is finished in another
// folder, and not in this one.
func (x *Experiment) Look(
	ctx context.Context, ses *Session, keep Keep,
) (d folder.Decision, other *results.Run, err error) {
	_, d, other, err = x.decide(ctx, ses, keep, x.policy(keep), false)
	return d, other, err
}

// RemoveCheckpoints removes the checkpoints of a stopped run that nobody resumes, unless checkpoints are to be kept or
// another process makes the run.
func (x *Experiment) RemoveCheckpoints(ctx context.Context, ses *Session, keep Keep) error {
	if !folder.Begun(x.Dir) || ses.Machine.KeepCheckpoints {
		return nil // without a folder too: the run is another table's
	}
	held, err := lock.Take(x.Dir, lock.Holder{Version: Version()})
	if _, busy := errors.AsType[*lock.HeldError](err); busy {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := x.want(ctx, ses, keep)
	if err == nil {
		err = folder.RemoveCheckpoints(w)
	}
	return errors.Join(err, held.Release())
}

// adopt copies a run that is finished in another table's folder. What is in the run's own folder is moved aside first.
func (x *Experiment) adopt(ses *Session, w *folder.Want, other *results.Run) (m Outcome, err error) {
	if folder.Begun(x.Dir) {
		if err := folder.Aside(x.Dir); err != nil {
			return m, fmt.Errorf("%s: %w", x.Dir, err)
		}
	}
	run, err := results.Adopt(other, x.Dir, x.Table)
	if err != nil {
		return m, err
	}
	return x.keep(ses, w, folder.Keep{Run: run}, nil)
}

// policy returns what the command does with work that is there. --again keeps what another process finishes while the
// command waits for it: the run is made again only if its folder is as it was.
func (x *Experiment) policy(keep Keep) folder.Policy {
	return folder.Policy{Again: keep.Again && x.Was == folder.StampOf(x.Dir) && x.Was.Begun, Replace: keep.Replace}
}

// keep takes a finished run as it is. unlocked is why the folder could not be locked; nil: it is.
func (x *Experiment) keep(ses *Session, w *folder.Want, d folder.Keep, unlocked error) (m Outcome, err error) {
	if d.Back != "" {
		if unlocked != nil {
			return m, unlocked
		}
		if err := folder.Back(x.Dir, d.Back); err != nil {
			return m, fmt.Errorf("%s: %w", x.Dir, err)
		}
		Logf(ses.Stderr, "%s: moved back from %s\n", x.Dir, d.Back)
		d.Run.Dir = x.Dir
	}
	if was := d.Run.Info.Version; was != Version() {
		ses.notice("version "+was, fmt.Sprintf(
			"finished runs of rollcall %s are kept, this is %s (--again trains them again)", was, Version()))
	}
	for _, f := range d.Run.Beside {
		Logf(ses.Stderr, "rollcall: %s: the run is kept\n", settings.ErrorLine(f.Err))
	}
	ses.KeptEvents(d.Run)                                            // --events may have been given only now
	if unlocked == nil && d.Run.Status() != results.RunInterrupted { // a run that was stopped needs its checkpoints
		err = folder.Tidy(w, ses.Machine.KeepCheckpoints)
	}
	return Outcome{Run: d.Run, Kept: true, Rows: d.Run.Curve}, err
}

// make makes the run, or what is left of it, in a session that is open for it, and reads it back from its files.
func (x *Experiment) make(
	ctx context.Context, ses *Session, keep Keep, w *folder.Want, d folder.Decision, held *lock.Lock, p progress.Run,
) (m Outcome, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e, done := beginRun(ctx, ses.Machine.Grace)
	defer done()
	t := &trainer{
		x: x, ses: ses, want: w, held: held, engine: ses.Engine, stop: stop, replace: keep.Again || keep.Replace,
	}
	if x.Dump != "" {
		t.engine = &recorder{Engine: ses.Engine, params: ses.model.P}
	}
	defer t.close()
	if err := t.begin(ctx, d); err != nil {
		return m, err
	}
	err = t.run(e, p)
	defer t.events.close()
	if errors.Is(context.Cause(ctx), folder.ErrGone) {
		err = t.follow(e, context.Cause(ctx))
		m.Rows = t.rows
		return m, err
	}
	m.Rows = t.rows
	if err = t.end(ctx, err); err != nil && !IsDiverged(err) {
		if errors.Is(err, folder.ErrMadeElsewhere) {
			return x.madeElsewhere(ses, w)
		}
		return m, err
	}
	countSaved()
	run, bad := results.ReadRunFolder(x.Dir)
	m.Run = &run
	return m, errors.Join(append(bad, err)...)
}

// madeElsewhere takes the run that another process has finished while this one made it, too.
func (x *Experiment) madeElsewhere(ses *Session, w *folder.Want) (m Outcome, err error) {
	Logf(ses.Stderr, "%s: trained by another worker meanwhile\n", x.Dir)
	d, err := folder.Decide(w, folder.Policy{})
	if err != nil {
		return m, err
	}
	switch d := d.(type) {
	case folder.Keep:
		return x.keep(ses, w, d, nil)
	case folder.Refuse:
		return m, &folder.RefusedError{Dir: x.Dir, Refuse: d}
	}
	return m, fmt.Errorf("%s: %w", x.Dir, folder.ErrMadeElsewhere) // and yet is not there: another attempt makes it
}

// FirstPause is the time until a process first asks whether another process has finished the run that both want.
const FirstPause = 100 * time.Millisecond

// Pause returns how long to wait before the next look at a run that another process makes: a twentieth of the time it
// has been waited for, between one turn and 50. So waiting costs little time, and many processes that wait for hours do
// not keep a file server busy.
func Pause(turn, waited time.Duration) time.Duration { return min(max(turn, waited/20), 50*turn) }

// ElsewhereError says that another process makes the run.
type ElsewhereError struct{ Holder lock.Holder }

func (e *ElsewhereError) Error() string { return fmt.Sprintf("trained by %s", &e.Holder) }

// IsElsewhere reports whether another process makes the run.
func IsElsewhere(err error) bool {
	_, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere || errors.Is(err, folder.ErrMadeElsewhere)
}

// IsRefused reports whether a run's folder has other work.
func IsRefused(err error) bool {
	_, refused := errors.AsType[*folder.RefusedError](err)
	return refused
}

// isOver reports whether a run ends because another process has finished it, has left other work in its place, or has
// taken the folder away.
func isOver(err error) bool {
	return IsRefused(err) || errors.Is(err, folder.ErrMadeElsewhere) || errors.Is(err, folder.ErrGone)
}
