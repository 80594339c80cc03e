package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/internal/must"
	"rollcall/results"
)

// resumable returns a tiny run that leaves a checkpoint when it is interrupted, and none by itself.
func resumable(t *testing.T, more ...string) (*Experiment, *Session, *sharedLog) {
	t.Helper()
	x, ses, log := tinyExperiment(t, more...)
	ses.Machine.CheckpointEvery, ses.Machine.Grace = time.Hour, time.Minute
	return x, ses, log
}

// interruptedAfter makes a run, or goes on with it, until a round is done.
func interruptedAfter(t *testing.T, x *Experiment, ses *Session, round int) {
	t.Helper()
	interruptedAt(t, x, ses, Keep{}, round)
}

func interruptedAt(t *testing.T, x *Experiment, ses *Session, keep Keep, round int) {
	t.Helper()
	x.Was = folder.StampOf(x.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := x.Do(ctx, ses, keep, eachRound{silent(), func(done int) {
		if done == round {
			cancel()
		}
	}})
	info, bad := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
	// One less where the row of that round is an earlier process's, which has not come again.
	if !errors.Is(err, context.Canceled) || bad != nil || info.Status != results.RunInterrupted ||
		info.Rounds < round-1 {
		t.Fatalf("%v; %v, %s after %d rounds, want it interrupted after %d", err, bad, info.Status, info.Rounds, round)
	}
}

// completed makes a run to its end, and returns its files.
func completed(t *testing.T, x *Experiment, ses *Session) map[string]string {
	t.Helper()
	must.Get(do(t.Context(), x, ses, silent()))(t)
	return outcomeOf(t, x.Dir)
}

// outcomeOf returns the files of a complete run by name, with no times in them.
func outcomeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	run, bad := results.ReadRunFolder(dir)
	if len(bad) > 0 || run.Status() != results.RunComplete {
		t.Fatalf("%s: %s, %v, want it complete", dir, run.Status(), bad)
	}
	tree := map[string]string{}
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue // its lock, what was moved aside, and what no run has written
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Name() == results.RunFile:
			text = nil
			for name, sum := range run.Info.Checksums {
				if name != results.RunFile {
					text = fmt.Appendln(text, name, sum)
				}
			}
			slices.Sort(text)
		case e.Name() == results.CurveFile:
			text = nil
			for _, r := range run.Curve {
				r.ElapsedSec = 0
				text = fmt.Appendln(text, r)
			}
		}
		tree[e.Name()] = string(text)
	}
	return tree
}

func sameOutcome(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range got {
		if _, found := want[name]; !found {
			t.Errorf("%s: %s is left over", what, name)
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s:\n%s\nwant\n%s", what, name, got[name], text)
		}
	}
}

// Every method goes on from its checkpoints to the bytes of a run that nobody interrupted: after the first round, in
// the middle, and before the last row.
func TestResume(t *testing.T) {
	for _, method := range algos.Names() {
		t.Run(method, func(t *testing.T) {
			more := append(ratesOf(t, method), "method="+method, "momentum=0.5", "availability=markov")
			if method == "ca-fed" {
				more = append(more, "fstar=min")
			}
			whole, ses, _ := resumable(t, more...)
			want := completed(t, whole, ses)
			x, ses, log := resumable(t, more...)
			for _, round := range []int{1, 4, 6} {
				interruptedAfter(t, x, ses, round)
			}
			sameOutcome(t, method, completed(t, x, ses), want)
			for _, round := range []int{1, 4, 6} {
				said := fmt.Sprintf("%s: resumes from round %d\n", x.Dir, round)
				if strings.Count(log.String(), said) != 1 {
					t.Errorf("log %q, want %q once", log, said)
				}
			}
		})
	}
}

