//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// atWork begins a command in a process of its own, and waits until it says something on stderr.
func atWork(t *testing.T, says, line string) (cmd *exec.Cmd, stderr io.Reader) {
	t.Helper()
	cmd = process(t, strings.Fields(line)...)
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test failed
	lines, seen := bufio.NewReader(pipe), ""
	for !strings.Contains(seen, says) {
		text, err := lines.ReadString('\n')
		if seen += text; err != nil {
			t.Fatalf("%s: %v, want %q said:\n%s", line, err, says, seen)
		}
	}
	return cmd, lines
}

// endedBy sends a signal, waits for the end, and returns how long that took and what was said.
func endedBy(t *testing.T, cmd *exec.Cmd, stderr io.Reader, signal os.Signal) (took time.Duration, said string) {
	t.Helper()
	began := time.Now()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status is looked at
	return time.Since(began), string(text)
}

// longRun is a run that goes on for hours, with rounds of a moment.
const longRun = " --data leaf --clients 4 --rounds 1000000 --local-steps 1 --batch 8 --eval-every 10 --device cpu --threads 1 "

// Where no run is in progress a command ends within a second when it is asked to, status 130; a second is a long time
// for a machine with other work, hence three.
func TestEndsPromptly(t *testing.T) {
	out := t.TempDir()
	holder, rest := atWork(t, ": round 10/", "run"+longRun+"--out "+out)
	go func() { _, _ = io.Copy(io.Discard, rest) }()
	for name, c := range map[string]struct {
		line, says string
		signal     os.Signal
	}{
		"waits for another's run": {"run" + longRun + "--out " + out, "waits for process", syscall.SIGINT},
		"bench":                   {"bench --data leaf --clients 8 --rounds 1000000 --out OUT", "device: ", syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stderr := atWork(t, c.says, strings.ReplaceAll(c.line, "OUT", t.TempDir()))
			took, said := endedBy(t, cmd, stderr, c.signal)
			if status := cmd.ProcessState.ExitCode(); status != statusInterrupted || took > 3*time.Second || !strings.HasSuffix(said, "rollcall: interrupted\n") {
				t.Errorf("status %d after %v, %q, want 130 at once, and that it was interrupted", status, took, said)
			}
		})
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
}
