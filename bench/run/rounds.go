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
	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/internal/lock"
	"rollcall/nets"
	"rollcall/nets/gpu"
	"rollcall/results"
)

// trainer is a run in progress. It trains round after round, evaluates the model, and writes checkpoints.
type trainer struct {
	x      *Experiment
	ses    *Session
	want   *folder.Want
	place  *folder.Place
	held   *lock.Lock // of the folder
	f      *Federation
	engine nets.Engine // the session's, in a recorder if the run is dumped
	p      progress.Run
	events *eventProgress // p, which is open until the run has ended
	curve  *curveFile
	stop   context.CancelCauseFunc // ends the run, as another process has finished or spoilt it

	done      int                   // how many rounds are done
	rows      []results.CurveRow    // the curve up to now
	earlier   []results.CurveRow    // the curve.csv of an earlier process: its rows must come again
	finished  *results.Run          // the run if it was finished, and lacks only files beside its curve; it stays
	wrote     []string              // the files beside the curve that the run has written
	decisions []results.DecisionRow // up to now, if they are asked for
	was       map[string]string     // versions on which a method in Python ran before the run was resumed
	replace   bool                  // rows that do not come again are moved aside, and the run goes on
	broken    bool                  // a round failed halfway: nobody can resume from the method's state

	began     time.Time     // when this process began to train
	beforeSec float64       // time of training and evaluation in earlier processes
	lastTook  time.Duration // time of the last round; 0: there was none
	saved     savedState
}

// savedState is the last checkpoint of a run, and how writing it went.
type savedState struct {
	round int           // its round; -1: there is none
	at    time.Time     // when it was written; without one: when the run began
	took  time.Duration // how long writing took
	said  bool          // a line has said that a checkpoint could not be written
}

// keptCheckpoints is how many checkpoints a run has at a time: if the newest is damaged, the one before it serves.
const keptCheckpoints = 2

// checkpointShare is the least time between checkpoints, in times of writing one: they cost a hundredth of the run.
const checkpointShare = 100

// run trains to the last round and writes every file but run.json.
func (t *trainer) run(ctx *ending, p progress.Run) (err error) {
	t.began = time.Now()
	t.events = t.ses.withEvents(p, t.x.Dir, t.info(nil), t.rows)
	defer t.events.Stop()
	t.p = t.events
	t.curve = newCurveFile(func(rows []results.CurveRow) error {
		err := t.place.PublishCurve(rows)
		t.over(err)
		return err
	}, filepath.Join(t.x.Dir, results.CurveFile), t.ses.Stderr)
	// A curve.csv with more rows than the checkpoint stays until these rows have come again.
	if n := len(t.rows); n > 0 && n >= len(t.earlier) && t.finished == nil {
		t.curve.put(t.rows)
	}
	defer func() { err = errors.Join(err, t.curve.close(ctx)) }()
	if err = t.train(ctx); err == nil && !t.stopped() {
		err = t.finish(ctx)
	}
	if err == nil && t.stopped() || err != nil && ctx.Err() != nil {
		t.saveAtEnd(ctx)
	}
	return err
}

// over ends the run if an error says that another process has finished it, has left other work in its place, or has
// taken the folder away.
func (t *trainer) over(err error) bool {
	if isOver(err) {
		t.stop(err)
		return true
	}
	return false
}

// end writes run.json, with which the folder is a result, after a run that ended with an error or without, and tidies
// the folder of a run that nobody will resume.
func (t *trainer) end(ctx context.Context, err error) error {
	if over := context.Cause(ctx); t.over(over) {
		return over
	}
	if t.finished != nil && (err != nil || t.stopped()) {
		return err // run.json is that of the finished run
	}
	if len(t.rows) == 0 && len(t.earlier) > 0 {
		return err // nobody vouches for the rows of an earlier process: the run is as one that was killed
	}
	info, wrote := t.info(err), t.wrote
	if t.finished != nil { // but for its files it is as it was
		info = *t.finished.Info
		wrote = files.Unique(slices.Concat(t.finished.Written(), wrote))
	}
	published := WithRetries(ctx, func() error {
		return t.place.Publish(results.RunFile, func(path string, before files.Before) error {
			return results.WriteRunInfo(path, info, wrote, before)
		})
	})
	if published == nil {
		t.events.ended(info, t.rows)
	}
	err = errors.Join(err, published)
	if err == nil && t.finished == nil {
		// Where nothing can be locked, a slower process may have put a shorter curve in its place just now.
		err = t.place.PublishCurve(t.rows)
	}
	if t.over(err) {
		return err
	}
	if err == nil && !t.stopped() || IsDiverged(err) {
		err = errors.Join(err, folder.Tidy(t.want, t.ses.Machine.KeepCheckpoints))
	}
	return err
}

