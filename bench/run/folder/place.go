package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/files"
	"rollcall/internal/lock"
	"rollcall/results"
)

// ErrMadeElsewhere says that another process has finished the run meanwhile, where the file system cannot lock.
var ErrMadeElsewhere = errors.New("another worker has finished the run")

// ErrGone says that the folder of a run is not there any more. It is not made again: who has removed it wants it gone,
// and who has moved it would have two halves of a run.
var ErrGone = errors.New("the output folder was removed or moved while the run was in it")

// errStays says that a file on disk is better than the new one.
var errStays = errors.New("the file stays")

// Place is where a process writes the files of a run. Before a file is moved into place it looks at the folder, in
// which another process may have worked, if the file system cannot lock.
type Place struct {
	want *Want
	held *lock.Lock  // of the folder
	info fs.FileInfo // run.json as it is known here; nil: there is none
	rows int         // of the curve that this process has written last
	put  fs.FileInfo // that file; nil: it has written none
}

// Begin prepares a folder, whose lock is held, for a run that is about to train. It moves aside or removes what the
// decision says.
func Begin(w *Want, d Decision, held *lock.Lock) (*Place, error) {
	if err := Present(held, w.Dir); err != nil {
		return nil, err
	}
	p := &Place{want: w, held: held}
	switch d := d.(type) {
	case New:
		if d.Aside {
			if err := Aside(w.Dir); err != nil {
				return nil, fmt.Errorf("%s: %w", w.Dir, err)
			}
		}
	case Resume:
		if err := p.resume(&d); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Dir, err)
		}
	}
	return p, nil
}

