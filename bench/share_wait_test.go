//go:build unix

package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
)

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
		want := "\ntable sweep: other processes make 1 run of 1 cell, which are not waited for\n"
		if o.status != statusOK || !strings.HasSuffix(o.stderr, want) || strings.Contains(o.stderr, "waits for") {
			t.Errorf("status %d, want 0 and %q:\n%s", o.status, want, o.stderr)
		}
		if got := strings.Join(begun(o.stderr), ", "); got != "fedawe leaf stationary seed 4" {
			t.Errorf("begun: %q, want the run that nobody has", got)
		}
		if !strings.Contains(o.stdout, "] running: made by this process\n") {
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
		var stdout bytes.Buffer
		release := hold(t, filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))
		stderr := &trigger{text: "fedawe leaf stationary seed 3: round 0/", do: release}
		status := runContext(t.Context(), line, &stdout, stderr)
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
		want := "figure cafed-i2: other processes make 2 runs of 1 line, which are not waited for: not drawn\n"
		if o.status != statusOK || !strings.HasSuffix(o.stderr, want) || o.stdout != "" {
			t.Errorf("status %d, stdout %q, want 0, nothing and %q:\n%s", o.status, o.stdout, want, o.stderr)
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

// A run that fails is tried again after all others, and made if it can be made by then.
func TestRetries(t *testing.T) {
	for name, block := range map[string]func(dir string) error{
		"a file in place of its folder": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		},
		"a folder in place of run.json": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, results.RunFile, "in the way"), 0o777))
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4,5", "--retries", "2")
			pass(t, line...)
			want := timelessTree(t, out)
			blocked := filepath.Dir(only(t, out, "sweep/mifa_*/seed-4/run.json"))
			last := filepath.Dir(only(t, out, "sweep/fedawe_*/seed-5/run.json"))
			must.OK(t, errors.Join(os.RemoveAll(last), block(blocked)))
			stderr := &trigger{
				text: "fedawe leaf stationary seed 5: round 0/",
				do:   func() { _ = os.RemoveAll(blocked) },
			}
			var stdout bytes.Buffer
			if status := runContext(t.Context(), line, &stdout, stderr); status != statusOK {
				t.Errorf("status %d, want 0:\n%s", status, stderr)
			}
			runs := strings.Join(begun(stderr.String()), ", ")
			if runs != "fedawe leaf stationary seed 5, mifa leaf stationary seed 4" {
				t.Errorf("begun: %q, want mifa's seed 4 after all others:\n%s", runs, stderr)
			}
			if n := strings.Count(stderr.String(), "tried again later"); n != 1 {
				t.Errorf("said %d times that it is tried again, want once:\n%s", n, stderr)
			}
			sameTree(t, "after a failure", timelessTree(t, out), want)
		})
	}
}

// What keeps failing is tried as often as is asked for and counted, the seeds of one cause in one line.
func TestRetriesFail(t *testing.T) {
	for retries, want := range map[string]int{"0": 0, "1": 2, "3": 6} {
		t.Run("--retries "+retries, func(t *testing.T) {
			out := t.TempDir()
			line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4,6", "--retries", retries)
			pass(t, line...)
			cell := filepath.Dir(filepath.Dir(only(t, out, "sweep/mifa_*/seed-4/run.json")))
			for _, seed := range []string{"3", "6"} {
				must.OK(t, os.RemoveAll(filepath.Join(cell, "seed-"+seed)))
				must.OK(t, os.WriteFile(filepath.Join(cell, "seed-"+seed), nil, 0o600))
			}
			o := rollcall(t, line...)
			want3and6 := "mifa leaf stationary: seeds 3, 6: claim: " +
				filepath.Join(cell, "seed-*") + ": not a directory\n"
			if !strings.Contains(o.stderr, want3and6) {
				t.Errorf("want seeds 3 and 6 in one line:\n%s", o.stderr)
			}
			if o.status != statusFailure ||
				!strings.HasSuffix(o.stderr, "\nrollcall: table sweep: 1 of 2 cells failed\n") {
				t.Errorf("status %d, want 1 and one cell of two:\n%s", o.status, o.stderr)
			}
			if n := strings.Count(o.stderr, "tried again later\n"); n != want {
				t.Errorf("tried again %d times, want %d:\n%s", n, want, o.stderr)
			}
		})
	}
}

// What another attempt would come to again is not tried again.
func TestNoRetry(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no data", "--data svhn", "unavailable"},
		{"no memory", "--data leaf --memory-limit 10kB", "--memory-limit"},
		{"diverged", "--data leaf --lr 1e38 --rounds 6", "have runs that diverged, named above"},
		{"of another engine", "--data leaf", "want --mixed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			line := append([]string{
				"sweep", "--methods", "mifa", "--seeds", "3,4", "--clients", "4", "--rounds", "2", "--eval-every", "1",
				"--retries", "3", "--device", "cpu", "--out", out,
			}, strings.Fields(c.line)...)
			if c.name == "of another engine" {
				pass(t, line...)
				doctored(t, out, func(info *results.RunInfo, row *results.CurveRow) {
					info.Numerics, info.Engine, row.Engine = "cuda-sm90-tf32", "cuda-sm90", "cuda-sm90"
				})
			}
			o := rollcall(t, line...)
			if o.status != statusFailure || !strings.Contains(o.stderr, c.want) ||
				strings.Contains(o.stderr, "tried again") {
				t.Errorf("status %d, want 1, %q, and no other attempt:\n%s", o.status, c.want, o.stderr)
			}
		})
	}
}

func TestRetriesUsage(t *testing.T) {
	for _, command := range []string{"table fedawe-2", "sweep --methods mifa", "figure fedawe-f7"} {
		for retries, want := range map[string]string{
			"-1": "--retries -1: want 0 or more", "x": `--retries "x": want a whole number`,
		} {
			out := filepath.Join(t.TempDir(), "out")
			args := append(strings.Fields(command), "--retries", retries, "--device", "cpu", "--out", out)
			oneLineError(t, rollcall(t, args...), statusUsage, want)
		}
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
	var stdout bytes.Buffer
	if status := runContext(t.Context(), append(line, "--again"), &stdout, stderr); status != statusOK {
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

// Where nothing can be claimed a finished run is kept, and no other is made: the error says why.
func TestUnclaimable(t *testing.T) {
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
			before := contentsBelow(t, out, "")
			for _, dir := range []string{dir, filepath.Join(filepath.Dir(dir), "seed-4")} {
				if err := os.MkdirAll(filepath.Join(dir, ".claim-1"), 0o777); err != nil { // which is no claim
					t.Fatal(err)
				}
			}
			if o := pass(t, line...); len(begun(o.stderr)) > 0 || !maps.Equal(contentsBelow(t, out, ""), before) {
				t.Errorf("want the finished run kept:\n%s", o.stderr)
			}
			o := rollcall(t, append(line, c.other)...)
			if o.status != statusFailure || len(begun(o.stderr)) > 0 || !strings.Contains(o.stderr, "claim: ") ||
				!strings.Contains(o.stderr, ".claim-1: d---------, want a file") {
				t.Errorf("status %d, want 1, what is wrong with the claim, and no run:\n%s", o.status, o.stderr)
			}
		})
	}
}
