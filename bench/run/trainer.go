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

// trainer is a run in progress: it trains round after round, evaluates, and leaves checkpoints to go on from.
type trainer struct {
	*Experiment
	l      *Session
	f      *Federation
	engine nets.Engine
	p      progress.Run
	about  checkpoint.About
	curve  *curveFile

	done      int                   // rounds
	rows      []results.CurveRow    // so far
	earlier   []results.CurveRow    // of curve.csv as an earlier process left it; the same come again
	decisions []results.DecisionRow // so far, where they are asked for
	broken    bool                  // a round failed: the method's state is none to go on from

	began     time.Time     // when this process began to train
	beforeSec float64       // of training and evaluation, in earlier processes
	lastTook  time.Duration // of the last round; 0: there was none
	saved     savedState
}

// savedState is what is known of a run's checkpoints.
type savedState struct {
	round int           // of the last one; -1: there is none
	at    time.Time     // when it was written; of none when the run began
	took  time.Duration // to write it
	said  bool          // that one could not be written
}

// most is how many checkpoints a run has at a time.
const keptCheckpoints = 2

// checkpointShare is how much longer than writing a checkpoint it takes at least to the next one, so that they cost
// under a hundredth of the run.
const checkpointShare = 100

// train trains and evaluates from where the run is to its last round.
func (t *trainer) train(ctx *ending) error {
	rounds := t.Settings.Rounds
	t.p.Start(rounds)
	if t.done > 0 {
		t.p.Resumed(t.done)
	}
	for {
		if err := t.evaluateIfDue(ctx); err != nil {
			return err
		}
		if t.done == rounds {
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

func (t *trainer) round(ctx *ending) error {
	began := time.Now()
	inRound, cancel := ctx.round(t.lastTook, t.saved.took)
	defer cancel()
	active, _, err := t.f.round(inRound, t.done)
	if err != nil {
		return err
	}
	t.done++
	t.lastTook = time.Since(began)
	t.p.Round(t.done, active)
	if t.claim != nil {
		t.claim.Progress(t.done, t.Settings.Rounds)
	}
	if t.Clients {
		t.decisions = append(t.decisions, t.f.decisions(t.done)...)
	}
	return nil
}

// elapsedSec returns how long the run has trained and evaluated, in all its processes. Rows of an earlier one, which
// was faster or went further than its checkpoint, are not later.
func (t *trainer) elapsedSec() float64 {
	elapsed := t.beforeSec + time.Since(t.began).Seconds()
	if n := len(t.rows); n > 0 {
		elapsed = max(elapsed, t.rows[n-1].ElapsedSec)
	}
	return elapsed
}

// evaluateIfDue evaluates the model after the rounds so far, if it is one to evaluate and was not yet.
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
		} else {
			row.ElapsedSec = t.earlier[n].ElapsedSec
		}
	}
	t.rows = append(t.rows, row)
	t.p.Evaluated(row)
	if len(t.rows) >= len(t.earlier) {
		t.curve.put(t.rows)
	}
	for _, loss := range []files.Optional{row.TrainLoss, row.TestLoss} {
		if math.IsNaN(loss.Value) || math.IsInf(loss.Value, 0) {
			return &divergedError{fmt.Errorf("%s: round %d: the model's loss is %g, want a finite number (a lower "+
				"--lr may help)",
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

// save writes a checkpoint. That it cannot is said once, and costs no more than the rounds since the last one.
func (t *trainer) save(ctx context.Context) {
	began := time.Now()
	c := &checkpoint.Content{About: t.about, Curve: t.rows, Decisions: t.decisions, State: t.f.Method.Save()}
	c.Round, c.ElapsedSec = t.done, t.elapsedSec()
	err := t.publish(checkpoint.Name(t.done), func(path string) error {
		return checkpoint.Write(ctx, path, c, t.engine)
	})
	if err == nil {
		t.saved.round = t.done
		err = errors.Join(checkpoint.RemoveAfter(t.Dir, t.done), checkpoint.Remove(t.Dir, keptCheckpoints))
	}
	t.saved.at, t.saved.took = time.Now(), time.Since(began)
	if err != nil && ctx.Err() == nil && !t.saved.said && !isLost(err) {
		t.saved.said = true
		Logf(t.l.Stderr, "rollcall: %s: the run goes on without this checkpoint\n", settings.OneLine(err))
	}
}

// finish writes what the run leaves beside its curve, once all rounds are done.
func (t *trainer) finish(ctx context.Context) error {
	if t.Clients {
		if err := withRetries(ctx, func() error {
			return t.publish(results.DecisionsFile, func(path string) error {
				return files.WriteCSVFile(path,
					t.decisions)
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

// leave writes a checkpoint at the end of a run that was interrupted, if there is something new to go on from.
func (t *trainer) saveAtEnd(e *ending) {
	if t.broken || t.done <= t.saved.round || t.done == 0 || t.l.Machine.CheckpointEvery == 0 {
		return
	}
	ctx, cancel := e.last()
	defer cancel()
	t.save(ctx)
}

// sameRow reports in what a row that came again differs from the one that is there, with both values. When it was
// computed and by which engine of a class is no matter.
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
		if c.there != c.here && fmt.Sprint(c.there) != fmt.Sprint(c.here) { // which NaN are
			return fmt.Errorf("round %d: %s %v, and %v now", here.Round, c.column, c.there, c.here)
		}
	}
	if there.Cell != here.Cell || there.Seed != here.Seed || there.Params != here.Params {
		return errors.New("of another run")
	}
	return nil
}

// writeClients writes what the last model is worth to every client: on the test samples of its own classes.
func (x *Experiment) writeClients(ctx context.Context, l *Session, f *Federation) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := make([]nets.EvalJob, len(f.clients.ownClasses))
	for i, own := range f.clients.ownClasses {
		jobs[i] = nets.EvalJob{Row: model, Part: nets.Test, Index: own}
	}
	answers, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	pi, _ := f.clients.Process.Stationary()
	rows := make([]results.ClientRow, len(answers))
	for i, r := range answers {
		rows[i] = results.ClientRow{
			Round: x.Settings.Rounds, Client: i, Pi: pi[i], N: r.N, Accuracy: r.Accuracy(), Loss: r.Loss,
		}
	}
	return withRetries(ctx, func() error {
		return x.publish(results.ClientsFile, func(path string) error { return files.WriteCSVFile(path, rows) })
	})
}
