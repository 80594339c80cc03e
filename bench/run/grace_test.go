package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/nets"
)

// slow is an engine that takes its time over one kind of work, and says when it begins.
type slow struct {
	nets.Engine
	train, evaluate, store time.Duration
	began                  chan string // kinds of work
}

func (e *slow) wait(ctx context.Context, what string, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case e.began <- what:
	default:
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *slow) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	if err := e.wait(ctx, "train", e.train); err != nil {
		return nil, err
	}
	return e.Engine.Train(ctx, work)
}

func (e *slow) Evaluate(ctx context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	if err := e.wait(ctx, "evaluate", e.evaluate); err != nil {
		return nil, err
	}
	return e.Engine.Evaluate(ctx, jobs)
}

func (e *slow) Store(r nets.Row, w []float32) error {
	if err := e.wait(context.Background(), "store", e.store); err != nil { // as a device does, which cannot be hurried
		return err
	}
	return e.Engine.Store(r, w)
}

// askedToEnd runs a tiny run on a slow engine, asks it to end when the engine has begun some work for the n-th time,
// and returns the rounds of its checkpoints and how long it took to end.
func askedToEnd(t *testing.T, e *slow, grace time.Duration, what string, n int) (rounds []int, took time.Duration) {
	t.Helper()
	x, ses, log := resumable(t, "method=mifa", "p=1", "eval-every=100")
	ses.Machine.Grace = grace
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must.OK(t, ses.Open(ctx, &x.Settings, x.Seed))
	e.Engine, e.began = ses.Engine, make(chan string, 100)
	ses.Engine = e
	defer func() { ses.Engine = e.Engine }()
	var asked time.Time
	done := make(chan struct{})
	go func() {
		defer close(done)
		for k := 0; k < n; {
			if <-e.began == what {
				k++
			}
		}
		asked = time.Now()
		cancel()
	}()
	_, err := do(ctx, x, ses, silent())
	took = time.Since(asked)
	<-done
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want it cancelled\n%s", err, log)
	}
	rounds = must.Get(checkpoint.Rounds(x.Dir))(t)
	entries, err := os.ReadDir(x.Dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") && e.Name() != lock.File
	}) {
		t.Errorf("%v, %v, want nothing hidden", entries, err)
	}
	if _, err := os.Stat(filepath.Join(x.Dir, "run.json")); err != nil {
		t.Error(err)
	}
	return rounds, took
}

// A round that is likely to be short is finished, and a checkpoint written after it; one that is not, or of which
// nothing is known yet, and an evaluation are dropped at once.
func TestGrace(t *testing.T) {
	before := longRound
	defer func() { longRound = before }()
	for _, c := range []struct {
		name   string
		long   time.Duration // what counts as a long round
		engine slow
		grace  time.Duration
		what   string // asked to end when it begins for the n-th time
		n      int
		want   []int // the rounds of the checkpoints
	}{
		{"short rounds", before, slow{train: 300 * time.Millisecond}, time.Minute, "train", 3, []int{3}},
		{"the first round", before, slow{train: time.Hour}, time.Hour, "train", 1, nil},
		// The round gets what writing does not take.
		{"a short grace", before, slow{train: 2 * time.Second}, endMargin + 100*time.Millisecond, "train", 2, nil},
		{"an evaluation", before, slow{evaluate: time.Hour}, time.Hour, "evaluate", 1, nil},
		{"long rounds", 300 * time.Millisecond, slow{train: 400 * time.Millisecond}, time.Hour, "train", 2, nil},
		{ // of 5 rows, for which there is a second
			"slow writing", before,
			slow{train: time.Millisecond, store: 400 * time.Millisecond},
			endMargin + endMargin/2, "train", 2, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			longRound = c.long
			rounds, took := askedToEnd(t, &c.engine, c.grace, c.what, c.n)
			if !slices.Equal(rounds, c.want) || took > time.Minute {
				t.Errorf("checkpoints of %v after %v, want of %v within a minute", rounds, took, c.want)
			}
		})
	}
}

// A process knows of the runs in progress, and of the grace of the most patient of them.
func TestWorking(t *testing.T) {
	if grace, yes := Working(); yes {
		t.Fatalf("%v, want no run in progress", grace)
	}
	_, first := beginRun(t.Context(), time.Second)
	_, second := beginRun(t.Context(), time.Minute)
	first()
	if grace, yes := Working(); !yes || grace != time.Minute {
		t.Errorf("%v, %t, want a run with a minute", grace, yes)
	}
	second()
	if _, yes := Working(); yes {
		t.Error("runs in progress, want none")
	}
	_, third := beginRun(t.Context(), time.Second)
	defer third()
	if grace, yes := Working(); !yes || grace != time.Second {
		t.Errorf("%v, %t, want a run with a second", grace, yes)
	}
}
