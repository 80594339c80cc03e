package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// keeper is a method whose state has all that a checkpoint can hold: rows, of the server and of each client, arrays of
// whole numbers and of others, single numbers, and random draws.
const keeper = "testdata/fedaum.py"

// keeperIn returns a copy of the method's file in a folder: its path then tells the processes of this test from those
// of others.
func keeperIn(t *testing.T, dir string) string {
	t.Helper()
	return script(t, dir, "fedaum", contents(t, keeper))
}

// runningWith returns the processes that have a text in their command line.
func runningWith(t *testing.T, text string) (found []string) {
	t.Helper()
	for _, path := range must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), text) { // it may be gone
			found = append(found, fmt.Sprintf("%s: %q", path, line))
		}
	}
	return found
}

// nonePython checks that the processes of a method in a file have ended, or do so within seconds.
func nonePython(t *testing.T, file string) {
	t.Helper()
	var left []string
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if left = runningWith(t, file); len(left) == 0 {
			return
		}
	}
	t.Errorf("5 s after the last command ended, these are still there:\n%s", strings.Join(left, "\n"))
}

// needsProc skips a test that lists processes where it cannot.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skipf("left out: %v, in which processes are looked for", err)
	}
}

// A run of a method in Python that is killed at random and repeated, or taken over, has the bytes of one that nobody
// disturbed, and no process of the method outlives the command.
func TestPythonKilled(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	needsProc(t)
	top := quickFolder(t)
	file := keeperIn(t, top)
	line := "run --method " + file + " --availability sine --momentum 0.9 --fedaum-cutoff 5 "
	// Rounds enough that most of the time is theirs, and not that of two Pythons that start.
	killings := []*killing{{line: line + strings.Replace(leafRun, "rounds 200", "rounds 1000", 1)}}
	enough := 5
	if longtest.On() {
		enough = 100
		killings = append(killings, &killing{line: line + resnetRun}) // with running statistics
	}
	for i, k := range killings {
		k.t, k.draw, k.name = t, rand.New(rand.NewPCG(2, uint64(i))), k.line
		k.out = filepath.Join(top, fmt.Sprint(i))
		k.line += " --device cpu --threads 1 --checkpoint-every 1ms --out "
		k.undisturbed()
	}
	killedOften(t, killings, 4*len(killings), enough)
	nonePython(t, file)
}

// Ctrl-C reaches the whole group of processes. The command ends in good order at any moment: with a checkpoint if the
// run has begun, and without a traceback of Python, also if Python was just starting.
func TestPythonInterrupted(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	needsProc(t)
	top := quickFolder(t)
	file := keeperIn(t, top)
	long := "run --method " + file + longRun + "--grace 20s --out "

	// At work: the Python process is there, and ends with the command.
	out := filepath.Join(top, "at-work")
	run := startUntil(t, ": round 20/", long+out)
	if found := runningWith(t, file+"\x00"); len(found) < 2 { // the command itself has it behind --method
		t.Errorf("%q are there, want the command and a process of the method: the test is of nothing", found)
	}
	log, _ := run.endBy(t, syscall.SIGINT, statusInterrupted)
	if strings.Contains(log, "Traceback") || !strings.HasSuffix(log, "rollcall: interrupted\n") {
		t.Errorf("%q, want that it was interrupted", log)
	}
	nonePython(t, file)
	left := must.Get(filepath.Glob(filepath.Join(out, "run/*/seed-*/checkpoint-*.safetensors")))(t)
	if len(left) == 0 {
		t.Errorf("no checkpoint in %s, want one", out)
	}
	startUntil(t, ": resumes from round ", long+out).endBy(t, syscall.SIGINT, statusInterrupted)

	// At any moment, by the terminal.
	moments := 4
	if longtest.On() {
		moments = 60
	}
	for i := range moments {
		out := filepath.Join(top, fmt.Sprint("moment-", i))
		cmd := process(t, strings.Fields(long+out)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stderr := new(strings.Builder)
		cmd.Stdout, cmd.Stderr = io.Discard, stderr
		must.OK(t, cmd.Start())
		// The test binary is up after 0.1 s as a rule; Python then starts twice within a second.
		after := 150*time.Millisecond + time.Duration(i)*time.Second/time.Duration(moments)
		time.Sleep(after)
		must.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
		_ = cmd.Wait() // the status is looked at
		status := cmd.ProcessState.ExitCode()
		if status < 0 { // before the command minded signals
			status = statusInterrupted
		}
		if status != statusInterrupted || strings.Contains(stderr.String(), "Traceback") ||
			strings.Contains(stderr.String(), "has ended") {
			t.Errorf("SIGINT after %s: %v, want status 130 without a traceback:\n%s", after, cmd.ProcessState, stderr)
		}
	}
	nonePython(t, file)
}
