package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/claim"
	"rollcall/bench/run/part"
	"rollcall/bench/run/queue"
	"rollcall/results"
	"rollcall/results/events"
	"rollcall/results/files"
)

// firstPause is the time until a process asks for the first time whether another process has finished the run that both
// want. It asks less and less often later, see [queue.Pause], so that waiting costs little time after a short run and
// little traffic during a long one.
const firstPause = 100 * time.Millisecond

// ElsewhereError says that other processes make runs: one run, some seeds of a cell, or some lines of a figure.
type ElsewhereError struct {
	Holder *claim.Holder // the process that makes one of the runs; nil: not known
	Part   part.Part     // the part of this process, if the runs are in other ones
	Runs   int           // how many runs
	Lines  int           // how many lines of a figure lack them; 0: this is no figure
}

func (e *ElsewhereError) Error() string {
	who := "other processes make"
	if !e.Part.IsWhole() {
		who = fmt.Sprintf("besides part %s there are", e.Part)
	}
	switch {
	case e.Lines > 0:
		return fmt.Sprintf("%s %s of %s", who, Count(e.Runs, "run"), Count(e.Lines, "line"))
	case !e.Part.IsWhole():
		return fmt.Sprintf("not in part %s", e.Part)
	case e.Holder == nil:
		return "made by another process"
	}
	return fmt.Sprintf("made by %s", e.Holder)
}

// isOfOtherPart reports whether the run is in another part, so that nobody waits for it.
func isOfOtherPart(err error) bool {
	e, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere && !e.Part.IsWhole()
}

// isElsewhere reports whether another process makes the run, or has taken it over.
func isElsewhere(err error) bool {
	_, elsewhere := errors.AsType[*ElsewhereError](err)
	return elsewhere || isLost(err)
}

// take claims the run for this process until release is called. It returns an *[ElsewhereError] if another process
// makes the run. Nothing is trained without a claim.
func (x *Experiment) take(w *claim.Watch) (release func() error, err error) {
	c, holder, err := w.Try(x.Dir)
	switch {
	case err != nil:
		return nil, err
	case holder != nil:
		return nil, &ElsewhereError{Holder: holder, Runs: 1}
	}
	x.claim = c
	return c.Release, nil
}

// await is take that waits for the other process. As a rule that process has finished the run then.
func (x *Experiment) await(ctx context.Context, l *Session, w *claim.Watch) (release func() error, err error) {
	for began := time.Now(); ; {
		release, err := x.take(w)
		other, busy := errors.AsType[*ElsewhereError](err)
		if !busy {
			return release, err
		}
		l.notice(x.Dir, fmt.Sprintf("rollcall: %s: waits for %s, which makes this run", x.Dir, other.Holder))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(queue.Pause(firstPause, time.Since(began))):
		}
	}
}

// Take waits until no other process makes the run, and claims it until release is called. kept is the finished run that
// is there then; nil: there is none to keep. Where nothing can be claimed, as on a full disk or in a read-only folder,
// a finished run is returned all the same, and err says why only if there is none.
func (x *Experiment) Take(ctx context.Context, l *Session, w *claim.Watch, keep Keep) (
	kept *results.Run, release func() error, err error,
) {
	was := x.found() // before the wait: --again keeps a run that the other process finishes meanwhile
	release, err = x.await(ctx, l, w)
	if err != nil {
		release = func() error { return nil }
	}
	if ctx.Err() != nil {
		return nil, release, ctx.Err()
	}
	// Files that were not there before the wait are the beginning of a new run, which --again goes on with.
	x.Anew = keep.Again && was.any
	if x.Dump == "" { // a dump records the training, so that no finished run will do
		kept, wrong := x.keptSince(ctx, l, was, keep)
		if kept != nil && err == nil { // only the process with the claim removes files
			wrong = x.Tidy(l)
		}
		if kept != nil || wrong != nil {
			return kept, release, wrong
		}
	}
	return nil, release, err
}

