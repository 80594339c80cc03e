package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// trainer is a run in progress. It makes round after round, evaluates the model, and writes checkpoints.
type trainer struct {
	*Experiment
	l      *Session
	f      *Federation
	engine nets.Engine // the session's, in a recorder if the run is dumped
	p      progress.Run
	about  checkpoint.About
	curve  *curveFile

	done      int                   // how many rounds are made
	rows      []results.CurveRow    // the curve up to now
	earlier   []results.CurveRow    // the curve.csv of an earlier process: its rows must come again
	decisions []results.DecisionRow // up to now, if they are asked for
	was       map[string]string     // versions on which a method in Python ran before the run was resumed
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

// checkpointShare is the least time between two checkpoints, in times of writing one: they cost less than a hundredth
// of the run.
const checkpointShare = 100

// train makes the rounds that are left up to the last or to StopAt, evaluates when the settings say so, and writes
// checkpoints.
func (t *trainer) train(ctx *ending) error {
	rounds := t.rounds()
	t.p.Start(rounds)
	if t.done > 0 {
		t.p.Resumed(t.done)
	}
	for {
		// The evaluation comes before the checkpoint, which then has its row.
		if err := t.evaluateIfDue(ctx); err != nil {
			return err
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
	madeRound()
	t.lastTook = time.Since(began)
	t.p.Round(t.done, active)
	if t.claim != nil {
		t.claim.Progress(t.done, t.Settings.Rounds)
	}
	if t.Decisions {
		rows := t.f.decisions(t.done)
		if rows == nil { // a method in a file may say what it decided, and need not
			return &finalError{fmt.Errorf("--decisions: %s decided nothing in round %d, want r.decide in every round",
				t.Settings.Method, t.done)}
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

// evaluateIfDue evaluates the model if the settings want a row after this round and there is none yet. A row that an
// earlier process has written must come again, with the same numbers. A loss that is no finite number ends the run as
// diverged.
func (t *trainer) evaluateIfDue(ctx context.Context) error {
	due := t.done == 0 || t.Settings.Evaluates(t.done)
	if n := len(t.rows); !due || n > 0 && t.rows[n-1].Round == t.done {
		return nil
	}
	row, err := t.evaluate(ctx, t.l, t.f)
	if err != nil {
		return err
	}
	if row.Round = t.done; t.done > 0 {
		row.Active, row.LR = len(t.f.clients.Process.Active(t.done-1)), t.Settings.Rate(t.done-1)
	}
	row.ElapsedSec = t.elapsedSec()
	if n := len(t.rows); n < len(t.earlier) {
		if err := sameRow(t.earlier[n], row); err != nil {
			if err := t.differs(err); err != nil {
				return err
			}
		} else { // the row stays as it is on disk, its time too
			row.ElapsedSec = t.earlier[n].ElapsedSec
		}
	}
	t.rows = append(t.rows, row)
	t.p.Evaluated(row)
	if len(t.rows) >= len(t.earlier) { // curve.csv never gets shorter
		t.curve.put(t.rows)
	}
	for _, loss := range []files.Optional{row.TrainLoss, row.TestLoss} {
		if math.IsNaN(loss.Value) || math.IsInf(loss.Value, 0) {
			return &divergedError{fmt.Errorf(
				"%s: round %d: the model's loss is %g, want a finite number (a lower --lr may help)",
				t.Settings.Method, row.Round, loss.Value)}
		}
	}
	return nil
}

// checkpointDue reports whether it is time to write a checkpoint.
func (t *trainer) checkpointDue() bool {
	every := t.l.Machine.CheckpointEvery
	return every > 0 && t.done > t.saved.round && t.done > 0 &&
		time.Since(t.saved.at) >= max(every, checkpointShare*t.saved.took)
}

// save writes a checkpoint and removes old ones. An error is logged once and does not end the run: it costs no more
// than the rounds since the last checkpoint.
func (t *trainer) save(ctx context.Context) {
	began := time.Now()
	c := &checkpoint.Content{About: t.about, Curve: t.rows, Decisions: t.decisions}
	c.Round, c.ElapsedSec = t.done, t.elapsedSec()
	state, err := t.f.Method.Save(ctx)
	if c.State = state; err == nil {
		err = t.publish(checkpoint.Name(t.done), func(path string) error {
			return checkpoint.Write(ctx, path, c, t.engine)
		})
	}
	if err == nil {
		t.saved.round = t.done
		err = errors.Join(checkpoint.RemoveAfter(t.Dir, t.done), checkpoint.Remove(t.Dir, keptCheckpoints))
	}
	// After an error too, so that a full disk is tried again only when the next checkpoint is due.
	t.saved.at, t.saved.took = time.Now(), time.Since(began)
	if err != nil && ctx.Err() == nil && !t.saved.said && !isLost(err) {
		t.saved.said = true
		Logf(t.l.Stderr, "rollcall: %s: the run goes on without this checkpoint\n", settings.OneLine(err))
	}
}

// finish writes the files of the last round: decisions, clients, models, dump.
func (t *trainer) finish(ctx context.Context) error {
	if t.Decisions {
		if err := withRetries(ctx, func() error {
			return t.publish(results.DecisionsFile, func(path string) error {
				return files.WriteCSVFile(path, t.decisions)
			})
		}); err != nil {
			return err
		}
	}
	if t.f.clients.ownClasses != nil {
		if err := t.writeClients(ctx, t.l, t.f); err != nil {
			return err
		}
	}
	if err := t.saveModels(ctx, t.engine, t.f); err != nil {
		return err
	}
	if recorded, ok := t.engine.(*recorder); ok {
		return t.writeDump(t.f, recorded, t.l.Data.Train)
	}
	return nil
}

// saveAtEnd writes a checkpoint of a run that was interrupted or stopped, if it has made rounds since the last one.
func (t *trainer) saveAtEnd(e *ending) {
	if t.broken || t.done <= t.saved.round || t.done == 0 || t.l.Machine.CheckpointEvery == 0 {
		return
	}
	ctx, cancel := e.last()
	defer cancel()
	t.save(ctx)
}

// sameRow returns the first difference between a row on disk and the same row computed again, with both values. Times,
// versions and the engine within a numerics class may differ.
func sameRow(there, here results.CurveRow) error {
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
	if there.Cell != here.Cell || there.Seed != here.Seed || there.Params != here.Params {
		return errors.New("of another run")
	}
	return nil
}

// writeClients writes clients.csv: the accuracy of the last model for every client, on the test samples of its own
// classes.
func (x *Experiment) writeClients(ctx context.Context, l *Session, f *Federation) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := make([]nets.EvalJob, len(f.clients.ownClasses))
	for i, own := range f.clients.ownClasses {
		jobs[i] = nets.EvalJob{Row: model, Part: f.clients.tested, Index: own}
	}
	answers, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	rows := make([]results.ClientRow, len(answers))
	for i, r := range answers {
		rows[i] = results.ClientRow{
			Round: x.Settings.Rounds, Client: i, Pi: f.clients.Pi[i], N: r.N, Accuracy: r.Accuracy(), Loss: r.Loss,
		}
	}
	return withRetries(ctx, func() error {
		return x.publish(results.ClientsFile, func(path string) error { return files.WriteCSVFile(path, rows) })
	})
}
