package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// Experiment is one run on its way: one method, one seed, one folder.
type Experiment struct {
	Table    string // "run" outside tables
	Settings settings.Settings
	Seed     uint32
	Dir      string
	Dump     string // folder of the dump; empty: none
	Clients  bool   // write what the method made of every client in every round
}

// Folder returns OUT/TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N.
func Folder(out, table string, s settings.Settings, seed uint32) string {
	return filepath.Join(out, table, results.CellFolder(s.Cell(table), results.Hash(s)), fmt.Sprintf("seed-%d", seed))
}

// Do runs the experiment and writes curve.csv and run.json, those of a failed, diverged or interrupted run as well. The
// curve is written anew with every evaluation, so that a killed run leaves its rows, but only run.json makes it a result.
func (x *Experiment) Do(ctx context.Context, l *Session, p progress.Run) (rows []results.CurveRow, err error) {
	started := time.Now()
	if err := l.Open(ctx, &x.Settings, x.Seed); err != nil {
		return nil, err
	}
	for _, stale := range []string{results.RunFile, results.DecisionsFile, results.ClientsFile} {
		if err := os.Remove(filepath.Join(x.Dir, stale)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", x.Dir, err)
		}
	}
	log := l.followed(p, x.Dir, started)
	rows, rounds, err := x.rounds(ctx, l, log, started)
	log.Stop()
	engine := l.Engine.Info()
	info := results.RunInfo{
		Status: results.RunComplete, Rounds: rounds, Settings: x.Settings, Unused: x.Settings.Unused(), Seed: x.Seed,
		Data: l.Data.Name, DataChecksum: l.checksum(&x.Settings), AllowAltered: l.Machine.Altered,
		Engine: engine.Engine, Precision: engine.Precision, Device: engine.Device,
		Numerics: engine.Numerics, Revisions: revisions(&x.Settings, engine.Revision),
		Version: Version(), GoVersion: runtime.Version(), Started: started.UTC(), Finished: time.Now().UTC(),
	}
	switch {
	case errors.Is(err, context.Canceled):
		info.Status, info.Error = results.RunInterrupted, fmt.Sprintf("interrupted after %d rounds", rounds)
	case IsDiverged(err):
		info.Status, info.Error = results.RunDiverged, err.Error()
	case err != nil:
		info.Status, info.Error = results.RunFailed, err.Error()
	}
	return rows, errors.Join(err, insist(ctx, func() error {
		return results.WriteRunInfo(filepath.Join(x.Dir, results.RunFile), info)
	}))
}

// rounds trains and evaluates, and returns the rows and the number of rounds done.
func (x *Experiment) rounds(
	ctx context.Context, l *Session, p progress.Run, started time.Time,
) (rows []results.CurveRow, done int, err error) {
	engine := l.Engine
	var tape *recorder
	if x.Dump != "" {
		tape = &recorder{Engine: engine, params: l.model.P}
		engine = tape
	}
	f, err := l.Federate(ctx, x.Settings, x.Seed, engine)
	if err != nil {
		return nil, 0, err
	}
	defer f.Method.Close()
	curve := newCurveFile(filepath.Join(x.Dir, results.CurveFile), l.Stderr)
	defer func() { err = errors.Join(err, curve.close(ctx)) }()

	evaluate := func(round, active int, lr float64) error {
		row, err := x.evaluate(ctx, l, f)
		if err != nil {
			return err
		}
		row.Round, row.Active, row.LR, row.ElapsedSec = round, active, lr, time.Since(started).Seconds()
		rows = append(rows, row)
		p.Evaluated(row)
		curve.put(rows)
		for _, loss := range []files.Optional{row.TrainLoss, row.TestLoss} {
			if math.IsNaN(loss.Value) || math.IsInf(loss.Value, 0) {
				return &divergedError{fmt.Errorf("%s: round %d: the model's loss is %g, want a finite number (a lower --lr may help)",
					x.Settings.Method, round, loss.Value)}
			}
		}
		return nil
	}
	var decisions []results.DecisionRow
	p.Start(x.Settings.Rounds)
	if err := evaluate(0, 0, 0); err != nil {
		return rows, 0, err
	}
	for t := range x.Settings.Rounds {
		active, lr, err := f.round(ctx, t)
		if err != nil {
			return rows, t, err
		}
		p.Round(t+1, active)
		if x.Clients {
			decisions = append(decisions, f.decisions(t+1)...)
		}
		if x.Settings.Evaluates(t + 1) {
			if err := evaluate(t+1, active, lr); err != nil {
				return rows, t + 1, err
			}
		}
	}
	if x.Clients {
		if err := insist(ctx, func() error {
			return files.WriteCSVFile(filepath.Join(x.Dir, results.DecisionsFile), decisions)
		}); err != nil {
			return rows, x.Settings.Rounds, err
		}
	}
	if f.clients.ownClasses != nil {
		if err := x.writeClients(ctx, l, f); err != nil {
			return rows, x.Settings.Rounds, err
		}
	}
	if tape != nil {
		if err := x.writeDump(f, tape, l.Data.Train); err != nil {
			return rows, x.Settings.Rounds, err
		}
	}
	return rows, x.Settings.Rounds, nil
}

// evaluate returns the row of the method's present model, but for what the round tells.
func (x *Experiment) evaluate(ctx context.Context, l *Session, f *Federation) (results.CurveRow, error) {
	s, info := x.Settings, l.Engine.Info()
	row := results.CurveRow{
		Cell: s.Cell(x.Table),
		Seed: x.Seed, Params: s.Params(), Engine: info.Engine, Precision: info.Precision, Version: Version(),
	}
	model, err := f.Method.Model()
	if err != nil {
		return row, err
	}
	jobs := f.testJobs(model)
	tests := len(jobs)
	if s.EvalTrain {
		jobs = append(jobs, nets.EvalJob{Row: model, Part: nets.Train})
	}
	r, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return row, err
	}
	loss, accuracy := f.testMeans(r[:tests])
	row.TestLoss, row.TestAcc = files.Some(loss), files.Some(accuracy)
	if s.EvalTrain {
		row.TrainLoss, row.TrainAcc = files.Some(r[tests].Loss), files.Some(r[tests].Accuracy())
	}
	return row, nil
}
