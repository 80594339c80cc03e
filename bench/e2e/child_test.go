package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// process returns the program with a command line, as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "rollcall", args...)
	cmd.Env, cmd.Stderr = os.Environ(), new(bytes.Buffer)
	return cmd
}

// alone runs a command line in a process of its own: the methods of its files are registered in that one alone.
func alone(t *testing.T, args ...string) outcome {
	t.Helper()
	return withEnv(t, nil, args...)
}

// withEnv is alone with something added to the environment.
func withEnv(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	cmd := process(t, args...)
	cmd.Env = append(cmd.Env, env...)
	stdout, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), string(stdout), cmd.Stderr.(*bytes.Buffer).String()}
}

// passAlone is alone for a command line that has to succeed.
func passAlone(t *testing.T, args ...string) outcome {
	t.Helper()
	return succeeded(t, alone(t, args...), args)
}

// ofProcesses says that a test is of processes, which wait most of the time.
func ofProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	t.Parallel()
}

// inherited lets children begin with a signal ignored, as under nohup, or not, however the tests were begun.
func inherited(t *testing.T, sent os.Signal, ignored bool) {
	t.Helper()
	// Of a signal that is handled here, children have the default.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, sent)
	t.Cleanup(func() { signal.Stop(handled) })
	if ignored {
		signal.Ignore(sent)
		t.Cleanup(func() { signal.Notify(handled, sent) }) // undoes that, as Reset does not
	}
}

// child is the program in a process of its own, whose log can be waited for.
type child struct {
	*exec.Cmd
	stdout bytes.Buffer
	ended  chan struct{} // closed when it has

	lock sync.Mutex
	log  strings.Builder
	more chan struct{} // closed with every line
}

// startChild starts a command line, with something added to its environment. It is killed at the end of the test.
func startChild(t *testing.T, env string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: process(t, args...), ended: make(chan struct{}), more: make(chan struct{})}
	c.Env = append(c.Env, env)
	c.Stdout, c.Stderr = &c.stdout, nil
	pipe := must.Get(c.StderrPipe())(t)
	must.OK(t, c.Start())
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			c.add(lines.Text() + "\n")
		}
		_ = c.Wait() // the status is looked at
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it has ended as a rule
		<-c.ended
	})
	return c
}

// startUntil starts a command line, and waits for a text in its log.
func startUntil(t *testing.T, text, line string) *child {
	t.Helper()
	c := startChild(t, "", strings.Fields(line)...)
	c.until(t, text)
	return c
}

func (c *child) add(line string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.log.WriteString(line)
	close(c.more)
	c.more = make(chan struct{})
}

// said returns the log, and what is closed when there is more.
func (c *child) said() (string, chan struct{}) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.log.String(), c.more
}

// patience is how long a child may take for anything on a machine that is busy.
const patience = 2 * time.Minute

// computes waits until the child has used 0.2 s of processor time, by /proc; without it, for longer than that.
func (c *child) computes(t *testing.T) {
	t.Helper()
	ticks := func() int { // of 10 ms
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if fields := strings.Fields(string(text)); len(fields) > 13 {
			return must.Get(strconv.Atoi(fields[13]))(t)
		}
		return -1
	}
	began := time.Now()
	for from := ticks(); from < 0 && time.Since(began) < time.Second || from >= 0 && ticks() < from+20; {
		if time.Since(began) > patience {
			t.Fatalf("no 0.2 s of processor time in %v:\n%s", patience, c.text())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// text is the log so far.
func (c *child) text() string {
	text, _ := c.said()
	return text
}

// until waits for the log to hold a text.
func (c *child) until(t *testing.T, text string) {
	t.Helper()
	c.untilOr(t, text, c)
}

// untilOr waits for one of two logs to hold a text.
func (c *child) untilOr(t *testing.T, text string, other *child) {
	t.Helper()
	has := func() bool { return strings.Contains(c.text(), text) || strings.Contains(other.text(), text) }
	for deadline := time.After(patience); ; {
		_, more := c.said()
		_, others := other.said()
		if has() {
			return
		}
		select {
		case <-more:
		case <-others:
		case <-c.ended:
			if !has() {
				t.Fatalf("%q: ended, want %q in its log:\n%s", c.Args[1:], text, c.text())
			}
		case <-deadline:
			t.Fatalf("%q: want %q in its log after %s:\n%s", c.Args[1:], text, patience, c.text())
		}
	}
}

// end waits for the child, which has to end with a status.
func (c *child) end(t *testing.T, status int) (log string) {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatalf("%q: still there after %s:\n%s", c.Args[1:], patience, c.text())
	}
	log = c.text()
	if got := c.ProcessState.ExitCode(); got != status {
		t.Errorf("%q: status %d, want %d:\n%s", c.Args[1:], got, status, log)
	}
	return log
}

// endBy sends a signal and waits for the child, which has to end with a status, −1 if the signal kills it.
func (c *child) endBy(t *testing.T, sent syscall.Signal, status int) (log string, took time.Duration) {
	t.Helper()
	began := time.Now()
	must.OK(t, c.Process.Signal(sent))
	log = c.end(t, status)
	return log, time.Since(began)
}
