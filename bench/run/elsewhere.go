package run

import (
	"errors"
	"fmt"
	"time"

	"rollcall/bench/run/folder"
	"rollcall/internal/lock"
)

// FirstPause is the time until a process asks for the first time whether another process has finished the run that both
// want.
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

// isOver reports whether a run ends because another process has finished it, or has left other work in its place.
func isOver(err error) bool { return IsRefused(err) || errors.Is(err, folder.ErrMadeElsewhere) }
