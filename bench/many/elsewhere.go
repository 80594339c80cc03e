package many

import (
	"context"
	"errors"
	"fmt"

	"rollcall/bench/run"
	"rollcall/bench/settings"
)

// Keep says which finished runs a command keeps, which it makes, and how it deals with runs that fail or that others
// make. The zero value keeps the runs that this program and this machine would make again, and waits for others.
type Keep struct {
	run.Keep
	Retries int  // how often a failed run is tried again
	NoWait  bool // do not wait for runs that other processes make
	Part    Part // make the runs of this part alone
}

// Validate reports the first impossible flag.
func (k *Keep) Validate() error {
	if k.Retries < 0 {
		return settings.Usagef("--retries %d: want 0 or more", k.Retries)
	}
	return k.Keep.Validate()
}

// OtherPartError says that runs are in other parts of a command, so that nobody waits for them here.
type OtherPartError struct {
	Part  Part // the part of this process
	Runs  int  // how many runs are in others
	Lines int  // how many lines of a figure lack them; 0: this is no figure
}

func (e *OtherPartError) Error() string {
	if e.Lines > 0 {
		return fmt.Sprintf("part %s leaves out %s of %s", e.Part, run.Count(e.Runs, "run"),
			run.Count(e.Lines, "line"))
	}
	return fmt.Sprintf("not in part %s", e.Part)
}

// LackingError says that a figure lacks lines, of which other processes make runs that were not waited for.
type LackingError struct{ Runs, Lines int }

func (e *LackingError) Error() string {
	return fmt.Sprintf("other workers train %s of %s", run.Count(e.Runs, "run"), run.Count(e.Lines, "line"))
}

// isOfOtherPart reports whether the run is in another part.
func isOfOtherPart(err error) bool {
	_, other := errors.AsType[*OtherPartError](err)
	return other
}

// IsElsewhere reports whether a run is missing only because it is another process's to make.
func IsElsewhere(err error) bool { return run.IsElsewhere(err) || isOfOtherPart(err) }

// ErrHeld says that a command with [Keep].NoWait leaves runs of its own to other processes, which make them.
var ErrHeld = errors.New("other workers train runs that were not waited for: repeat the command to resume")

// Drop removes the checkpoints of stopped runs that nobody resumes, unless checkpoints are to be kept or another
// process makes the run.
func (p *Pool) Drop(ctx context.Context, table string, t Task, seeds []uint32) error {
	for _, seed := range seeds {
		x := t.run(p, table, seed, false).x
		if err := x.RemoveCheckpoints(ctx, p.Sessions[0], p.Keep.Keep); err != nil {
			return err
		}
	}
	return nil
}
