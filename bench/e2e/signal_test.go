//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// signalled runs a command line in a process of its own, sends it a signal after the first round, and waits. Under
// nohup SIGHUP is ignored from the start.
func signalled(t *testing.T, sent syscall.Signal, nohup bool, args ...string) outcome {
	t.Helper()
	program := must.Get(os.Executable())(t)
	// A signal that is ignored where the tests run, as under nohup, would be so in the child: of one that is handled
	// here it has the default.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, sent)
	defer signal.Stop(handled)
	if nohup {
		args = append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, program}, args...)
		program = "/bin/sh"
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	pipe := must.Get(cmd.StderrPipe())(t)
	must.OK(t, cmd.Start())
	seen := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		stderr.WriteString(lines.Text() + "\n")
		if !seen && strings.Contains(lines.Text(), "round 1/") {
			seen = true
			must.OK(t, cmd.Process.Signal(sent))
		}
	}
	_ = cmd.Wait() // the status is looked at
	if !seen {
		t.Fatalf("no round was seen:\n%s", stderr.String())
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Ctrl-C, a polite kill and a terminal that goes away end a run alike; under nohup the terminal may go.
func TestSignals(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		nohup  bool
		rounds string
		status int
		note   string
		is     results.RunStatus
	}{
		"INT":           {syscall.SIGINT, false, "100000", statusInterrupted, "interrupted", results.RunInterrupted},
		"TERM":          {syscall.SIGTERM, false, "100000", statusInterrupted, "interrupted", results.RunInterrupted},
		"HUP":           {syscall.SIGHUP, false, "100000", statusInterrupted, "interrupted", results.RunInterrupted},
		"USR1":          {syscall.SIGUSR1, false, "100000", statusTimeUp, "interrupted", results.RunInterrupted},
		"HUP and nohup": {syscall.SIGHUP, true, "100", statusOK, "complete", results.RunComplete},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			o := signalled(t, c.signal, c.nohup, "run", "--data", "leaf", "--clients", "4", "--method", "mifa",
				"--rounds", c.rounds, "--eval-every", "1", "--device", "cpu", "--out", out)
			if o.status != c.status || !strings.HasSuffix(o.stdout, results.CurveFile+": "+c.note+"\n") {
				t.Errorf("status %d, stdout %q, want %d and a run that is %s\n%s",
					o.status, o.stdout, c.status, c.note, o.stderr)
			}
			timeUp := "rollcall: time is up: repeat the command to resume\n"
			if said := strings.HasSuffix(o.stderr, timeUp); said != (c.status == statusTimeUp) {
				t.Errorf("stderr ends with the time that is up: %t, want %t", said, !said)
			}
			if said := strings.HasSuffix(o.stderr, "rollcall: interrupted\n"); said != (c.status == statusInterrupted) {
				t.Errorf("stderr ends with the interruption: %t, want %t", said, !said)
			}
			info, err := results.ReadRunInfo(only(t, out, runPath))
			if err != nil || info.Status != c.is {
				t.Errorf("%s: %+v, %v, want status %s", results.RunFile, info, err, c.is)
			}
			if temps, err := filepath.Glob(filepath.Join(out, "run", "*", "*", ".rollcall-*")); err != nil ||
				len(temps) > 0 {
				t.Errorf("left over: %q, %v", temps, err)
			}
		})
	}
}
