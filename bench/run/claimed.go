package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/claim"
	"rollcall/results"
	"rollcall/results/events"
	"rollcall/results/files"
)

// turn is how often a process looks whether another one has finished the run that both want.
const turn = time.Second

// ElsewhereError is of a run that another process makes, or of a figure some lines of which others make.
type ElsewhereError struct {
	Holder *claim.Holder // of the run
	Lines  int           // of the figure
}

func (e *ElsewhereError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("other processes make runs of %s", Count(e.Lines, "line"))
	}
	return fmt.Sprintf("made by %s", e.Holder)
}

// isElsewhere reports whether another process makes a run, or has taken it over.
func isElsewhere(err error) bool {
	_, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere || isLost(err)
}

// Claim takes the run for this process, until release is called, or returns an *[ElsewhereError] if another one makes
// it. Where the folder cannot be written to nothing is claimed: a run that is finished can be looked at there, and who
// writes there says what is wrong.
func (x *Experiment) Claim(w *claim.Watch) (release func() error, err error) {
	c, holder, err := w.Try(x.Dir)
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrExist) ||
		errors.Is(err, syscall.ENOTDIR):
		return func() error { return nil }, nil
	case err != nil:
		return nil, err
	case holder != nil:
		return nil, &ElsewhereError{Holder: holder}
	}
	x.claim = c
	return c.Release, nil
}

// AwaitClaim is [Experiment.Claim] that waits for the other process, which has finished the run then as a rule. waited
// says whether there was one.
func (x *Experiment) AwaitClaim(ctx context.Context, l *Session, w *claim.Watch) (
	release func() error, waited bool, err error,
) {
	for {
		release, err := x.Claim(w)
		other, busy := errors.AsType[*ElsewhereError](err)
		if !busy {
			return release, waited, err
		}
		waited = true
		l.notice(x.Dir, fmt.Sprintf("%s: %s makes this run: waits for it", x.Dir, other.Holder))
		select {
		case <-ctx.Done():
			return nil, waited, ctx.Err()
		case <-time.After(turn):
		}
	}
}

// publish writes a file of the run: under a name that is this process's own, and then, while the run is, in its place.
func (x *Experiment) publish(name string, write func(path string) error) error {
	if x.claim == nil {
		return write(filepath.Join(x.Dir, name))
	}
	if err := write(x.claim.Path(name)); err != nil {
		return err
	}
	return x.claim.Publish(name)
}

// lost returns an error once another process has taken the run over.
func (x *Experiment) lost() error {
	if x.claim == nil {
		return nil
	}
	if err := x.claim.Check(); isLost(err) {
		return fmt.Errorf("%s: lost: %w", x.Dir, err)
	}
	return nil
}

// isLost reports whether another process has taken the run over.
func isLost(err error) bool { return errors.Is(err, claim.ErrLost) }

// afterClosed calls do once a channel is closed, unless stop is called before.
func afterClosed(c <-chan struct{}, do func()) (stop func()) {
	stopped := make(chan struct{})
	go func() {
		select {
		case <-c:
			do()
		case <-stopped:
		}
	}()
	return func() { close(stopped) }
}

const (
	// asideFolder is where a run stays that is made anew, in its own folder, until the new one is complete.
	asideFolder = ".old"
	// movingFolder is its name until all of the run is in it: what is beside it belongs to the same run.
	movingFolder = ".old-moving"
)

// moveAside makes room for the run to be made anew. Where one is aside already what is there is no more than the
// beginning of its successor, unless it is complete.
func (x *Experiment) moveAside() error {
	aside, moving := filepath.Join(x.Dir, asideFolder), filepath.Join(x.Dir, movingFolder)
	names, err := x.files()
	if err != nil || len(names) == 0 && !x.has(movingFolder) {
		return err
	}
	info, err := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
	if err == nil && info.Status == results.RunComplete {
		if err := os.RemoveAll(aside); err != nil {
			return err
		}
	}
	drop := x.has(asideFolder)
	if !drop {
		if err := os.MkdirAll(moving, 0o777); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(names) { // run.json, which makes a result of the others, is the first to go
		path := filepath.Join(x.Dir, name)
		if drop {
			err = os.RemoveAll(path)
		} else {
			err = os.Rename(path, filepath.Join(moving, name))
		}
		if err != nil {
			return err
		}
	}
	if !drop {
		if err := os.Rename(moving, aside); err != nil {
			return err
		}
	}
	return files.SyncFolder(x.Dir)
}

// Tidy removes what a finished run is no longer gone on from.
func (x *Experiment) Tidy(l *Session) error {
	err := errors.Join(os.RemoveAll(filepath.Join(x.Dir, asideFolder)), os.RemoveAll(filepath.Join(x.Dir, movingFolder)))
	if !l.Machine.KeepCheckpoints {
		err = errors.Join(err, checkpoint.Remove(x.Dir, 0))
	}
	return err
}

// files returns the names of what the run has left in its folder, run.json last.
func (x *Experiment) files() (names []string, err error) {
	entries, err := os.ReadDir(x.Dir)
	for _, pattern := range append([]string{"checkpoint-*.safetensors", "model*.safetensors", events.File},
		results.RunFiles...) {
		for _, e := range entries {
			if matches, _ := filepath.Match(pattern, e.Name()); matches { // no pattern here is malformed
				names = append(names, e.Name())
			}
		}
	}
	return names, err
}

// has reports whether one of the folders for an earlier run is there. With asideFolder what is beside it is the new one.
func (x *Experiment) has(folder string) bool {
	_, err := os.Lstat(filepath.Join(x.Dir, folder))
	return err == nil
}

// missing returns the folders down to dir that are not there, dir the first.
func missing(dir string) (dirs []string) {
	for ; !slices.Contains(dirs, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, dir)
	}
	return dirs
}
