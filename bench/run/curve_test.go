package run

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/events"
)

// The file ends with the newest version, whatever was skipped, and rows that come later change none handed over.
func TestCurveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), results.CurveFile)
	f := newCurveFile(to(path), path, io.Discard)
	var rows []results.CurveRow
	for round := range 200 {
		rows = append(rows, results.CurveRow{Round: round})
		f.put(rows)
	}
	must.OK(t, f.close(t.Context()))
	got := must.Get(results.ReadCurve(path))(t)
	if len(got) != 200 || got[199].Round != 199 {
		t.Errorf("%d rows, want 200 with round 199 the last", len(got))
	}
}

func to(path string) func([]results.CurveRow) error {
	return func(rows []results.CurveRow) error { return results.WriteCurve(path, rows) }
}

// A curve that cannot be written for a while is said, once for each reason, and costs nothing.
func TestCurveFileGoesOn(t *testing.T) {
	x, ses, log := tinyExperiment(t)
	path := filepath.Join(x.Dir, results.CurveFile)
	p := eachRound{silent(), func(done int) {
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
	rows, err := do(t.Context(), x, ses, p)
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
	waiting(t, time.Millisecond)
	x, ses, log := tinyExperiment(t)
	rows, err := do(t.Context(), x, ses, eachRound{silent(), func(done int) {
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

// Another reason is said as well. The last version is tried a few times, but not once somebody interrupts.
func TestCurveFileReasons(t *testing.T) {
	waiting(t, time.Millisecond)
	dir := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(dir, results.CurveFile)
	log := &sharedLog{}
	obstructed(t, path)
	f := newCurveFile(to(path), path, log)
	f.put([]results.CurveRow{{}})
	until(t, log, "tries again")
	must.OK(t, errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666)))
	f.put([]results.CurveRow{{}})
	until(t, log, "not a directory")
	must.OK(t, os.Remove(dir))
	must.OK(t, f.close(t.Context()))
	if rows, err := results.ReadCurve(path); len(rows) != 1 {
		t.Errorf("%d rows, %v, want the second attempt to write 1", len(rows), err)
	}
	if said := log.String(); strings.Count(said, "tries again") != 2 {
		t.Errorf("log %q, want each of two reasons once", said)
	}

	waiting(t, time.Hour)
	obstructed(t, path)
	f = newCurveFile(to(path), path, log)
	f.put([]results.CurveRow{{}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	if err := f.close(ctx); err == nil || time.Since(started) > time.Minute {
		t.Errorf("%v after %s, want an error at once", err, time.Since(started))
	}
}

// Events are for looking at; a run does not end over them.
func TestEventsFail(t *testing.T) {
	for _, when := range []string{"before", "on the way", "kept"} {
		x, ses, log := tinyExperiment(t)
		ses.Machine.Events = true
		path := filepath.Join(x.Dir, events.File)
		if when == "before" {
			obstructed(t, path)
		}
		p := eachRound{silent(), func(int) {}}
		if when == "on the way" {
			must.OK(t, os.MkdirAll(x.Dir, 0o777))
			created := ses.withEvents(p, x.Dir, results.RunInfo{}, nil)
			created.log = must.Get(events.Create(t.TempDir(), results.RunInfo{}))(t)
			must.OK(t, created.log.Close()) // the next write fails
			created.Evaluated(results.CurveRow{})
			created.Evaluated(results.CurveRow{})
			created.ended(results.RunInfo{}, nil)
			created.Stop()
			created.close()
		} else if _, err := do(t.Context(), x, ses, p); err != nil {
			t.Errorf("%s: %v, want the run without events", when, err)
		}
		if when == "kept" {
			must.OK(t, os.Remove(path))
			obstructed(t, path)
			run, _ := results.ReadRunFolder(x.Dir)
			ses.KeptEvents(&run)
		}
		if said := log.String(); strings.Count(said, "without events") != 1 {
			t.Errorf("%s: log %q, want it said once", when, said)
		}
	}
}