// What else a run leaves comes about as well: decisions, clients, models; so do runs of rounds without anybody, and of
// rounds that are not evaluated.
func TestResumeAllFiles(t *testing.T) {
	for name, c := range map[string]struct {
		more   []string
		change func(x *Experiment)
		files  []string
	}{
		"decisions": {
			[]string{"method=ca-fed"},
			func(x *Experiment) { x.Decisions = true },
			[]string{results.DecisionsFile},
		},
		"models": {
			nil, func(x *Experiment) { x.SaveModel = SaveAll }, []string{results.ModelFile, results.ClientModelFile(0)},
		},
		"two classes": {[]string{
			"method=fedar", "data=synthetic", "train-size=80", "test-size=20", "net=lenet5", "split=two-class",
		}, nil, []string{results.ClientsFile}},
		"nobody":   {[]string{"p=0.1"}, nil, nil},
		"few rows": {[]string{"eval-every=4"}, nil, nil},
		"batch norm": {[]string{
			"data=synthetic", "train-size=8", "test-size=2", "net=resnet20", "batch=2", "clients=2", "eval-every=6",
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			whole, ses, _ := resumable(t, c.more...)
			x, l2, log := resumable(t, c.more...)
			if c.change != nil {
				c.change(whole)
				c.change(x)
			}
			want := completed(t, whole, ses)
			for _, round := range []int{2, 5} {
				interruptedAfter(t, x, l2, round)
			}
			sameOutcome(t, name, completed(t, x, l2), want)
			if !strings.Contains(log.String(), "resumes from round 5") {
				t.Errorf("log %q, want it to go on from round 5", log)
			}
			for _, file := range c.files {
				if want[file] == "" {
					t.Errorf("no %s, want it: the test is of nothing", file)
				}
			}
		})
	}
}

// A run of one round, one that is interrupted before its first row, and one whose last evaluation is.
func TestResumeAtTheEdges(t *testing.T) {
	whole, ses, _ := resumable(t, "rounds=1")
	want := completed(t, whole, ses)
	x, ses, _ := resumable(t, "rounds=1")
	ctx, cancel := context.WithCancel(t.Context())
	_ = ses.Open(ctx, &x.Settings, x.Seed)
	cancel()
	if _, err := do(ctx, x, ses, silent()); !errors.Is(err, context.Canceled) {
		t.Errorf("before the first row: %v, want it cancelled", err)
	}
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || len(rounds) > 0 {
		t.Errorf("before the first row: checkpoints of %v, %v, want none", rounds, err)
	}
	interruptedAfter(t, x, ses, 1)
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || !slices.Equal(rounds, []int{1}) {
		t.Errorf("before the last row: checkpoints of %v, %v, want one of round 1", rounds, err)
	}
	sameOutcome(t, "one round", completed(t, x, ses), want)
}

// Killed between its last row and run.json, a run makes nothing but the rest; so does one killed while it is tidied up.
func TestResumeComplete(t *testing.T) {
	x, ses, log := resumable(t)
	ses.Machine.KeepCheckpoints = true
	for _, round := range []int{2, 4, 6} {
		interruptedAfter(t, x, ses, round)
	}
	want := completed(t, x, ses)
	must.OK(t, os.Remove(filepath.Join(x.Dir, results.RunFile)))
	sameOutcome(t, "without run.json", completed(t, x, ses), want)
	if n := strings.Count(log.String(), "resumes from round 6"); n != 2 {
		t.Errorf("%d times from round 6, want 2\n%s", n, log)
	}
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || !slices.Equal(rounds, []int{6, 4}) {
		t.Errorf("checkpoints of %v, %v, want the last two kept", rounds, err)
	}
	ses.Machine.KeepCheckpoints = false
	must.Get(do(t.Context(), x, ses, silent()))(t)
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || len(rounds) > 0 {
		t.Errorf("checkpoints of %v, %v, want none", rounds, err)
	}
}

