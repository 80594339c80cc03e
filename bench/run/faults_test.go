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

	"rollcall/algos"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/events"
	"rollcall/results/papers"
)

// tinySettings are those of a run of a fraction of a second; more follow, and win.
func tinySettings(t *testing.T, more ...string) settings.Settings {
	t.Helper()
	given := settings.Given{}
	for _, set := range append([]string{
		"method=fedawe", "data=leaf", "clients=4", "rounds=6", "local-steps=1", "batch=8", "eval-every=1", "lr=0.05",
	}, more...) {
		name, value, _ := strings.Cut(set, "=")
		given = append(given, algos.Setting{Name: name, Value: value})
	}
	s := must.Get(settings.Resolve(given))(t)
	return s
}

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
	log := &sharedLog{w: &strings.Builder{}}
	l := &Session{Machine: Machine{Device: "cpu", Threads: 1, Out: t.TempDir()}, Stderr: log}
	t.Cleanup(func() { _ = l.Close() })
	s := tinySettings(t, more...)
	return &Experiment{Table: "run", Settings: s, Seed: 3, Dir: Folder(l.Machine.Out, "run", s, 3)}, l, log
}

// do makes a run as a command without flags does, and returns the rows of its curve.
func do(ctx context.Context, x *Experiment, l *Session, p progress.Run) ([]results.CurveRow, error) {
	m, err := x.Do(ctx, l, Keep{}, p)
	return m.Rows, err
}

// sharedLog is a log of several writers; what one writes at once stays together.
type sharedLog struct {
	lock sync.Mutex
	w    io.Writer
}

func (s *sharedLog) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.w.Write(p)
}

func (s *sharedLog) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.w.(fmt.Stringer).String()
}

