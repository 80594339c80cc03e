package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"rollcall/algos/remote"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/claim"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/nets/gpu"
	"rollcall/results"
	"rollcall/results/files"
)

// Experiment is one run: one method, one seed, one folder.
type Experiment struct {
	Table     string // "run" outside tables
	Settings  settings.Settings
	Seed      uint32
	Dir       string
	Dump      string // folder of the dump; empty: none
	Decisions bool   // write decisions.csv: how the method used every client in every round
	Anew      bool   // do not resume; move the old run aside until this one is complete

	SaveModel SaveModel // which models the run writes at its end

	// StopAt is the round after which the run stops with a checkpoint, as interrupted, for a later command to go on
	// with, if that is of use; nil: it makes all rounds.
	StopAt *int

	claim *claim.Claim // claims Dir; nil: no other process knows the folder
}

// Folder returns the folder of a run: OUT/TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N.
func Folder(out, table string, s settings.Settings, seed uint32) string {
	return filepath.Join(out, table, results.CellFolder(s.Cell(table), results.Hash(s)), fmt.Sprintf("seed-%d", seed))
}

// Do makes the run, or resumes it where an earlier process was interrupted, and writes curve.csv and run.json, also for
// a run that fails, diverges or is interrupted. It writes the curve anew with every evaluation, so that a killed run
// leaves its rows, but only run.json makes the folder a result.
//
// When ctx ends, Do writes a checkpoint and returns within [Machine.Grace]. If another process has taken the run over,
// Do returns [claim.ErrLost] and writes nothing more.
func (x *Experiment) Do(ctx context.Context, l *Session, p progress.Run) (rows []results.CurveRow, err error) {
	if err := l.Open(ctx, &x.Settings, x.Seed); err != nil {
		return nil, err
	}
	return x.onOpen(ctx, l, p)
}

// onOpen is Do in a session that is already open for the run.
func (x *Experiment) onOpen(ctx context.Context, l *Session, p progress.Run) (rows []results.CurveRow, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Once the claim is lost, another process makes the run, and training here would be for nothing.
	if x.claim != nil {
		defer afterClosed(x.claim.Lost(), cancel)()
	}
	e, done := beginRun(ctx, l.Machine.Grace)
	defer done()
	t := &trainer{Experiment: x, l: l, engine: l.Engine, about: x.about(l)}
	if x.Dump != "" {
		t.engine = &recorder{Engine: l.Engine, params: l.model.P}
	}
	defer t.close()
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	err = t.run(e, p)
	if lost := x.lost(); lost != nil {
		return t.rows, lost
	}
	// run.json is the last file: with it the folder is a result.
	info := t.info(err)
	err = errors.Join(err, withRetries(ctx, func() error {
		return x.publish(results.RunFile, func(path string) error { return results.WriteRunInfo(path, info) })
	}))
	if lost := x.lost(); lost != nil {
		return t.rows, lost
	}
	if err == nil && !t.stopped() || IsDiverged(err) { // nobody will resume it
		err = errors.Join(err, x.Tidy(l))
	}
	return t.rows, err
}

// run trains to the last round and writes every file but run.json.
func (t *trainer) run(ctx *ending, p progress.Run) (err error) {
	t.began = time.Now()
	log := t.l.withEvents(p, t.Dir, t.about.Started, t.rows)
	defer log.Stop()
	t.p = log
	t.curve = newCurveFile(func(rows []results.CurveRow) error {
		return t.publish(results.CurveFile, func(path string) error { return results.WriteCurve(path, rows) })
	}, filepath.Join(t.Dir, results.CurveFile), t.l.Stderr)
	// A curve.csv with more rows than the checkpoint stays until these rows have come again.
	if n := len(t.rows); n > 0 && n >= len(t.earlier) {
		t.curve.put(t.rows)
	}
	defer func() { err = errors.Join(err, t.curve.close(ctx)) }()
	if err = t.train(ctx); err == nil && !t.stopped() {
		err = t.finish(ctx)
	}
	if (err == nil && t.stopped() || err != nil && ctx.Err() != nil) && t.lost() == nil {
		t.saveAtEnd(ctx)
	}
	return err
}

// rounds returns the round after which this process ends the run.
func (x *Experiment) rounds() int {
	if x.StopAt != nil {
		return min(*x.StopAt, x.Settings.Rounds)
	}
	return x.Settings.Rounds
}

// stopped reports whether the run has come to StopAt before its last round.
func (t *trainer) stopped() bool { return t.done >= t.rounds() && t.done < t.Settings.Rounds }

