package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/algos/remote"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/results"
)

// Experiment is one run: one method, one seed, one folder.
type Experiment struct {
	Table     string // "run" outside tables
	Settings  settings.Settings
	Seed      uint32
	Dir       string
	Dump      string // folder of the dump; empty: none
	Decisions bool   // write decisions.csv: how the method used every client in every round

	SaveModel SaveModel // which models the run writes at its end

	// StopAt is the round after which the run stops with a checkpoint, as interrupted, for a later command to resume,
	// if that is of use; nil: it trains all rounds.
	StopAt *int

	Was folder.Stamp // the folder when the command began, for --again

	Others []string // further folders in which the run may be finished, such as those of other tables
	Own    bool     // a run that is finished there is copied to Dir; otherwise it is taken where it is
}

// Folder returns the folder of a run: OUT/TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N.
func Folder(out, table string, s settings.Settings, seed uint32) string {
	return filepath.Join(out, table, results.CellFolder(s.Setup(table), results.Hash(s)), fmt.Sprintf("seed-%d", seed))
}

// Rounds returns the round after which this process ends the run.
func (x *Experiment) Rounds() int {
	if x.StopAt != nil {
		return min(*x.StopAt, x.Settings.Rounds)
	}
	return x.Settings.Rounds
}

// want describes the run for [folder.Decide]. The data checksum is unknown until the session is open.
func (x *Experiment) want(ctx context.Context, ses *Session, keep Keep) (*folder.Want, error) {
	w := &folder.Want{
		Dir: x.Dir, Evaluates: x.Settings.Evaluates, EvaluatesTrain: x.Settings.EvaluatesTrain,
		StopAt: x.Rounds(), Files: x.files(), Start: x.Dump != "",
		AnyKind: keep.Look, Altered: ses.Machine.Altered, Mixed: keep.Mixed,
		Checksum: func() (string, error) {
			err := ses.OpenData(ctx, &x.Settings, x.Seed)
			if err != nil {
				return "", err
			}
			return ses.Checksum(&x.Settings), nil
		},
	}
	// The other models give a client without samples a probability of 0, and always have.
	if s := &x.Settings; !keep.Look && (s.P.Valid || s.Chained()) {
		w.WithoutSamples = func() (int, error) { return ses.withoutSamples(ctx, s, x.Seed) }
	}
	var revision int
	var params int
	numerics := ""
	switch {
	case ses.Engine != nil:
		info := ses.Engine.Info()
		numerics, revision, params = info.Numerics, info.Revision, info.Params
	case !keep.Look: // a command that makes no run takes what another machine has made: this one may have no card
		var err error
		if numerics, revision, err = ses.Machine.Numerics(); err != nil {
			return nil, err
		}
	}
	if ses.Engine == nil || ses.model.Name != x.Settings.Net {
		model, err := x.Settings.Model()
		if err != nil {
			return nil, err
		}
		params = model.P
	}
	w.About = checkpoint.About{
		SettingsHash: results.Hash(x.Settings), Seed: x.Seed, Numerics: numerics,
		Revisions: Revisions(&x.Settings, revision), Params: params, Decisions: x.Decisions, Version: Version(),
		Rounds: x.Settings.Rounds, Started: time.Now().UTC(),
	}
	w.Row = x.row(nets.Info{})
	return w, nil
}

// files returns the names of the files beside the curve that are asked for. Of the models of clients it names one: a
// file is named after the first client that keeps its model, and client 0 is the first of one.
func (x *Experiment) files() (names []string) {
	if x.Decisions {
		names = append(names, results.DecisionsFile)
	}
	if x.SaveModel != SaveNone {
		names = append(names, results.ModelFile)
	}
	if x.SaveModel == SaveAll {
		names = append(names, results.ClientModelFile(0))
	}
	return names
}

// Revisions returns the revisions of everything that decides the numbers of a run; engine is that of its engine.
func Revisions(s *settings.Settings, engine int) results.Revisions {
	split := s.Split
	if s.SplitAway() {
		split = "" // the data set itself splits its samples
	}
	model := availability.Revision(s.Availability)
	if algos.Has(s.Method, algos.UsesPi) {
		model += told[s.Availability]
	}
	net := models.Revision(s.Net)
	if m, err := s.Model(); err == nil {
		net = m.Revision() // for samples of this shape
	}
	return results.Revisions{
		Method: algos.Revision(s.Method), Availability: model,
		Data: datasets.Revision(s.Data, split), Net: net, Engine: engine,
	}
}

// command returns the command line that repeats the run of info.
func (x *Experiment) command(info results.RunInfo) string {
	info.Settings = x.Settings.Named()
	row := x.row(nets.Info{})
	run := results.Run{Dir: x.Dir, Setup: row.Setup, Params: row.Params, Seed: x.Seed, Info: &info}
	cell := results.Cell{CellKey: run.Key(), Runs: []results.Run{run}}
	return cell.Command()
}

// row returns a row of the curve with its names only. The caller adds round, losses, accuracies and times.
func (x *Experiment) row(engine nets.Info) results.CurveRow {
	s := &x.Settings
	return results.CurveRow{
		Setup: s.Setup(x.Table), Seed: x.Seed, Params: s.Params(),
		Engine: engine.Engine, Precision: engine.Precision, Version: Version(),
	}
}

// evaluate returns a row of the curve, but for its round: the losses and accuracies of the method's current model, on
// the training set too if train is true.
func (x *Experiment) evaluate(
	ctx context.Context, ses *Session, f *Federation, train bool,
) (results.CurveRow, error) {
	row := x.row(ses.Engine.Info())
	model, err := f.Method.Model()
	if err != nil {
		return row, err
	}
	jobs := f.testJobs(model)
	tests := len(jobs)
	if train {
		jobs = append(jobs, f.trainJob(model))
	}
	r, err := ses.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return row, err
	}
	loss, accuracy := f.testMeans(r[:tests])
	row.TestLoss, row.TestAcc = files.Some(loss), files.Some(accuracy)
	if train {
		row.TrainLoss, row.TrainAcc = files.Some(r[tests].Loss), files.Some(r[tests].Accuracy())
	}
	return row, nil
}

// divergedError is the error of a run whose loss is no finite number any more, as it would be the next time.
type divergedError struct{ error }

func (e *divergedError) Unwrap() error { return e.error }

// IsDiverged reports whether a run ended because its loss is no finite number, and for no other reason. If a file could
// not be written either, the run has failed.
func IsDiverged(err error) bool {
	switch e := err.(type) { //nolint:errorlint // errors.As finds one error of several, where all are asked for
	case *divergedError:
		return true
	case interface{ Unwrap() error }:
		return IsDiverged(e.Unwrap())
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 0 && !slices.ContainsFunc(all, func(err error) bool { return !IsDiverged(err) })
	}
	return false
}

// finalError is an error that another attempt would meet again.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// Final marks an error that another attempt would meet again.
func Final(err error) error { return &finalError{err} }

// IsFinal reports whether another attempt would meet the same error, so that the pool does not retry the run.
func IsFinal(err error) bool {
	_, memory := errors.AsType[*memoryError](err)
	_, final := errors.AsType[*finalError](err)
	// A data set that is not available is downloaded once in a command only, see [sharedData].
	// An exception comes again, an error of the engine that it reports may not.
	script, thrown := errors.AsType[*remote.ScriptError](err)
	return memory || final || IsRefused(err) || errors.Is(err, folder.ErrGone) ||
		thrown && script.Cause == nil || IsDiverged(err) || settings.IsUsage(err) ||
		errors.Is(err, datasets.ErrUnavailable) || errors.Is(err, datasets.ErrAltered)
}
