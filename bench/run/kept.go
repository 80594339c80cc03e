package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// Keep says which finished runs are taken as they are, and what becomes of runs that do not come to their end here at
// once. The zero value takes those that this program and this machine would make again, and waits for others' runs.
type Keep struct {
	Again bool // none is taken
	Mixed bool // those of other numerics and data as well

	Retries int  // how often a run that failed is tried again
	NoWait  bool // runs that other processes make are not waited for
}

// Validate reports a number that is impossible.
func (k *Keep) Validate() error {
	if k.Retries < 0 {
		return settings.Usagef("--retries %d: want 0 or more", k.Retries)
	}
	return nil
}

// revisions are those of what makes a run, on an engine of some revision.
func revisions(s *settings.Settings, engine int) results.Revisions {
	split := s.Split
	if s.SplitAway() {
		split = "" // the data come cut
	}
	return results.Revisions{
		Method: algos.Revision(s.Method), Process: availability.Revision(s.Availability),
		Data: datasets.Revision(s.Data, split), Net: nets.Revision(s.Net), Engine: engine,
	}
}

// Kept returns the finished run in dir if it is this experiment's, complete or diverged; nil: there is none to take. A
// run that is there and not taken is said in a line.
//
// It is an error where the run stands in the experiment's own folder and was made with other numerics or of other data
// than here: it is no part of a mean with those that are made now, and too good to be overwritten unasked.
func (x *Experiment) Kept(ctx context.Context, l *Session, dir string, keep Keep) (*results.Run, error) {
	if keep.Again {
		return nil, nil //nolint:nilnil // no run, and nothing wrong
	}
	if _, err := os.Lstat(filepath.Join(dir, results.RunFile)); err != nil {
		return nil, nil //nolint:nilerr,nilnil // likewise; of a folder that cannot be used who writes there says so
	}
	run, bad := results.ReadRunFolder(dir)
	if run.Info != nil && run.Info.SettingsHash != results.Hash(x.Settings) {
		return nil, nil //nolint:nilnil // another cell's
	}
	if run.Info != nil && run.Info.Status != results.RunComplete && run.Info.Status != results.RunDiverged {
		return nil, nil //nolint:nilnil // it goes on, or begins anew
	}
	if len(bad) == 0 && len(run.Curve) == 0 {
		bad = append(bad, fmt.Errorf("%s: no row", filepath.Join(dir, results.CurveFile)))
	}
	if len(bad) > 0 {
		Logf(l.Stderr, "rollcall: %s: runs anew\n", settings.OneLine(bad[0]))
		return nil, nil //nolint:nilnil // nothing damaged is taken, nor does it stand in the way
	}
	if x.Clients && run.Status() == results.RunComplete && !slices.Contains(run.Extra, results.DecisionsFile) {
		return nil, nil //nolint:nilnil // more is asked for than it left
	}
	if run.Status() == results.RunComplete && x.lacksModels(run.Info.Checksums) {
		return nil, nil //nolint:nilnil // likewise
	}
	numerics, engine, err := l.Machine.Numerics()
	if err != nil {
		return nil, err
	}
	info := run.Info
	is, would := info.Likeness(), info.Likeness()
	would.Schema, would.Revisions = results.Schema, revisions(&x.Settings, engine)
	if differ := is.Unlike(would); differ != nil {
		Logf(l.Stderr, "%s: %s, there and here: runs anew\n", dir, differ[0])
		return nil, nil //nolint:nilnil // its numbers are not those of this program
	}
	would.Numerics = numerics
	if info.AllowAltered || l.Machine.Altered {
		if err := l.OpenData(ctx, &x.Settings, x.Seed); err != nil {
			return nil, err
		}
		would.Checksum = l.checksum(&x.Settings)
		is.Checksum = info.DataChecksum
	}
	if differ := is.Unlike(would); differ != nil && !keep.Mixed {
		if dir != x.Dir {
			return nil, nil //nolint:nilnil // this one has room of its own
		}
		return nil, &finalError{fmt.Errorf("%s: a finished run of %s, there and here: want --mixed to take it, "+
			"--again to "+
			"run it anew, or another --out", dir, differ[0])}
	}
	if info.Version != Version() {
		l.notice("version "+info.Version,
			fmt.Sprintf("finished runs of rollcall %s are kept, this is %s (--again runs them anew)", info.Version,
				Version()))
	}
	return &run, nil
}

// found is what a command finds in the folder of a run when it begins.
type found struct {
	runJSON string // the text of run.json; empty: it is not there
	any     bool   // something of a run is there
}

// found looks what is in the folder of the run.
func (x *Experiment) found() found {
	text, _ := files.ReadRegular(filepath.Join(x.Dir, results.RunFile)) // what cannot be read is not kept
	names, _ := x.files()
	return found{string(text), len(names) > 0}
}

// keptSince is [Experiment.Kept] of the run's own folder. Where runs are to be made anew it takes one that has been
// made since the command began, by another process or for another cell.
func (x *Experiment) keptSince(ctx context.Context, l *Session, was found, keep Keep) (*results.Run, error) {
	if keep.Again && x.found().runJSON == was.runJSON {
		return nil, nil //nolint:nilnil // no run, and nothing wrong
	}
	keep.Again = false
	return x.Kept(ctx, l, x.Dir, keep)
}