func (p *Place) resume(d *Resume) error {
	path := filepath.Join(p.want.Dir, results.RunFile)
	switch {
	case d.Finished != nil:
		info, err := os.Lstat(path)
		p.info = info
		return err
	case len(d.Unreadable) > 0:
		if err := aside(p.want.Dir, d.Unreadable...); err != nil {
			return err
		}
	}
	// It says how an earlier process ended, which is not so any more. If it is a result now, another process has
	// written it since this one looked.
	if info, err := results.ReadRunInfo(path); err == nil && info.Status == results.RunComplete {
		return ErrMadeElsewhere
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Present returns an error that wraps [ErrGone] if a path does not lead to the folder that was locked: it was removed
// or moved, and something else may have its place.
func Present(held *lock.Lock, dir string) error {
	here, err := held.In(dir)
	lost := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
	if here || err != nil && !lost {
		return nil // such as a file server that does not answer: the write reports it, and is tried again
	}
	return fmt.Errorf("%s: %w", dir, ErrGone)
}

// present is [Present] for the folder of the run.
func (p *Place) present() error { return Present(p.held, p.want.Dir) }

// before returns what to call before a file of this name is moved into place. rows are those of a curve.csv.
func (p *Place) before(name string, rows []results.CurveRow) files.Before {
	return func(temp string) error {
		// Looking takes its time, in which another process may do more.
		for {
			seen := p.state(name)
			if err := p.look(temp, name, rows); err != nil || p.state(name) == seen {
				return err
			}
		}
	}
}

// state tells one state of run.json and another file from another.
func (p *Place) state(name string) (s [2]struct{ size, time int64 }) {
	for i, name := range []string{results.RunFile, name} {
		if info, err := os.Lstat(filepath.Join(p.want.Dir, name)); err == nil {
			s[i].size, s[i].time = info.Size(), info.ModTime().UnixNano()
		}
	}
	return s
}

// look decides whether a file may be moved into place, and moves what is in its way aside.
func (p *Place) look(temp, name string, rows []results.CurveRow) error {
	if err := cmp.Or(p.present(), p.others()); err != nil {
		return err
	}
	path := filepath.Join(p.want.Dir, name)
	now, err := os.Lstat(path)
	if err != nil { // there is none, or the rename reports what is wrong
		return nil
	}
	switch name {
	case results.RunFile:
		return nil
	case results.CurveFile:
		return p.longer(now, rows)
	}
	// A file of that name is this run's own, written just before it was killed, or somebody else's.
	if ours, _ := filepath.Match(checkpointPattern, name); ours {
		if about, err := checkpoint.Head(path); err != nil || about.Unlike(&p.want.About) == nil {
			return nil
		}
	} else if sameBytes(path, temp) {
		return nil
	}
	return aside(p.want.Dir, name)
}

// others looks for a run.json that another process has written.
func (p *Place) others() error {
	now, err := os.Lstat(filepath.Join(p.want.Dir, results.RunFile))
	if err != nil || p.info != nil && os.SameFile(now, p.info) && now.ModTime().Equal(p.info.ModTime()) {
		return nil // none, or it is known
	}
	f := look(p.want.Dir)
	d, err := f.decide(p.want)
	switch d := d.(type) {
	case Keep:
		return ErrMadeElsewhere
	case Refuse:
		return &RefusedError{p.want.Dir, d}
	}
	p.info = now // of another process that was interrupted
	return err
}

// longer keeps a curve on disk that has more rows than these, and refuses to replace one with other rows.
func (p *Place) longer(now fs.FileInfo, rows []results.CurveRow) error {
	if p.put != nil && os.SameFile(now, p.put) && len(rows) >= p.rows {
		return nil
	}
	if !now.Mode().IsRegular() {
		return nil // the rename reports it
	}
	there, err := results.ReadCurve(filepath.Join(p.want.Dir, results.CurveFile))
	if err != nil { // somebody has changed it
		return aside(p.want.Dir, results.CurveFile)
	}
	if err := sameRows(there, rows); err != nil {
		return &RefusedError{p.want.Dir, Refuse{Why: fmt.Sprintf("%s: %v", results.CurveFile, err)}}
	}
	if len(there) > len(rows) {
		return errStays
	}
	return nil
}

// Publish writes a file of the run. write gets its path, and what to call before it is moved into place.
func (p *Place) Publish(name string, write func(path string, before files.Before) error) error {
	if err := p.present(); err != nil {
		return err
	}
	err := write(filepath.Join(p.want.Dir, name), p.before(name, nil))
	if err != nil { // the folder may have gone meanwhile, and the error is about a part of it
		return cmp.Or(p.present(), err)
	}
	if name == results.RunFile {
		p.info, _ = os.Lstat(filepath.Join(p.want.Dir, name)) // nil if somebody has moved it away since
	}
	return nil
}

// PublishCurve writes the rows of the curve up to now, if they are not there. A longer curve with the same rows stays.
func (p *Place) PublishCurve(rows []results.CurveRow) error {
	path := filepath.Join(p.want.Dir, results.CurveFile)
	if now, err := os.Lstat(path); err == nil && p.put != nil && os.SameFile(now, p.put) && len(rows) == p.rows {
		return nil
	}
	if err := p.present(); err != nil {
		return err
	}
	err := results.WriteCurve(path, rows, p.before(results.CurveFile, rows))
	if errors.Is(err, errStays) {
		return nil
	}
	if err != nil { // as in Publish
		return cmp.Or(p.present(), err)
	}
	p.rows = len(rows)
	p.put, _ = os.Lstat(path) // nil if somebody has moved it away since
	return nil
}

// RemoveOlder removes the checkpoints up to a round, at which this process is, but for the last ones, as many as keep.
// Those of later rounds stay: another process may have come further.
func RemoveOlder(dir string, round, keep int) error {
	rounds, err := checkpoint.Rounds(dir)
	rounds = slices.DeleteFunc(rounds, func(r int) bool { return r > round })
	return errors.Join(err, checkpoint.Remove(dir, rounds[min(keep, len(rounds)):]...))
}

// SameRow returns the first difference between a row on disk and the same row computed again, with both values. Times,
// versions and the engine within a numerics class may differ.
func SameRow(there, here results.CurveRow) error {
	if !there.TrainLoss.Valid || !here.TrainLoss.Valid { // one is not evaluated on the training set
		there.TrainLoss, there.TrainAcc = here.TrainLoss, here.TrainAcc
	}
	for _, c := range []struct {
		column      string
		there, here any
	}{
		{"round", there.Round, here.Round},
		{"active", there.Active, here.Active},
		{"lr", there.LR, here.LR},
		{"train_loss", there.TrainLoss, here.TrainLoss},
		{"train_acc", there.TrainAcc, here.TrainAcc},
		{"test_loss", there.TestLoss, here.TestLoss},
		{"test_acc", there.TestAcc, here.TestAcc},
	} {
		// A NaN on disk must equal a NaN now, and only their texts do.
		if c.there != c.here && fmt.Sprint(c.there) != fmt.Sprint(c.here) {
			return fmt.Errorf("round %d: %s %v, and %v now", here.Round, c.column, c.there, c.here)
		}
	}
	if there.Setup != here.Setup || there.Seed != here.Seed || there.Params != here.Params {
		return errors.New("of another run")
	}
	return nil
}

// sameRows is [SameRow] for the rows that two curves share.
func sameRows(there, here []results.CurveRow) error {
	for i := range min(len(there), len(here)) {
		if err := SameRow(there[i], here[i]); err != nil {
			return err
		}
	}
	return nil
}
