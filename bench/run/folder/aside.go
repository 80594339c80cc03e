package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/events"
)

// Settle ends what a killed process has begun to move, and removes what it has begun to write. The caller has the lock
// of the folder.
func Settle(dir string) error {
	files.Sweep(dir) // a finished run is not written again, which would do it
	if _, err := os.Lstat(filepath.Join(dir, movingName)); err == nil {
		if err := Aside(dir); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, backName)); err == nil {
		return back(dir)
	}
	return nil
}

// Aside moves the files of the run in a folder to a new folder in it, to make room for another run.
func Aside(dir string) error {
	found, err := names(dir)
	if err != nil {
		return err
	}
	return aside(dir, found...)
}

// aside moves files of a folder to a new folder in it, run.json first: without it, the others are no result.
func aside(dir string, names ...string) error {
	moving := filepath.Join(dir, movingName)
	if err := os.MkdirAll(moving, 0o777); err != nil { // no user knows that name
		return fmt.Errorf("move aside: %w", files.Cause(err))
	}
	for _, name := range slices.Backward(names) {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(moving, name)); err != nil {
			return fmt.Errorf("move %s aside: %w", name, files.Cause(err))
		}
	}
	to := asideName
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(dir, to)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s-%d", asideName, n)
	}
	if err := os.Rename(moving, filepath.Join(dir, to)); err != nil {
		return err
	}
	return files.SyncFolder(dir) // so that the renames survive a power failure
}

// Back moves work that was moved aside to the folder name back into its place, and what is there aside.
func Back(dir, name string) error {
	if Begun(dir) {
		if err := Aside(dir); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, backName)); err != nil {
		return err
	}
	return back(dir)
}

// back moves the files in backName into the folder above, run.json last.
func back(dir string) error {
	from := filepath.Join(dir, backName)
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	last := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == results.RunFile })
	if last >= 0 {
		entries = append(slices.Delete(slices.Clone(entries), last, last+1), entries[last])
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(from), files.SyncFolder(dir))
}

// Tidy removes what a complete run needs no more: work that was moved aside and of which it has everything, and, unless
// they are to be kept, its checkpoints and those that nobody can use. Checkpoints of other work stay.
func Tidy(w *Want, keepCheckpoints bool) error {
	var errs []error
	for _, name := range asides(w.Dir) {
		if old := filepath.Join(w.Dir, name); contained(w.Dir, old) {
			errs = append(errs, os.RemoveAll(old))
		}
	}
	if keepCheckpoints {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, RemoveCheckpoints(w))...)
}

// RemoveCheckpoints removes the checkpoints of a run, and those that nobody can use.
func RemoveCheckpoints(w *Want) error {
	rounds, err := checkpoint.Rounds(w.Dir)
	for _, round := range rounds {
		path := filepath.Join(w.Dir, checkpoint.Name(round))
		about, broken := checkpoint.Head(path)
		run := w.About
		run.Decisions = false // those without decisions are of this run, too
		if broken == nil && about.Unlike(&run) != nil {
			continue
		}
		if info, gone := os.Lstat(path); gone == nil && info.Mode().IsRegular() { // the rest is somebody's
			err = errors.Join(err, checkpoint.Remove(w.Dir, round))
		}
	}
	return err
}

// contained reports whether a complete run has everything that old work has: the same rows, or more, and the same other
// files, but for checkpoints and times.
func contained(dir, old string) bool {
	run, bad := results.ReadRunFolder(dir)
	entries, err := os.ReadDir(old)
	if err != nil || bad != nil || run.Status() != results.RunComplete {
		return false
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(old, e.Name())
		is, _ := filepath.Match(checkpointPattern, name)
		switch {
		case e.IsDir():
			return false
		case is:
			if about, err := checkpoint.Head(path); err != nil || about.SettingsHash != run.Info.SettingsHash ||
				about.Numerics != run.Info.Numerics || about.Revisions != run.Info.Revisions {
				return false
			}
		case name == events.File:
		case name == results.CurveFile:
			rows, err := results.ReadCurve(path)
			if err != nil || len(rows) > len(run.Curve) || sameRows(rows, run.Curve) != nil ||
				len(rows) > 0 && rows[0].TrainLoss.Valid && !run.Curve[0].TrainLoss.Valid {
				return false
			}
		case name == results.RunFile:
			info, err := results.ReadRunInfo(path)
			if err != nil || info.Likeness().Unlike(run.Info.Likeness()) != nil {
				return false
			}
		case !sameBytes(path, filepath.Join(dir, name)):
			return false
		}
	}
	return true
}

// sameBytes reports whether two files have the same content, as far as they can be read.
func sameBytes(a, b string) bool {
	same, err := files.Same(a, b)
	return same && err == nil
}
