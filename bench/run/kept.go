package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/run/part"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/files"
)

// Keep says which finished runs a command keeps as they are, and how it deals with runs that fail or that others make.
// The zero value keeps the runs that this program and this machine would make again, and waits for others.
type Keep struct {
	Again bool // keep none: make every run anew
	Mixed bool // keep runs of other numerics and data too

	Retries int  // how often a failed run is tried again
	NoWait  bool // do not wait for runs that other processes make, once these have shown a sign of life

	Part part.Part // make the runs of this part alone
	Look bool      // make no run: what is not finished counts as failed
}

// Validate reports the first impossible number.
func (k *Keep) Validate() error {
	if k.Retries < 0 {
		return settings.Usagef("--retries %d: want 0 or more", k.Retries)
	}
	return nil
}

// revisions returns the revisions of everything that decides the numbers of a run. engine is the revision of its
// engine.
func revisions(s *settings.Settings, engine int) results.Revisions {
	split := s.Split
	if s.SplitAway() {
		split = "" // the data set itself splits its samples
	}
	process := availability.Revision(s.Availability)
	if algos.Has(s.Method, algos.UsesPi) {
		process += told[s.Availability]
	}
	return results.Revisions{
		Method: algos.Revision(s.Method), Process: process,
		Data: datasets.Revision(s.Data, split), Net: models.Revision(s.Net), Engine: engine,
	}
}

// ended reports whether nothing of a run is left to do: it is complete or diverged, or has come to StopAt.
func (x *Experiment) ended(run *results.Run) bool {
	switch run.Info.Status {
	case results.RunComplete, results.RunDiverged:
		return true
	case results.RunInterrupted:
		return x.StopAt != nil && len(run.Curve) > 0 && run.Rounds() >= *x.StopAt
	}
	return false
}

// Kept returns the finished run in dir, complete or diverged or come to StopAt, if it is a run of this experiment that
// keep allows; nil: there is none. It logs why it does not keep a run.
//
// A finished run in the experiment's own folder with other numerics or data is an error. It cannot share a mean with
// the runs made now, and it is too good to be overwritten unasked.
func (x *Experiment) Kept(ctx context.Context, l *Session, dir string, keep Keep) (*results.Run, error) {
	if keep.Again {
		return nil, nil // no run, and nothing wrong
	}
	if _, err := os.Lstat(filepath.Join(dir, results.RunFile)); err != nil {
		return nil, nil // likewise; writing to an unusable folder reports the error
	}
	run, bad := results.ReadRunFolder(dir)
	if run.Info != nil && run.Info.SettingsHash != results.Hash(x.Settings) {
		return nil, nil // a run of another cell
	}
	if run.Info != nil && !x.ended(&run) {
		return nil, nil // not finished: the caller resumes it or begins anew
	}
	if len(bad) == 0 && len(run.Curve) == 0 {
		bad = append(bad, fmt.Errorf("%s: no row", filepath.Join(dir, results.CurveFile)))
	}
	if len(bad) > 0 {
		Logf(l.Stderr, "rollcall: %s: runs anew\n", settings.OneLine(bad[0]))
		return nil, nil // a damaged run is not kept, and the new one replaces it
	}
	if x.Decisions && run.Status() == results.RunComplete && !slices.Contains(run.Extra, results.DecisionsFile) {
		return nil, nil // it did not write all the files that are asked for
	}
	if run.Status() == results.RunComplete && x.lacksModels(run.Info.Checksums) {
		return nil, nil // likewise
	}
	info := run.Info
	// A command that makes no run takes what another machine has made: this one may have no card.
	numerics, engine := info.Numerics, info.Revisions.Engine
	if !keep.Look {
		var err error
		if numerics, engine, err = l.Machine.Numerics(); err != nil {
			return nil, err
		}
	}
	// is describes the finished run, would the run that this program and machine would make. First only schema and
	// revisions differ, for which no flag helps: other code would come to other numbers.
	is, would := info.Likeness(), info.Likeness()
	would.Schema, would.Revisions = results.Schema, revisions(&x.Settings, engine)
	if differ := is.Unlike(would); differ != nil {
		Logf(l.Stderr, "%s: %s, there and here: runs anew\n", dir, differ[0])
		return nil, nil // this program would come to other numbers
	}
	// Then numerics and, where data files need not be the official ones, their checksum. --mixed accepts these. The
	// checksum comes last, because reading it opens the data set.
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
			return nil, nil // the other table keeps its run, and this one makes its own
		}
		return nil, &finalError{fmt.Errorf("%s: a finished run of %s, there and here: want --mixed to take it, "+
			"--again to run it anew, or another --out", dir, differ[0])}
	}
	if info.Version != Version() {
		l.notice("version "+info.Version, fmt.Sprintf(
			"finished runs of rollcall %s are kept, this is %s (--again runs them anew)", info.Version, Version()))
	}
	return &run, nil
}

// found is the folder of a run when a command begins.
type found struct {
	runJSON string // the text of run.json, which changes if a run is made since; empty: there is none
	any     bool   // there is any file of a run
}

// found reads the folder of the run as it is now.
func (x *Experiment) found() found {
	text, _ := files.ReadRegular(filepath.Join(x.Dir, results.RunFile)) // an unreadable one is like none: not kept
	names, _ := x.files()
	return found{string(text), len(names) > 0}
}

// keptSince is [Experiment.Kept] for the run's own folder. With --again it keeps only a run that was made since the
// command began, by another process or for another cell of the same table.
func (x *Experiment) keptSince(ctx context.Context, l *Session, was found, keep Keep) (*results.Run, error) {
	if keep.Again && x.found().runJSON == was.runJSON {
		return nil, nil // no run, and nothing wrong
	}
	keep.Again = false
	return x.Kept(ctx, l, x.Dir, keep)
}
