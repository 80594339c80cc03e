package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// One CSV holds all rows of all runs that are whole, with the settings of each run.
func TestResultsCurves(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--method", "fedawe")...)
	pass(t, small(out, "--method", "mifa")...)
	curves := func(status int, folders ...string) (header []string, rows []map[string]string) {
		t.Helper()
		o := rollcall(t, append([]string{"results", "curves"}, folders...)...)
		if o.status != status {
			t.Fatalf("status %d, want %d\n%s", o.status, status, o.stderr)
		}
		return table(t, o.stdout)
	}
	header, rows := curves(statusOK, out)
	of, _ := table(t, contents(t, only(t, out, "run/mifa_*/seed-3/curve.csv")))
	settings := header[min(len(header), len(of)+2):]
	if want := append(of, "status", "folder"); !slices.Equal(header[:len(header)-len(settings)], want) {
		t.Errorf("columns %q, want first %q", header, want)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(header))); len(unique) != len(header) {
		t.Errorf("columns %q, want each once", header)
	}
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 2 runs of rounds 0, 1 and 2", len(rows))
	}
	for name, want := range map[string][2]string{ // of fedawe and mifa
		"method": {"fedawe", "mifa"}, "round": {"2", "2"}, "seed": {"3", "3"}, "status": {"complete", "complete"},
		"batch": {"8", "8"}, "eval-train": {"true", "true"}, "eval-last": {"none", "none"},
		"fedawe-model": {"mean", ""}, "settings.lr": {"0.1", "0.05"},
	} {
		if got := [2]string{rows[2][name], rows[5][name]}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if folder := rows[5]["folder"]; folder != filepath.Dir(only(t, out, "run/mifa_*/seed-3/curve.csv")) {
		t.Errorf("folder %q, want the run's", folder)
	}
	t.Run("unfinished", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		must.OK(t, os.CopyFS(dir, os.DirFS(out)))
		must.OK(t, os.Remove(only(t, dir, "run/mifa_*/seed-3/run.json")))
		_, rows := curves(statusOK, dir)
		if r := rows[5]; len(rows) != 6 || r["status"] != "unfinished" || r["batch"] != "" ||
			!strings.Contains(r["params"], "batch=8") {
			t.Errorf("%d rows, the last %v, want 6, unfinished, without settings", len(rows), r)
		}
	})
	t.Run("empty", func(t *testing.T) {
		if header, rows := curves(statusOK, t.TempDir()); !slices.Equal(header, append(of, "status", "folder")) ||
			rows != nil {
			t.Errorf("columns %q, rows %v, want those of every run, and no row", header, rows)
		}
	})
	none := filepath.Join(out, "none")
	oneLineError(t, rollcall(t, "results", "curves", none), statusFailure, none, "no such file")
}

// foreign makes of every run below from a run of a method that this program does not know, as a program with that
// method leaves it, in the same tables below into.
func foreign(t *testing.T, from, into string) {
	t.Helper()
	runs, _ := must.Get2(results.FindRuns(t.Context(), from))(t)
	for _, r := range runs {
		for i := range r.Curve {
			row := &r.Curve[i]
			row.Method, row.Params = "fedaum", "fedaum-beta=0.3;"+row.Params
		}
		info := *r.Info
		settings := info.Settings.(map[string]any)
		settings["method"], settings["fedaum-beta"], settings["method-sha256"] = "fedaum", "0.3", "12345e67"
		cell := results.CellFolder(r.Curve[0].Setup, results.Hash(settings))
		dir := filepath.Join(into, r.Table, cell, filepath.Base(r.Dir))
		must.OK(t, results.WriteCurve(filepath.Join(dir, results.CurveFile), r.Curve))
		must.OK(t, results.WriteRunInfo(filepath.Join(dir, results.RunFile), info, nil))
	}
}

// Reading results needs no method: runs of a method that this program lacks are read as any others.
func TestResultsOfUnknownMethod(t *testing.T) {
	from, out, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "into")
	writeTinyData(t, from)
	t.Setenv("ROLLCALL_DATA", filepath.Join(from, "data"))
	const (
		tiny    = " --methods fedavg-active --availability sine --rounds 3 --clients 6 --device cpu --out "
		leaf    = "sweep --data leaf --eval-every 1 --seeds 3,4" + tiny
		crossed = "sweep --data leaf --eval-every 1 --name crossed --crossed 5" + tiny
		paper   = "table fedawe-2 --data svhn --allow-altered --seeds 3,4" + tiny
	)
	for _, line := range []string{leaf, crossed, paper} {
		pass(t, strings.Fields(line+from)...)
	}
	foreign(t, from, out)
	cell := filepath.Dir(filepath.Dir(only(t, out, "sweep/fedaum_*/seed-3/curve.csv")))
	for _, c := range []struct{ line, want string }{ // in their order
		{"results list " + out, "fedaum"},
		{"results list --failed " + out, ""},
		{"results show " + cell, "fedaum-beta"},
		{"results curves " + out, "fedaum-beta"},
		{"results verify " + out, "29 runs: 29 complete"},
		{"results diff " + out + " " + out, "fedaum"},
		{"results diff " + out + "/sweep " + from + "/sweep --ignore method,params", "1 rows"},
		{"results power " + out + "/crossed", "fedaum"},
		{"results merge " + out + " " + from + " --out " + into, "58 runs copied"},
		{"results summarise sweep " + into + "/sweep", "4 runs"},
		{"results export sweep " + into, "| fedaum fedaum-beta=0.3 |"},
		{"results export fedawe-2 --printed " + into, "| fedaum fedaum-beta=0.3 |"},
		{"results compare fedawe-2 " + into, "fedaum"},
		{"report " + into + " --to " + into + "/report", "58 runs"},
		{leaf + into, "fedavg-active"}, // keeps what is there, and summarises all of it
		{paper + into, "fedavg-active"},
	} {
		o := rollcall(t, strings.Fields(c.line)...)
		if o.status != statusOK || !strings.Contains(o.stdout, c.want) {
			t.Errorf("rollcall %s: status %d\n%s%s\nwant status 0, %q", c.line, o.status, o.stdout, o.stderr, c.want)
		}
	}
	for _, table := range []string{"sweep", "fedawe-2"} {
		if text := contents(t, filepath.Join(into, table, results.SummaryFile)); !strings.Contains(text, ",fedaum,") {
			t.Errorf("summary of %s\n%s\nwant fedaum in it", table, text)
		}
	}
}
