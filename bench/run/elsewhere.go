package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollcall/bench/run/folder"
	"rollcall/bench/run/part"
	"rollcall/internal/lock"
)

// firstPause is the time until a process asks for the first time whether another process has finished the run that both
// want. It asks less and less often later, see [queue.Pause], so that waiting costs little time after a short run and
// little traffic during a long one.
const firstPause = 100 * time.Millisecond

// ElsewhereError says that other processes make runs: one run, some seeds of a cell, or some lines of a figure.
type ElsewhereError struct {
	Holder *lock.Holder // the process that makes one of the runs; nil: the runs are in other parts
	Part   part.Part    // the part of this process, if the runs are in other ones
	Runs   int          // how many runs
	Lines  int          // how many lines of a figure lack them; 0: this is no figure
}

func (e *ElsewhereError) Error() string {
	who := "other workers train"
	if !e.Part.IsWhole() {
		who = fmt.Sprintf("part %s leaves out", e.Part)
	}
	switch {
	case e.Lines > 0:
		return fmt.Sprintf("%s %s of %s", who, Count(e.Runs, "run"), Count(e.Lines, "line"))
	case !e.Part.IsWhole():
		return fmt.Sprintf("not in part %s", e.Part)
	case e.Holder == nil:
		return "trained by another worker"
	}
	return fmt.Sprintf("trained by %s", e.Holder)
}

// isOfOtherPart reports whether the run is in another part, so that nobody waits for it.
func isOfOtherPart(err error) bool {
	e, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere && !e.Part.IsWhole()
}

// isElsewhere reports whether another process makes the run.
func isElsewhere(err error) bool {
	_, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere || errors.Is(err, folder.ErrMadeElsewhere)
}

// isRefused reports whether a run's folder has other work.
func isRefused(err error) bool {
	_, refused := errors.AsType[*folder.RefusedError](err)
	return refused
}

// isOver reports whether a run ends because another process has finished it, or has left other work in its place.
func isOver(err error) bool { return isRefused(err) || errors.Is(err, folder.ErrMadeElsewhere) }

// ErrHeld says that a command with [Keep].NoWait leaves runs of its own to other processes, which make them.
var ErrHeld = errors.New("other workers train runs that were not waited for: repeat the command to resume")

// Drop removes the checkpoints of stopped runs that nobody resumes, unless checkpoints are to be kept or another
// process makes the run.
func (p *Pool) Drop(ctx context.Context, table string, t Task, seeds []uint32) error {
	l := p.Sessions[0]
	for _, seed := range seeds {
		r := t.run(p, table, seed, false)
		if !folder.Begun(r.x.Dir) || l.Machine.KeepCheckpoints {
			continue // without a folder too: the run is another table's
		}
		held, err := lock.Take(r.x.Dir, lock.Holder{Version: Version()})
		if _, busy := errors.AsType[*lock.HeldError](err); busy {
			continue
		}
		if err != nil {
			return err
		}
		w, err := r.x.want(ctx, l, p.Keep)
		if err == nil {
			err = folder.RemoveCheckpoints(w)
		}
		if err := errors.Join(err, held.Release()); err != nil {
			return err
		}
	}
	return nil
}
