package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// crashOn is the variable with the text that the program panics on, in a child of these tests.
const crashOn = "ROLLCALL_TEST_CRASH_ON"

// panicking panics where it is to write a text, if none has before it.
type panicking struct {
	io.Writer
	text string
	done *atomic.Bool
}

func (p panicking) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(p.text)) && p.done.CompareAndSwap(false, true) {
		panic("planted on " + p.text)
	}
	return p.Writer.Write(b)
}

// planted returns writers that panic as the environment says.
func planted(stdout, stderr io.Writer) (io.Writer, io.Writer) {
	text, done := os.Getenv(crashOn), new(atomic.Bool)
	if text == "" {
		return stdout, stderr
	}
	return panicking{stdout, text, done}, panicking{stderr, text, done}
}

// crashed runs the program in a child, with at most so many KiB of addresses ("unlimited": any), and returns its exit
// status as a shell reports it, and what it wrote to stderr.
func crashed(t *testing.T, kib, text string, args ...string) (status int, stderr string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), "sh", append([]string{
		"-c", "ulimit -c 0; ulimit -v " + kib + `; exec rollcall "$@"`, "sh",
	}, args...)...)
	child.Env = append(os.Environ(), crashOn+"="+text)
	child.Dir = t.TempDir()
	var log bytes.Buffer
	child.Stderr = &log
	err := child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if wait := exit.Sys().(syscall.WaitStatus); wait.Signaled() {
			return 128 + int(wait.Signal()), log.String()
		}
		return exit.ExitCode(), log.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, log.String()
}

// A panic where the command runs is told as a bug; one of another goroutine, here that of a pool's session, has Go's
// trace alone. Neither is a usage error.
func TestPanicIsNoUsageError(t *testing.T) {
	sweep := "sweep --methods fedawe,mifa --pack 2 --data synthetic --train-size 300 --test-size 100 --clients 6 " +
		"--rounds 2 --local-steps 2 --batch 8 --device cpu --out out"
	for _, c := range []struct{ name, args, text, want string }{
		{"the command's goroutine", "devices", "cpu", "which is a bug: please report"},
		{"another goroutine", sweep, "round 0/2", "goroutine "},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, stderr := crashed(t, "unlimited", c.text, strings.Fields(c.args)...)
			if status != statusCrash || !strings.Contains(stderr, "planted on "+c.text) ||
				!strings.Contains(stderr, c.want) {
				t.Errorf("status %d, want %d, and %q in\n%s", status, statusCrash, c.want, stderr)
			}
		})
	}
}

// 4 GB of addresses for rows of 45 GB: refused, also with --memory-limit off, and never a usage error.
func TestMemoryIsNoUsageError(t *testing.T) {
	args := strings.Fields("run --net resnet18 --clients 1000 --method mifa --data synthetic --train-size 1000 " +
		"--test-size 10 --batch 1 --device cpu --threads 1 --out out")
	status, stderr := crashed(t, "4000000", "", args...)
	if status != statusFailure || !strings.Contains(stderr, "1003 rows") || !strings.Contains(stderr, "ulimit -v") {
		t.Errorf("status %d, want %d, and the rows and ulimit -v in\n%s", status, statusFailure, stderr)
	}
	status, stderr = crashed(t, "4000000", "", append(args, "--memory-limit", "off")...)
	if status != statusFailure || !strings.Contains(stderr, "cannot allocate memory") {
		t.Errorf("without a limit: status %d, want %d, and no memory in\n%s", status, statusFailure, stderr)
	}
}