// --checkpoint-every 0 leaves none, and a run that comes to a loss that is no number leaves none either.
func TestNoCheckpoints(t *testing.T) {
	x, ses, _ := resumable(t)
	ses.Machine.CheckpointEvery = 0
	interruptedAfter(t, x, ses, 3)
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || len(rounds) > 0 {
		t.Errorf("checkpoints of %v, %v, want none", rounds, err)
	}
	x, ses, log := resumable(t, "method=mifa", "lr=3e38")
	interruptedAfter(t, x, ses, 1)
	if _, err := do(t.Context(), x, ses, silent()); !IsDiverged(err) ||
		!strings.Contains(log.String(), "resumes from round 1") {
		t.Errorf("%v, want it to go on and diverge\n%s", err, log)
	}
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || len(rounds) > 0 {
		t.Errorf("diverged: checkpoints of %v, %v, want none", rounds, err)
	}
}

// The time between two processes of a run is no time of the run.
func TestElapsedCountsNoPause(t *testing.T) {
	const pause = 300 * time.Millisecond
	x, ses, _ := resumable(t)
	began := time.Now()
	interruptedAfter(t, x, ses, 3)
	worked := time.Since(began)
	time.Sleep(pause)
	began = time.Now()
	rows, err := do(t.Context(), x, ses, silent())
	worked += time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, r := range rows {
		if r.ElapsedSec < last || r.ElapsedSec > worked.Seconds() {
			t.Errorf("round %d: elapsed %g s after %g s, want no step back and %g s at most",
				r.Round, r.ElapsedSec, last, worked.Seconds())
		}
		last = r.ElapsedSec
	}
}

// A folder with something in it that has the name of a checkpoint costs that checkpoint alone, and stays as it is.
func TestResumeFolderInTheWay(t *testing.T) {
	x, ses, _ := resumable(t, "method=fedavg-active")
	interruptedAfter(t, x, ses, 2)
	path := filepath.Join(x.Dir, checkpoint.Name(4))
	obstructed(t, path)
	interruptedAfter(t, x, ses, 4)
	rows, err := do(t.Context(), x, ses, silent())
	if err != nil || len(rows) != 7 {
		t.Errorf("%d rows, %v, want all of them", len(rows), err)
	}
	if _, err := os.Stat(filepath.Join(path, "in the way")); err != nil {
		t.Errorf("%v, want the folder as it was", err)
	}
}

// A run that stops on the way is no finished run to others, is kept by whoever stops there or before, and goes on to
// the bytes of a run that never stopped.
func TestStopAt(t *testing.T) {
	whole, ses, _ := resumable(t)
	want := completed(t, whole, ses)
	rounds := whole.Settings.Rounds
	x, ses, _ := resumable(t)
	for _, stop := range []int{1, 1, 3} {
		x.StopAt = &stop
		rows, err := do(t.Context(), x, ses, silent())
		info, bad := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
		if err != nil || bad != nil || info.Status != results.RunInterrupted || info.Rounds != stop ||
			rows[len(rows)-1].Round != stop {
			t.Fatalf("stop at %d: %v; %v, %s after %d rounds, row of round %d", stop, err, bad, info.Status,
				info.Rounds, rows[len(rows)-1].Round)
		}
		if at, err := checkpoint.Rounds(x.Dir); err != nil || len(at) == 0 || at[0] != stop {
			t.Errorf("stop at %d: checkpoints of %v, %v, want one of that round", stop, at, err)
		}
	}
	for _, c := range []struct {
		stop *int
		kept bool
	}{{new(1), true}, {new(3), true}, {new(4), false}, {nil, false}} {
		x.StopAt = c.stop
		_, d, _, err := x.decide(t.Context(), ses, Keep{}, folder.Policy{}, false)
		if _, kept := d.(folder.Keep); err != nil || kept != c.kept {
			t.Errorf("want %+v: %T, %v, of a run that stopped at 3 of %d rounds", c, d, err, rounds)
		}
	}
	// Beyond its rounds, a run is complete.
	x.StopAt = new(rounds + 1)
	sameOutcome(t, "after two stops", completed(t, x, ses), want)
}
