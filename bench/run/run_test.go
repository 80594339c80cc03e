package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/must"
	"rollcall/results"
)

// ratesOf returns settings with learning rates for a method that has none by default.
func ratesOf(t *testing.T, method string) []string {
	t.Helper()
	s := must.Get(settings.Defaults(method, "code", "leaf"))(t)
	if s.LR > 0 && s.ServerLR > 0 {
		return nil
	}
	return []string{"lr=0.05", "server-lr=1"}
}

// tinyExperiment returns a run and a session for it, whose log is kept.
func tinyExperiment(t *testing.T, more ...string) (*Experiment, *Session, *sharedLog) {
	t.Helper()
	log := &sharedLog{}
	ses := &Session{Machine: Machine{Device: "cpu", Threads: 1, Out: t.TempDir()}, Stderr: log}
	t.Cleanup(func() { _ = ses.Close() })
	s := settingstest.Tiny(t, more...)
	return &Experiment{Table: "run", Settings: s, Seed: 3, Dir: Folder(ses.Machine.Out, "run", s, 3)}, ses, log
}

// do makes a run as a command without flags does, and returns the rows of its curve.
func do(ctx context.Context, x *Experiment, ses *Session, p progress.Run) ([]results.CurveRow, error) {
	m, err := x.Do(ctx, ses, Keep{}, p)
	return m.Rows, err
}

// sharedLog is a log of several writers; what one writes at once stays together.
type sharedLog struct {
	lock sync.Mutex
	text strings.Builder
}

func (s *sharedLog) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(p)
}

func (s *sharedLog) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}

// waiting sets the waits between attempts to write.
func waiting(t *testing.T, pause time.Duration) {
	before := pauses
	pauses = []time.Duration{pause, pause}
	t.Cleanup(func() { pauses = before })
}

// obstructed puts a folder where a file belongs, which nobody replaces, root neither.
func obstructed(t *testing.T, path string) {
	t.Helper()
	for errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "in the way"), 0o777)) != nil {
		// a run has just written it
	}
}

// eachRound calls a function after every round.
type eachRound struct {
	progress.Run
	do func(done int)
}

func (p eachRound) Round(done, active int) {
	p.Run.Round(done, active)
	p.do(done)
}

// until waits for the log to say something.
func until(t *testing.T, log *sharedLog, text string) {
	t.Helper()
	for range 500 {
		if strings.Contains(log.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("log %q, want %q in it", log, text)
}

// silent shows nobody how a run gets on.
func silent() progress.Run { return progress.New(io.Discard).Run("", progress.Work{}) }

// A run that diverged and could not be written has failed: it is no result to keep.
func TestIsDiverged(t *testing.T) {
	diverged := error(&divergedError{errors.New("loss NaN")})
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{diverged, true},
		{fmt.Errorf("seed 3: %w", diverged), true},
		{errors.Join(nil, errors.Join(diverged)), true},
		{errors.New("no space left on device"), false},
		{errors.Join(diverged, errors.New("no space left on device")), false},
		{fmt.Errorf("seed 3: %w", errors.Join(diverged, context.Canceled)), false},
	} {
		if got := IsDiverged(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}

	waiting(t, time.Millisecond)
	x, ses, _ := tinyExperiment(t, "lr=1e30", "method=mifa")
	if _, err := do(t.Context(), x, ses, eachRound{silent(), func(int) {
		obstructed(t, filepath.Join(x.Dir, results.CurveFile))
	}}); err == nil || IsDiverged(err) {
		t.Errorf("%v, want a failure", err)
	}
	info, err := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
	if err != nil || info.Status != results.RunFailed {
		t.Errorf("%v: %s, want failed", err, info.Status)
	}
}
