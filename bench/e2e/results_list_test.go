package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/bench/run/checkpoint"
	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// begunRun writes a run of 9 rounds that stands at round 2, without an end.
func begunRun(t *testing.T, out string, seed uint32) (dir string) {
	t.Helper()
	return resultstest.WriteRun(t, out, resultstest.SmallRun{
		Table: "run", Method: "mifa", Seed: seed, Acc: []float64{0.1, 0.2, 0.3 + float64(seed)/100}, Rounds: 9,
	})
}

// hold locks the folders of runs for the test's own process, until release is called.
func hold(t *testing.T, dirs ...string) (release func()) {
	t.Helper()
	var locks []*lock.Lock
	for _, dir := range dirs {
		locks = append(locks, must.Get(lock.Take(dir, lock.Holder{}))(t))
	}
	release = sync.OnceFunc(func() {
		for _, l := range locks {
			if err := l.Release(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(release)
	return release
}

// saved writes a checkpoint that says of itself where it is, and no more.
func saved(t *testing.T, dir string, round int) {
	t.Helper()
	must.OK(t, os.MkdirAll(dir, 0o777))
	c := &checkpoint.Content{About: checkpoint.About{Round: round, Rounds: 9}}
	must.OK(t, checkpoint.Write(t.Context(), filepath.Join(dir, checkpoint.Name(round)), c, nil))
}

// locked writes the text of a lock that nobody here holds.
func locked(t *testing.T, dir, host string) {
	t.Helper()
	text := must.Get(json.Marshal(lock.Holder{Host: host, PID: 1, Round: 7, Rounds: 9, Time: time.Now()}))(t)
	must.OK(t, os.WriteFile(filepath.Join(dir, lock.File), text, 0o666))
}

// A list tells runs at work from those that were killed, and how far each is.
func TestListProgress(t *testing.T) {
	host := must.Get(os.Hostname())(t)
	me := fmt.Sprintf("%d@%s", os.Getpid(), host)
	for name, c := range map[string]struct {
		make                         func(t *testing.T, dir string)
		rounds, total, status, other string
	}{
		"killed":        {func(*testing.T, string) {}, "2", "", "unfinished", ""},
		"killed, saved": {func(t *testing.T, dir string) { saved(t, dir, 5) }, "5", "9", "unfinished", ""},
		"running":       {func(t *testing.T, dir string) { hold(t, dir) }, "2", "", "running", me},
		"running, resumed": {
			func(t *testing.T, dir string) { saved(t, dir, 5); hold(t, dir) }, "5", "9", "running", me,
		},
		"killed, its lock": {func(t *testing.T, dir string) { locked(t, dir, host) }, "2", "", "unfinished", ""},
		"on another host":  {func(t *testing.T, dir string) { locked(t, dir, "far") }, "7", "9", "running", "1@far"},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			c.make(t, begunRun(t, out, 3))
			_, rows := table(t, pass(t, "results", "list", out, "--format", "csv").stdout)
			r := rows[0]
			if len(rows) != 1 || r["rounds"] != c.rounds || r["rounds_total"] != c.total || r["status"] != c.status ||
				r["process"] != c.other {
				t.Errorf("%v, want rounds %s of %q, %s, process %q", rows, c.rounds, c.total, c.status, c.other)
			}
		})
	}
}

// A run counts before it has a curve: with the names of its cell, or those of its folder.
func TestListBegun(t *testing.T) {
	out := t.TempDir()
	dir := begunRun(t, out, 3)
	hold(t, filepath.Join(filepath.Dir(dir), "seed-4"))
	saved(t, filepath.Join(out, "fedawe-2", "fedawe_svhn_sine_0123456789", "seed-12"), 4)
	for _, none := range []string{"seed-5", "seed-x", ".hidden/seed-6"} {
		must.OK(t, os.MkdirAll(filepath.Join(filepath.Dir(dir), none), 0o777))
	}
	_, rows := table(t, pass(t, "results", "list", out, "--format", "csv").stdout)
	if len(rows) != 2 || rows[0]["seeds"] != "3 4" || rows[0]["status"] != "1 running, 1 unfinished" ||
		rows[0]["net"] != "cnn-cifar10" {
		t.Errorf("%v, want seeds 3 and 4 of one cell first, the second running", rows)
	}
	if r := rows[len(rows)-1]; r["table"] != "fedawe-2" || r["method"] != "fedawe" || r["data"] != "svhn" ||
		r["availability"] != "sine" || r["seeds"] != "12" || r["rounds"] != "4" || r["rounds_total"] != "9" {
		t.Errorf("%v, want seed 12 of fedawe svhn sine after 4 of 9 rounds", r)
	}
}

func TestListFailed(t *testing.T) {
	out := t.TempDir()
	saved(t, begunRun(t, out, 3), 5)
	begunRun(t, out, 4)
	hold(t, begunRun(t, out, 5))
	damaged := begunRun(t, out, 6)
	must.OK(t, os.WriteFile(filepath.Join(damaged, results.RunFile), []byte("{"), 0o666))
	empty := filepath.Join(filepath.Dir(damaged), "seed-7")
	must.OK(t, os.MkdirAll(empty, 0o777))
	must.OK(t, os.WriteFile(filepath.Join(empty, results.CurveFile), nil, 0o666))
	pass(t, small(out)...)
	if o := rollcall(t, small(out, "--method", "mifa", "--lr", "1e30")...); o.status != statusFailure {
		t.Fatalf("status %d, want a run that diverges\n%s", o.status, o.stderr)
	}
	o := rollcall(t, "results", "list", out, "--failed", "--format", "csv")
	if o.status != statusFailure || !strings.Contains(o.stderr, damaged) {
		t.Errorf("status %d, stderr %q, want 1 and %s named", o.status, o.stderr, damaged)
	}
	_, rows := table(t, o.stdout)
	want := []struct{ seeds, status, why string }{
		{"3", "unfinished", "resume from round 5"},
		{"4", "unfinished", "start it again"},
		{"6", "damaged", "run.json"},
		{"7", "damaged", "seed-7"},
		{"3", "diverged", "finite"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows %v, want %d", len(rows), rows, len(want))
	}
	for i, w := range want {
		if r := rows[i]; r["seeds"] != w.seeds || r["status"] != w.status || !strings.Contains(r["error"], w.why) {
			t.Errorf("row %d: %v, want seed %s, %s: … %s", i, r, w.seeds, w.status, w.why)
		}
	}
	if o := pass(t, "results", "list", t.TempDir(), "--failed"); o.stdout != "" {
		t.Errorf("without runs: %q, want nothing", o.stdout)
	}
}

// writesOnly hides the other ways to write that a buffer has.
type writesOnly struct{ io.Writer }

// A watched list ends by itself when nothing is running any more, and says what has changed meanwhile.
func TestListWatch(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out)...)
	plain := pass(t, "results", "list", out).stdout
	if got := pass(t, "results", "list", "--watch", out).stdout; got != plain {
		t.Errorf("nothing at work: %q, want the list once: %q", got, plain)
	}
	dir := begunRun(t, out, 3)
	release := hold(t, dir)
	var stderr bytes.Buffer
	stdout := &trigger{text: "running", do: release}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status := cli.Run(ctx, []string{"results", "list", "--watch", out}, writesOnly{stdout}, &stderr)
	lists := strings.Split(stdout.String(), "\n\n")
	if status != statusOK || len(lists) != 2 || !strings.Contains(lists[0], "running") ||
		!strings.Contains(lists[1], "unfinished") || strings.Contains(lists[1], "running") {
		t.Errorf("status %d, %q, %s, want 0 and two lists, the second without a run at work", status, lists, &stderr)
	}
}

// Ctrl-C ends it at once.
func TestListWatchInterrupted(t *testing.T) {
	out := t.TempDir()
	hold(t, begunRun(t, out, 3))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stdout := &trigger{text: "running", do: cancel}
	began := time.Now()
	var stderr bytes.Buffer
	status := cli.Run(ctx, []string{"results", "list", "--watch", out}, writesOnly{stdout}, &stderr)
	if took := time.Since(began); status != statusInterrupted || took > 2*time.Second {
		t.Errorf("status %d after %s, want %d before the next look", status, took, statusInterrupted)
	}
}
