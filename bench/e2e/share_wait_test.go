//go:build unix

package e2e

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

// notWaitedFor ends the log of a command that leaves runs to others.
const notWaitedFor = "other workers train runs that were not waited for: repeat the command to resume\n"

// Without waiting a command ends when there is nothing left to begin, and says what others make. What they have ended
// meanwhile it has.
func TestNoWait(t *testing.T) {
	t.Run("sweep", func(t *testing.T) {
		out := t.TempDir()
		line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4", "--no-wait")
		pass(t, line...)
		held := filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json"))
		for _, dir := range []string{held, filepath.Dir(only(t, out, "sweep/fedawe_*/seed-4/run.json"))} {
			must.OK(t, os.RemoveAll(dir))
		}
		release := hold(t, held)
		o := rollcall(t, line...)
		want := "\nrollcall: table sweep: 1 run of 1 cell: " + notWaitedFor
		if o.status != statusTimeUp || !strings.HasSuffix(o.stderr, want) || strings.Contains(o.stderr, "waits for") {
			t.Errorf("status %d, want 75 and %q:\n%s", o.status, want, o.stderr)
		}
		if got := strings.Join(begun(o.stderr), ", "); got != "fedawe leaf stationary seed 4" {
			t.Errorf("begun: %q, want the run that nobody has", got)
		}
		if !strings.Contains(o.stdout, fmt.Sprintf("] running: trained by process %d on host ", os.Getpid())) {
			t.Errorf("stdout, want who makes a run:\n%s", o.stdout)
		}
		_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
		for _, row := range rows {
			if want := map[string]string{"mifa": "1", "fedawe": "2"}[row["method"]]; row["n"] != want ||
				len(rows) != 4 {
				t.Errorf("%d rows, %s with n = %s, want 4 with n = %s", len(rows), row["method"], row["n"], want)
			}
		}
		release()
		if o := pass(t, line...); strings.Contains(o.stderr, "not waited for") || len(begun(o.stderr)) != 1 {
			t.Errorf("want the run that is free now, and nothing left out:\n%s", o.stderr)
		}
	})
	t.Run("given back meanwhile", func(t *testing.T) {
		out := t.TempDir()
		line := shareSweep(out, "--methods", "mifa,fedawe", "--no-wait")
		pass(t, line...)
		must.OK(t, os.RemoveAll(filepath.Dir(only(t, out, "sweep/fedawe_*/seed-3/run.json"))))
		release := hold(t, filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))
		stderr := &trigger{text: "fedawe leaf stationary seed 3: round 0/", do: release}
		status := cli.Run(t.Context(), line, io.Discard, stderr)
		if status != statusOK || strings.Contains(stderr.String(), "not waited for") {
			t.Errorf("status %d, want 0 and that nothing is left to others:\n%s", status, stderr)
		}
	})
	t.Run("figure", func(t *testing.T) {
		out := t.TempDir()
		line := []string{
			"figure", "cafed-i2", "--rounds", "3", "--clients", "6", "--seeds", "3,4", "--device", "cpu", "--no-wait",
			"--out", out,
		}
		pass(t, line...)
		svg := filepath.Join(out, "cafed-i2", "cafed-i2.svg")
		must.OK(t, os.Remove(svg))
		hold(t, filepath.Join(out, seedFolders(t, out)[0]), filepath.Join(out, seedFolders(t, out)[1]))
		o := rollcall(t, line...)
		want := "rollcall: figure cafed-i2: other workers train 2 runs of 1 line: " + notWaitedFor
		if o.status != statusTimeUp || !strings.HasSuffix(o.stderr, want) || o.stdout != "" {
			t.Errorf("status %d, stdout %q, want 75, nothing and %q:\n%s", o.status, o.stdout, want, o.stderr)
		}
		if _, err := os.Stat(svg); err == nil {
			t.Error("it is drawn, want that it is not")
		}
	})
}