// stopped reports whether the run has come to StopAt before its last round.
func (t *trainer) stopped() bool { return t.done >= t.x.Rounds() && t.done < t.x.Settings.Rounds }

// info returns the content of run.json for a run that ended with err.
func (t *trainer) info(err error) results.RunInfo {
	engine := t.ses.Engine.Info()
	info := results.RunInfo{
		Status: results.RunComplete, Rounds: t.done, Settings: t.x.Settings, Unused: t.x.Settings.Unnamed(),
		Seed:           t.x.Seed,
		WithoutSamples: t.want.About.WithoutSamples,
		Data:           t.ses.Data.Name, DataChecksum: t.want.About.DataChecksum, AllowAltered: t.ses.Machine.Altered,
		Engine: engine.Engine, Precision: engine.Precision, Device: engine.Device,
		Numerics: engine.Numerics, Revisions: t.want.About.Revisions,
		Version: Version(), GoVersion: runtime.Version(), Started: t.want.About.Started, Finished: time.Now().UTC(),
		Runtime: t.want.About.Runtime,
	}
	// The rows that an earlier process has left, and that have not come again, are not vouched for.
	if n := len(t.rows); n < len(t.earlier) && t.earlier[n].Round <= t.done {
		info.Rounds = t.earlier[n].Round - 1
	}
	info.Files = t.x.Settings.Files()
	info.Command = t.x.command(info)
	if file, _ := datasets.Own(t.x.Settings.Data); file != "" {
		info.DataMean, info.DataStd = t.ses.Data.Train.Mean, t.ses.Data.Train.Std
	}
	if sizes := t.x.Settings.Sizes(); sizes != [2]int{} {
		info.Subset = &results.Subset{
			Train: sizes[0], TrainOf: t.ses.Data.Train.Len(), Test: sizes[1], TestOf: t.ses.Data.Test.Len(),
		}
	}
	if script, is := errors.AsType[*remote.ScriptError](err); is {
		info.Traceback = script.Traceback
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

// train trains the rounds that are left up to the last or StopAt, evaluates when it is due, and writes checkpoints.
func (t *trainer) train(ctx *ending) error {
	rounds := t.x.Rounds()
	t.p.Start(rounds)
	t.held.Progress(t.want.About.Numerics, t.done, t.x.Settings.Rounds)
	if t.done > 0 {
		t.p.Resumed(t.done)
	}
	for {
		// The evaluation comes before the checkpoint, which then has its row.
		if err := t.evaluateIfDue(ctx); err != nil {
			return err
		}
		if t.done == 0 { // the run has its first row then, with which its folder is listed as any that failed
			if err := t.f.anyoneTrains(ctx); err != nil {
				return err
			}
		}
		if t.done >= rounds { // more, if an earlier process has gone on beyond StopAt
			return nil
		}
		if t.checkpointDue() {
			t.save(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.round(ctx); err != nil {
			t.broken = true
			return err
		}
	}
}

// round makes one round. ctx may let it finish after the run has been asked to end, see [ending.round].
func (t *trainer) round(ctx *ending) error {
	began := time.Now()
	inRound, cancel := ctx.round(t.lastTook, t.saved.took)
	defer cancel()
	active, _, err := t.f.round(inRound, t.done)
	if err != nil {
		return err
	}
	t.done++
	countRound()
	t.lastTook = time.Since(began)
	t.p.Round(t.done, active)
	t.held.Progress(t.want.About.Numerics, t.done, t.x.Settings.Rounds)
	if t.x.Decisions {
		rows := t.f.decisions(t.done)
		if rows == nil { // a method in a file may say what it decided, and need not
			return Final(fmt.Errorf("--decisions: %s decided nothing in round %d, want r.decide in every round",
				t.x.Settings.Method, t.done))
		}
		t.decisions = append(t.decisions, rows...)
	}
	return nil
}

// elapsedSec returns how long the run has trained and evaluated, in all its processes. It never decreases along the
// curve: an earlier process may have been faster, and have left later rows than its checkpoint.
func (t *trainer) elapsedSec() float64 {
	elapsed := t.beforeSec + time.Since(t.began).Seconds()
	if n := len(t.rows); n > 0 {
		elapsed = max(elapsed, t.rows[n-1].ElapsedSec)
	}
	return elapsed
}

// evaluateIfDue evaluates the model if the settings want a row after this round and there is none yet. A row of an
// earlier process must come again, with the same numbers. A loss that is no finite
// number, or huge, ends the run as diverged.
func (t *trainer) evaluateIfDue(ctx context.Context) error {
	due := t.done == 0 || t.x.Settings.Evaluates(t.done)
	if n := len(t.rows); !due || n > 0 && t.rows[n-1].Round == t.done {
		return nil
	}
	row, err := t.x.evaluate(ctx, t.ses, t.f, t.evaluatesTrain())
	if err != nil {
		return err
	}
	if row.Round = t.done; t.done > 0 {
		row.Active, row.LR = len(t.f.clients.Availability.Active(t.done-1)), t.x.Settings.Rate(t.done-1)
	}
	row.ElapsedSec = t.elapsedSec()
	if n := len(t.rows); n < len(t.earlier) {
		if err := folder.SameRow(t.earlier[n], row); err != nil {
			if err := t.differs(err); err != nil {
				return err
			}
		} else { // the row stays as it is on disk, its time too
			row.ElapsedSec = t.earlier[n].ElapsedSec
		}
	}
	t.rows = append(t.rows, row)
	t.p.Evaluated(row)
	if len(t.rows) >= len(t.earlier) && t.finished == nil { // curve.csv never gets shorter
		t.curve.put(t.rows)
	}
	for _, loss := range [][2]files.Optional{
		{row.TrainLoss, t.rows[0].TrainLoss}, {row.TestLoss, t.rows[0].TestLoss},
	} {
		if t.x.Settings.Diverged(loss[0].Value, loss[1].Value) {
			return &divergedError{fmt.Errorf(
				"%s: round %d: the model's loss is %.4g, and was %.3g at first, want a finite number of at most 1e6 "+
					"times that (a lower --lr may help)", t.x.Settings.Method, row.Round, loss[0].Value, loss[1].Value)}
		}
	}
	return nil
}

// evaluatesTrain reports whether the next row has the training set: as the settings say, or more if the rows that an
// earlier process has left have more.
func (t *trainer) evaluatesTrain() bool {
	rows := t.earlier
	if len(t.rows) > 0 {
		rows = t.rows
	}
	return t.x.Settings.EvaluatesTrain(t.done) ||
		t.x.Settings.EvalTrain && len(rows) > 0 && rows[0].TrainLoss.Valid
}

func (t *trainer) checkpointDue() bool {
	every := t.ses.Machine.CheckpointEvery
	return every > 0 && t.done > t.saved.round && t.done > 0 &&
		time.Since(t.saved.at) >= max(every, checkpointShare*t.saved.took)
}

// save writes a checkpoint and removes old ones. An error is logged once and does not end the run: it costs no more
// than the rounds since the last checkpoint.
func (t *trainer) save(ctx context.Context) {
	began := time.Now()
	c := &checkpoint.Content{About: t.want.About, Curve: t.rows, Decisions: t.decisions}
	c.Round, c.ElapsedSec, c.Idle = t.done, t.elapsedSec(), !t.f.trained
	state, err := t.f.Method.Save(ctx)
	if c.State = state; err == nil {
		err = t.place.Publish(checkpoint.Name(t.done), func(path string, before files.Before) error {
			return checkpoint.Write(ctx, path, c, t.engine, before)
		})
	}
	if err == nil {
		countSaved()
		t.saved.round = t.done
		err = folder.RemoveOlder(t.x.Dir, t.done, keptCheckpoints)
	}
	if t.over(err) {
		return
	}
	// After an error too, so that a full disk is tried again only when the next checkpoint is due.
	t.saved.at, t.saved.took = time.Now(), time.Since(began)
	if err != nil && ctx.Err() == nil && !t.saved.said {
		t.saved.said = true
		Logf(t.ses.Stderr, "rollcall: %s: the run continues without this checkpoint\n", settings.ErrorLine(err))
	}
}

// finish writes the files of the last round: decisions, clients, models, dump.
func (t *trainer) finish(ctx context.Context) error {
	if !t.f.trained {
		return Final(fmt.Errorf("%s: %w in %s, though some were available", t.x.Settings.Method, errNobodyTrained,
			files.Count(t.x.Settings.Rounds, "round")))
	}
	if t.x.Decisions {
		if err := t.write(ctx, results.DecisionsFile, func(path string, before files.Before) error {
			return files.WriteCSVFile(path, t.decisions, before)
		}); err != nil {
			return err
		}
	}
	if t.f.clients.ownClasses != nil {
		if err := t.writeClients(ctx); err != nil {
			return err
		}
	}
	if err := t.saveModels(ctx); err != nil {
		return err
	}
	if err := t.noteUnchanged(); err != nil {
		return err
	}
	if recorded, ok := t.engine.(*recorder); ok {
		return t.x.writeDump(t.f, recorded, t.ses.Data.Train)
	}
	return nil
}

// noteUnchanged says so if the model after the last round is the initial one: the run is whole, and yet no result.
func (t *trainer) noteUnchanged() error {
	// The model is copied only if its loss is that of the initial model.
	if first, last := t.rows[0], t.rows[len(t.rows)-1]; first.TestLoss != last.TestLoss {
		return nil
	}
	row, err := t.f.Method.Model()
	if err != nil {
		return err
	}
	now := make([]float32, len(t.f.W0)) // [P]
	if err := t.ses.Engine.Store(row, now); err != nil {
		return err
	}
	if slices.Equal(now, t.f.W0) {
		Logf(t.ses.Stderr, "rollcall: %s: the model is the same as before round 1 after %s: no update has changed it "+
			"(more rounds, more available clients or a larger --lr may help)\n", t.x.Dir,
			files.Count(t.done, "round"))
	}
	return nil
}

// write writes a file beside the curve, and notes that the run has written it.
func (t *trainer) write(
	ctx context.Context, name string, write func(path string, before files.Before) error,
) error {
	err := WithRetries(ctx, func() error { return t.place.Publish(name, write) })
	if err == nil {
		t.wrote = append(t.wrote, name)
	}
	return err
}

// saveAtEnd writes a checkpoint of a run that was interrupted or stopped, if it has made rounds since the last one.
func (t *trainer) saveAtEnd(e *ending) {
	if t.broken || t.done <= t.saved.round || t.done == 0 || t.ses.Machine.CheckpointEvery == 0 {
		return
	}
	ctx, cancel := e.last()
	defer cancel()
	t.save(ctx)
}

// follow saves a run whose folder is gone to where somebody has moved it, and says in the error where that is.
func (t *trainer) follow(e *ending, gone error) error {
	dir := t.held.Folder()
	if dir == "" {
		return gone
	}
	t.x.Dir, t.want.Dir = dir, dir
	err := t.place.PublishCurve(t.rows)
	t.saveAtEnd(e)
	if err != nil || t.saved.round < t.done {
		return errors.Join(gone, err)
	}
	return fmt.Errorf("%w: it is %s now, with a checkpoint of round %d", gone, dir, t.done)
}

// writeClients writes clients.csv: each client's accuracy of the last model on the test samples of its own classes.
func (t *trainer) writeClients(ctx context.Context) error {
	f := t.f
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := make([]nets.EvalJob, len(f.clients.ownClasses))
	for i, own := range f.clients.ownClasses {
		jobs[i] = nets.EvalJob{Row: model, Part: f.clients.tested, Index: own}
	}
	answers, err := t.ses.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	rows := make([]results.ClientRow, len(answers))
	for i, r := range answers {
		rows[i] = results.ClientRow{
			Round: t.x.Settings.Rounds, Client: i, Pi: f.clients.Pi[i], N: r.N, Accuracy: r.Accuracy(), Loss: r.Loss,
		}
	}
	return t.write(ctx, results.ClientsFile, func(path string, before files.Before) error {
		return files.WriteCSVFile(path, rows, before)
	})
}