// faster makes the attempts to write follow one another at once.
func faster(t *testing.T) {
	before := pauses
	pauses = []time.Duration{time.Millisecond, time.Millisecond}
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

// A curve that cannot be written for a while is said, once for each reason, and costs nothing.
func TestCurveFileGoesOn(t *testing.T) {
	x, l, log := tinyExperiment(t)
	path := filepath.Join(x.Dir, results.CurveFile)
	p := eachRound{progress.New(io.Discard).Run("", progress.Work{}), func(done int) {
		switch done {
		case 1:
			obstructed(t, path)
		case 4:
			until(t, log, "tries again")
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	}}
	rows, err := do(t.Context(), x, l, p)
	if err != nil || len(rows) != 7 {
		t.Fatalf("%d rows, %v, want those of rounds 0 … 6", len(rows), err)
	}
	run, bad := results.ReadRunFolder(x.Dir)
	if len(bad) > 0 || run.Status() != results.RunComplete || len(run.Curve) != 7 {
		t.Errorf("%v, %s, %d rows, want a complete run", bad, run.Status(), len(run.Curve))
	}
	said := log.String()
	if strings.Count(said, "tries again") != 1 || strings.Count(said, "written again") != 1 ||
		!strings.Contains(said, path) {
		t.Errorf("log %q, want the trouble once, and its end", said)
	}
}

// Only the last version of a curve is needed: without it the run has failed, and says so.
func TestCurveFileFails(t *testing.T) {
	faster(t)
	x, l, log := tinyExperiment(t)
	rows, err := do(t.Context(), x, l, eachRound{silent(), func(done int) {
		if done == 1 {
			obstructed(t, filepath.Join(x.Dir, results.CurveFile))
		}
	}})
	if err == nil || !strings.Contains(err.Error(), results.CurveFile) || len(rows) != 7 {
		t.Errorf("%d rows, %v, want all of them and that the curve cannot be written", len(rows), err)
	}
	info, err := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
	if err != nil || info.Status != results.RunFailed || !strings.Contains(info.Error, results.CurveFile) ||
		info.Rounds != 6 {
		t.Errorf("%v: %s, %q, %d rounds, want it failed after 6", err, info.Status, info.Error, info.Rounds)
	}
	if said := log.String(); strings.Count(said, "tries again") != 1 {
		t.Errorf("log %q, want the trouble once", said)
	}
}

// The last version is tried a few times.
func TestCurveFileInsists(t *testing.T) {
	path := filepath.Join(t.TempDir(), results.CurveFile)
	obstructed(t, path)
	log := &sharedLog{w: &strings.Builder{}}
	f := newCurveFile(to(path), path, log)
	f.put([]results.CurveRow{{}})
	until(t, log, "tries again")
	go func() {
		time.Sleep(pauses[0] / 2)
		_ = os.RemoveAll(path)
	}()
	if err := f.close(t.Context()); err != nil {
		t.Errorf("%v, want the second attempt to do", err)
	}
	if rows, err := results.ReadCurve(path); len(rows) != 1 {
		t.Errorf("%d rows, %v, want 1", len(rows), err)
	}

	obstructed(t, filepath.Join(path+"2", "f"))
	f = newCurveFile(to(filepath.Join(path+"2", "f")), filepath.Join(path+"2", "f"), log)
	f.put([]results.CurveRow{{}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	if err := f.close(ctx); err == nil || time.Since(started) > pauses[0]/2 {
		t.Errorf("%v after %s, want an error, and no waiting where somebody interrupts", err, time.Since(started))
	}
}

// Another reason is said as well.
func TestCurveFileReasons(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(dir, results.CurveFile)
	log := &sharedLog{w: &strings.Builder{}}
	obstructed(t, path)
	f := newCurveFile(to(path), path, log)
	f.put([]results.CurveRow{{}})
	until(t, log, "tries again")
	must.OK(t, errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666)))
	f.put([]results.CurveRow{{}})
	until(t, log, "not a directory")
	must.OK(t, os.Remove(dir))
	if err := f.close(t.Context()); err != nil {
		t.Error(err)
	}
	if said := log.String(); strings.Count(said, "tries again") != 2 {
		t.Errorf("log %q, want each of two reasons once", said)
	}
}

// Events are for looking at; a run does not end over them.
func TestEventsFail(t *testing.T) {
	for _, when := range []string{"before", "on the way", "kept"} {
		x, l, log := tinyExperiment(t)
		l.Machine.Events = true
		path := filepath.Join(x.Dir, events.File)
		if when == "before" {
			obstructed(t, path)
		}
		p := eachRound{progress.New(io.Discard).Run("", progress.Work{}), func(int) {}}
		if when == "on the way" {
			must.OK(t, os.MkdirAll(x.Dir, 0o777))
			created := l.withEvents(p, x.Dir, time.Now(), nil)
			created.log = brokenLog(t)
			created.Evaluated(results.CurveRow{})
			created.Evaluated(results.CurveRow{})
			created.Stop()
		} else if _, err := do(t.Context(), x, l, p); err != nil {
			t.Errorf("%s: %v, want the run without events", when, err)
		}
		if when == "kept" {
			must.OK(t, os.Remove(path))
			obstructed(t, path)
			run, _ := results.ReadRunFolder(x.Dir)
			l.KeptEvents(&run)
		}
		if said := log.String(); strings.Count(said, "without events") != 1 {
			t.Errorf("%s: log %q, want it said once", when, said)
		}
	}
}

// brokenLog returns a log of events whose next write fails.
func brokenLog(t *testing.T) *events.Log {
	t.Helper()
	log := must.Get(events.Create(t.TempDir(), time.Now()))(t)
	must.OK(t, log.Close())
	return log
}

// onText calls a function when a text is written.
type onText struct {
	io.Writer
	text string
	do   func()
}

func (w onText) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.do()
	}
	return w.Writer.Write(p)
}

// A table whose summary cannot be written for a while goes on.
func TestSummaryGoesOn(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "sweep", results.SummaryFile)
	obstructed(t, path)
	var log strings.Builder
	p := NewPool(onText{&log, "the table continues", func() { _ = os.RemoveAll(path) }},
		Machine{Device: "cpu", Threads: 1, Out: out, AtOnce: 1}, Keep{})
	defer func() { _ = p.Close() }()
	table := papers.Sweep("sweep", "", []string{"fedawe", "mifa"}, []uint32{3})
	var cells []Cell
	for _, method := range []string{"fedawe", "mifa"} {
		cells = append(cells, Cell{Settings: tinySettings(t, "method="+method), Column: papers.Column{Data: "leaf"}})
	}
	done, err := p.Table(t.Context(), &table, cells)
	if err != nil || done.Failed > 0 {
		t.Fatalf("%v, %d failed, want none\n%s", err, done.Failed, &log)
	}
	rows, err := results.ReadSummary(path)
	if err != nil || len(rows) != 4 {
		t.Errorf("%d rows, %v, want those of two metrics of two cells\n%s", len(rows), err, &log)
	}
	if strings.Count(log.String(), "the table continues") != 1 {
		t.Errorf("log %q, want the trouble once", &log)
	}
}