// A command that waits for others says for whom, once, and ends when it is asked to.
func TestWaitInterrupted(t *testing.T) {
	for _, line := range []string{
		"sweep --methods mifa --data leaf --clients 5 --rounds 2 --seeds 3,4,5 --pack 2",
		"run --method mifa --data leaf --clients 5 --rounds 2",
	} {
		name, _, _ := strings.Cut(line, " ")
		t.Run(name, func(t *testing.T) {
			ofProcesses(t)
			out := t.TempDir()
			args := append(strings.Fields(line), "--device", "cpu", "--out", out)
			pass(t, args...)
			var dirs []string
			for _, dir := range seedFolders(t, out) {
				dirs = append(dirs, filepath.Join(out, dir))
			}
			hold(t, dirs...)
			c := startChild(t, "", args...)
			c.until(t, "waits for ")
			time.Sleep(2500 * time.Millisecond) // in which it looks twice, and says nothing more
			asked := time.Now()
			must.OK(t, c.Process.Signal(syscall.SIGINT))
			log := c.end(t, statusInterrupted)
			t.Logf("ended %s after it was asked to", time.Since(asked))
			if n := strings.Count(log, "waits for"); n != 1 || !strings.HasSuffix(log, "\nrollcall: interrupted\n") {
				t.Errorf("said %d times that it waits, want once, and that it was interrupted:\n%s", n, log)
			}
			if n := strings.Count(log, "\n"); n != 2 {
				t.Errorf("%d lines, want 2:\n%s", n, log)
			}
		})
	}
}

// With --again a run is made anew even if another process has it while the command runs, but only looks at it.
func TestAgain(t *testing.T) {
	out := t.TempDir()
	line := shareSweep(out, "--methods", "mifa", "--seeds", "3,4")
	pass(t, line...)
	before := contentsBelow(t, out, results.RunFile)
	release := hold(t, filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))
	stderr := &trigger{text: "seed 4: round 100/100", do: release}
	if status := cli.Run(t.Context(), append(line, "--again"), io.Discard, stderr); status != statusOK {
		t.Fatalf("status %d, want 0:\n%s", status, stderr)
	}
	for name, text := range contentsBelow(t, out, results.RunFile) {
		if before[name] == text {
			t.Errorf("%s is as it was, want the run anew:\n%s", name, stderr)
		}
	}
	runs := strings.Join(begun(stderr.String()), ", ")
	if runs != "mifa leaf stationary seed 4, mifa leaf stationary seed 3" {
		t.Errorf("begun: %q, want both, seed 3 when it is free:\n%s", runs, stderr)
	}
}

// Where nothing can be locked a finished run is kept, and no other is made: the error says why.
func TestUnlockable(t *testing.T) {
	for _, c := range []struct {
		command     string
		line        []string
		path, other string // of a run, and of one that is not there
	}{
		{"run", small("", "--seed", "3"), "run/*/seed-3", "--seed=4"},
		{"sweep", shareSweep("", "--methods", "mifa", "--seeds", "3"), "sweep/*/seed-3", "--seeds=4"},
	} {
		t.Run(c.command, func(t *testing.T) {
			out := t.TempDir()
			line := append(c.line, "--out", out)
			pass(t, line...)
			dir := only(t, out, c.path)
			must.OK(t, os.Remove(filepath.Join(dir, lock.File)))
			before := contentsBelow(t, out, "")
			for _, dir := range []string{dir, filepath.Join(filepath.Dir(dir), "seed-4")} {
				must.OK(t, os.MkdirAll(filepath.Join(dir, lock.File), 0o777)) // which cannot be locked
			}
			if o := pass(t, line...); len(begun(o.stderr)) > 0 || !maps.Equal(contentsBelow(t, out, ""), before) {
				t.Errorf("want the finished run kept:\n%s", o.stderr)
			}
			o := rollcall(t, append(line, c.other)...)
			if o.status != statusFailure || len(begun(o.stderr)) > 0 || !strings.Contains(o.stderr, "lock: ") ||
				!strings.Contains(o.stderr, lock.File+": d---------, want a file") {
				t.Errorf("status %d, want 1, what is wrong with the lock, and no run:\n%s", o.status, o.stderr)
			}
		})
	}
}
