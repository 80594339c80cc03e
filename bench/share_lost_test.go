//go:build unix

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
)

// longSweep are the arguments of a sweep whose runs take as long as some rounds do, and leave checkpoints all the time.
func longSweep(out, rounds string, more ...string) []string {
	return append([]string{
		"sweep", "--data", "leaf", "--clients", "5", "--local-steps", "2", "--batch", "8", "--rounds", rounds,
		"--eval-every", "100", "--checkpoint-every", "1ms", "--device", "cpu", "--threads", "1", "--out", out,
	}, more...)
}

// quickly shortens the times of claims in a child: who is silent for 3 s is dead.
const quickly = claimTimes + "=100ms 3s"

// What a killed process was making is taken over by one that waits for it, at once and from its checkpoint, also where
// both are to make it anew.
func TestShareKilled(t *testing.T) {
	for _, flag := range []string{"--again=false", "--again"} {
		t.Run(flag, func(t *testing.T) {
			ofProcesses(t)
			alone, out := t.TempDir(), t.TempDir()
			line := func(out string) []string { return longSweep(out, "3000", "--methods", "mifa", flag) }
			pass(t, line(alone)...)
			release := hold(t, filepath.Join(out, seedFolders(t, alone)[0])) // until both have begun
			one, two := startChild(t, "", line(out)...), startChild(t, "", line(out)...)
			one.until(t, "waits for ")
			two.until(t, "waits for ")
			release()
			if one.untilOr(t, "round 100/", two); !strings.Contains(one.text(), "round 100/") {
				one, two = two, one
			}
			one.stop(t) // or it would end before the other looks
			two.until(t, fmt.Sprintf("waits for 1 run of other processes: process %d on host", one.Process.Pid))
			must.OK(t, one.Process.Kill())
			killed := time.Now()
			log := two.end(t, statusOK) // long before the five minutes after which a silent process counts as dead
			t.Logf("taken over and ended %s after the kill", time.Since(killed))
			if !regexp.MustCompile(`goes on from round \d+\n`).MatchString(log) || len(begun(log)) > 0 {
				t.Errorf("want that it goes on from a checkpoint:\n%s", log)
			}
			sameTree(t, "taken over", timelessTree(t, out), timelessTree(t, alone))
		})
	}
}

// stop stops a child, until it is told to go on.
func (c *child) stop(t *testing.T) {
	t.Helper()
	must.OK(t, c.Process.Signal(syscall.SIGSTOP))
	stat := fmt.Sprintf("/proc/%d/stat", c.Process.Pid)
	for range 500 { // the signal may take a moment
		text, err := os.ReadFile(stat)
		if err != nil {
			t.Skip("no /proc to see whether a process is stopped")
		}
		if bytes.Contains(text, []byte(") T ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the process is not stopped 5 s after the signal")
}

func (c *child) goOn(t *testing.T) {
	t.Helper()
	must.OK(t, c.Process.Signal(syscall.SIGCONT))
}

// A process that was stopped for longer than the expiry loses its run, says so, and leaves the files of the winner as
// they are. It makes what else there is.
func TestShareStopped(t *testing.T) {
	ofProcesses(t)
	out := t.TempDir()
	one := startChild(t, quickly, longSweep(out, "3000", "--methods", "mifa,fedavg-active,fedawe")...)
	one.until(t, "round 100/")
	one.stop(t)
	two := startChild(t, quickly, longSweep(out, "3000", "--methods", "mifa,fedavg-active")...)
	log := two.end(t, statusOK)
	if got := strings.Join(begun(log), ", "); got != "fedavg-active leaf stationary seed 3" ||
		!strings.Contains(log, "goes on from round ") {
		t.Errorf("the second began %q, want fedavg-active first, and mifa from a checkpoint:\n%s", got, log)
	}
	before := contentsBelow(t, out, "")
	for name := range before {
		if filepath.Base(name) == results.SummaryFile || strings.HasPrefix(filepath.Base(name), ".") {
			delete(before, name) // that of all runs comes at last; a killed process leaves hidden files
		}
	}
	if len(before) != 2*2 {
		t.Fatalf("%d files, want the curves and run.json of two runs: %q", len(before), before)
	}
	one.goOn(t)
	log = one.end(t, statusOK)
	if strings.Count(log, ": lost: ") != 1 ||
		!strings.Contains(log, fmt.Sprintf("process %d on host", two.Process.Pid)) &&
			!strings.Contains(log, "its file is gone") {
		t.Errorf("want that the run is lost, once, and to whom:\n%s", log)
	}
	if got := strings.Join(begun(log), ", "); !strings.HasSuffix(got, "fedawe leaf stationary seed 3") {
		t.Errorf("the first began %q, want fedawe at last", got)
	}
	after := contentsBelow(t, out, "")
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s:\n%q\nwant it as the winner left it:\n%q", name, after[name], text)
		}
	}
	_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
	if len(rows) != 3*2 {
		t.Errorf("%d rows, want two of each of three methods", len(rows))
	}
	if left, err := filepath.Glob(filepath.Join(out, "*", "*", "*", ".*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

// A single run that is lost has failed, says so, and writes no run.json.
func TestShareStoppedRun(t *testing.T) {
	ofProcesses(t)
	out := t.TempDir()
	line := func(more ...string) []string {
		return append([]string{
			"run", "--method", "mifa", "--data", "leaf", "--clients", "5", "--rounds", "3000", "--eval-every", "100",
			"--local-steps", "2", "--batch", "8", "--checkpoint-every", "1ms", "--device", "cpu", "--threads", "1",
			"--out", out,
		}, more...)
	}
	one := startChild(t, quickly, line()...)
	one.until(t, "round 100/")
	one.stop(t)
	two := startChild(t, quickly, line()...)
	two.until(t, "goes on from round ")
	one.goOn(t)
	log := one.end(t, statusFailure)
	if got := one.stdout.String(); !strings.HasSuffix(got, results.CurveFile+": lost\n") ||
		!strings.Contains(log, "rollcall: "+filepath.Dir(only(t, out, curvePath))+": lost: ") {
		t.Errorf("stdout %q, want a run that is lost:\n%s", got, log)
	}
	two.end(t, statusOK)
	before := contentsBelow(t, out, "")
	if got := two.stdout.String(); !strings.HasSuffix(got, results.CurveFile+": complete\n") || len(before) != 2 {
		t.Errorf("stdout %q, %d files, want a complete run of two", got, len(before))
	}
	again := pass(t, line()...)
	if !strings.Contains(again.stdout, "kept, as finished before") || !maps.Equal(contentsBelow(t, out, ""), before) {
		t.Errorf("%s, want the winner's run kept", again.stdout)
	}
}