// about describes this run in its checkpoints. A checkpoint of another description is not resumed.
func (x *Experiment) about(l *Session) checkpoint.About {
	info := l.Engine.Info()
	return checkpoint.About{
		SettingsHash: results.Hash(x.Settings), Seed: x.Seed, Numerics: info.Numerics,
		Revisions: revisions(&x.Settings, info.Revision), DataChecksum: l.checksum(&x.Settings), Params: info.Params,
		Decisions: x.Decisions, Version: Version(), Rounds: x.Settings.Rounds, Started: time.Now().UTC(),
	}
}

// info returns the content of run.json for a run that ended with err.
func (t *trainer) info(err error) results.RunInfo {
	engine := t.l.Engine.Info()
	info := results.RunInfo{
		Status: results.RunComplete, Rounds: t.done, Settings: t.Settings, Unused: t.Settings.Unnamed(), Seed: t.Seed,
		Data: t.l.Data.Name, DataChecksum: t.about.DataChecksum, AllowAltered: t.l.Machine.Altered,
		Engine: engine.Engine, Precision: engine.Precision, Device: engine.Device,
		Numerics: engine.Numerics, Revisions: t.about.Revisions,
		Version: Version(), GoVersion: runtime.Version(), Started: t.about.Started, Finished: time.Now().UTC(),
		Runtime: t.about.Runtime,
	}
	if script, is := errors.AsType[*remote.ScriptError](err); is {
		info.Traceback = script.Traceback
	}
	if n := len(t.earlier); n > len(t.rows) { // curve.csv still has the earlier process's rows
		info.Rounds = max(info.Rounds, t.earlier[n-1].Round)
	}
	switch {
	case errors.Is(err, context.Canceled):
		info.Status, info.Error = results.RunInterrupted, fmt.Sprintf("interrupted after %d rounds", t.done)
	case gpu.DeviceLost(err): // the run goes on elsewhere, or in a later command
		info.Status, info.Error = results.RunInterrupted, fmt.Sprintf("interrupted after %d rounds: %v", t.done, err)
	case IsDiverged(err):
		info.Status, info.Error = results.RunDiverged, err.Error()
	case err != nil:
		info.Status, info.Error = results.RunFailed, err.Error()
	case t.stopped():
		info.Status, info.Error = results.RunInterrupted, fmt.Sprintf("stopped after %d rounds", t.done)
	}
	return info
}

// row returns a row of the curve with its names only. The caller adds round, losses, accuracies and times.
func (x *Experiment) row(engine nets.Info) results.CurveRow {
	s := &x.Settings
	return results.CurveRow{
		Cell: s.Cell(x.Table), Seed: x.Seed, Params: s.Params(),
		Engine: engine.Engine, Precision: engine.Precision, Version: Version(),
	}
}

// evaluate returns a row of the curve with the losses and accuracies of the method's current model. The caller adds the
// round.
func (x *Experiment) evaluate(ctx context.Context, l *Session, f *Federation) (results.CurveRow, error) {
	row := x.row(l.Engine.Info())
	model, err := f.Method.Model()
	if err != nil {
		return row, err
	}
	jobs := f.testJobs(model)
	tests := len(jobs)
	if x.Settings.EvalTrain {
		jobs = append(jobs, nets.EvalJob{Row: model, Part: nets.Train})
	}
	r, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return row, err
	}
	loss, accuracy := f.testMeans(r[:tests])
	row.TestLoss, row.TestAcc = files.Some(loss), files.Some(accuracy)
	if x.Settings.EvalTrain {
		row.TrainLoss, row.TrainAcc = files.Some(r[tests].Loss), files.Some(r[tests].Accuracy())
	}
	return row, nil
}

// divergedError is the error of a run whose loss is no finite number any more. The same settings and seed would diverge
// again.
type divergedError struct{ err error }

func (e *divergedError) Error() string { return e.err.Error() }

func (e *divergedError) Unwrap() error { return e.err }

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

// Unwrap returns the error itself.
func (e *finalError) Unwrap() error { return e.error }

// isFinal reports whether another attempt would meet the same error, so that the pool does not retry the run.
func isFinal(err error) bool {
	_, memory := errors.AsType[*memoryError](err)
	_, final := errors.AsType[*finalError](err)
	// A data set that is not available is downloaded once in a command only, see [sharedData].
	// An exception comes again, an error of the engine that it reports may not.
	script, thrown := errors.AsType[*remote.ScriptError](err)
	return memory || final || thrown && script.Cause == nil || IsDiverged(err) || settings.IsUsage(err) ||
		errors.Is(err, datasets.ErrUnavailable) || errors.Is(err, datasets.ErrAltered)
}