// publish writes a file of the run under a name of this process's own, and then moves it into place if this process
// still has the claim. So a process that was stopped and has lost the run overwrites no file of its successor.
func (x *Experiment) publish(name string, write func(path string) error) error {
	if x.claim == nil {
		return write(filepath.Join(x.Dir, name))
	}
	if err := write(x.claim.Path(name)); err != nil {
		return err
	}
	return x.claim.Publish(name)
}

// lost returns an error if another process has taken the run over. Other errors of [claim.Claim.Check] say nothing
// about the claim, and the run goes on.
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

// afterClosed calls do once a channel is closed, unless stop is called first.
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
	// asideFolder holds the old run while the same run is made anew. It lies in the run's own folder.
	asideFolder = ".old"
	// movingFolder is the name of asideFolder until the whole old run is in it: the files that are not there yet
	// belong to the same old run.
	movingFolder = ".old-moving"
)

// moveAside moves the run in the folder to asideFolder, to make room for the new one. If an old run is there already,
// the files in the folder are only the beginning of a new run, and moveAside removes them, unless that run is complete:
// then it replaces the old one.
func (x *Experiment) moveAside() error {
	aside, moving := filepath.Join(x.Dir, asideFolder), filepath.Join(x.Dir, movingFolder)
	names, err := x.files()
	if err == nil {
		names, err = x.withoutFolders(names)
	}
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
	for _, name := range slices.Backward(names) { // run.json goes first: without it, the other files are no result
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
	return files.SyncFolder(x.Dir) // so that the renames survive a power failure
}

// Tidy removes what a finished run needs no more: the old run that it replaces, and its checkpoints.
func (x *Experiment) Tidy(l *Session) error {
	err := errors.Join(os.RemoveAll(filepath.Join(x.Dir, asideFolder)),
		os.RemoveAll(filepath.Join(x.Dir, movingFolder)))
	if !l.Machine.KeepCheckpoints {
		err = errors.Join(err, checkpoint.Remove(x.Dir, 0))
	}
	return err
}

// Drop removes the checkpoints of stopped runs that nobody goes on with, unless checkpoints are to be kept or another
// process makes the run.
func (p *Pool) Drop(table string, t Task, seeds []uint32) error {
	for _, seed := range seeds {
		r := t.run(p, table, seed, false)
		if at, _ := checkpoint.Rounds(r.Dir); len(at) == 0 || p.Sessions[0].Machine.KeepCheckpoints {
			continue // without a folder too: the run is another table's
		}
		release, err := r.take(&p.Watch)
		if isElsewhere(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(checkpoint.Remove(r.Dir, 0), release()); err != nil {
			return err
		}
	}
	return nil
}

// files returns the names of the run's files in its folder, run.json last.
func (x *Experiment) files() (names []string, err error) {
	entries, err := os.ReadDir(x.Dir)
	patterns := []string{"checkpoint-*.safetensors", "model*.safetensors", events.File}
	for _, pattern := range append(patterns, results.RunFiles...) { // RunFiles ends with run.json
		for _, e := range entries {
			if matches, _ := filepath.Match(pattern, e.Name()); matches { // no pattern here is malformed
				names = append(names, e.Name())
			}
		}
	}
	return names, err
}

// withoutFolders drops the names of folders, which no run makes: it removes empty ones, and refuses others as
// [checkpoint.Removable] does.
func (x *Experiment) withoutFolders(names []string) (others []string, err error) {
	for _, name := range names {
		path := filepath.Join(x.Dir, name)
		if err := checkpoint.Removable(path); err != nil {
			return nil, err
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		others = append(others, name)
	}
	return others, nil
}

// has reports whether one of the folders asideFolder and movingFolder is there. Beside asideFolder lies the new run,
// beside movingFolder the rest of the old one.
func (x *Experiment) has(folder string) bool {
	_, err := os.Lstat(filepath.Join(x.Dir, folder))
	return err == nil
}

// missing returns the folders on the path to dir that do not exist, dir first.
func missing(dir string) (dirs []string) {
	// filepath.Dir returns the root and "." unchanged, which ends the loop even if these do not exist.
	for ; !slices.Contains(dirs, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, dir)
	}
	return dirs
}
