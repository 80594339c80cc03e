//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
)

// onDisk gives a run a disk of its own with room for so many bytes, if this process may mount one.
func onDisk(t *testing.T, x *Experiment, size string) {
	t.Helper()
	must.OK(t, os.MkdirAll(x.Dir, 0o777))
	if err := syscall.Mount("tmpfs", x.Dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(x.Dir, syscall.MNT_DETACH) })
}

// fill takes what room there is, and returns a function that gives it back.
func fill(t *testing.T, x *Experiment) (free func()) {
	path := filepath.Join(x.Dir, "filler")
	f, err := os.Create(path)
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want no space left", err)
	}
	_ = f.Close() // the disk is full
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// A disk without room for checkpoints costs the run nothing; that is said once.
func TestResumeNoRoomForCheckpoints(t *testing.T) {
	more := []string{
		"method=fedavg-active", "data=synthetic", "train-size=80", "test-size=20", "net=lenet5", "rounds=8",
	}
	whole, ses, _ := resumable(t, more...)
	want := completed(t, whole, ses)
	x, ses, log := resumable(t, more...)
	onDisk(t, x, "200k")
	ses.Machine.CheckpointEvery = 1
	sameOutcome(t, "small disk", completed(t, x, ses), want)
	const lost = "no space left on device: the run continues without this checkpoint\n"
	if n := strings.Count(log.String(), lost); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, log)
	}
}

// written waits until curve.csv has a row. Its writer then has no file in hand that would leave room on a full disk.
func written(t *testing.T, x *Experiment, round int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		rows, err := results.ReadCurve(filepath.Join(x.Dir, results.CurveFile))
		if err == nil && slices.ContainsFunc(rows, func(r results.CurveRow) bool { return r.Round == round }) {
			return
		}
	}
	t.Errorf("no row of round %d in a minute", round)
}

// A disk that gets full ends a run, or does not let it be interrupted in order; with room again it goes on to the same
// bytes. What was written before is whole.
func TestResumeDiskFull(t *testing.T) {
	waiting(t, time.Millisecond)
	whole, ses, _ := resumable(t)
	want := completed(t, whole, ses)
	for _, interrupt := range []bool{false, true} {
		x, ses, log := resumable(t)
		onDisk(t, x, "300k")
		interruptedAfter(t, x, ses, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		free := func() {}
		_, err := do(ctx, x, ses, eachRound{silent(), func(done int) {
			if done == 4 {
				written(t, x, 3)
				free = fill(t, x)
				if interrupt {
					cancel()
				}
			}
		}})
		if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) != interrupt {
			t.Errorf("interrupted %t: %v, want no space left", interrupt, err)
		}
		run, bad := results.ReadRunFolder(x.Dir)
		if len(bad) > 0 || run.Status() == results.RunComplete || len(run.Curve) < 2 {
			t.Errorf("interrupted %t: %v, %s, %d rows, want some rows of a run that is not complete",
				interrupt, bad, run.Status(), len(run.Curve))
		}
		free()
		sameOutcome(t, "room again", completed(t, x, ses), want)
		if n := strings.Count(log.String(), "resumes from round 2"); n != 2 {
			t.Errorf("interrupted %t: %d times from round 2, want 2:\n%s", interrupt, n, log)
		}
	}
}
