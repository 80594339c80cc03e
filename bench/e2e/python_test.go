package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/python"
	"rollcall/internal/must"
)

// needsPython skips a test of methods in Python where there is no Python with NumPy, and says so. Whoever has named one
// wants the test: where that one cannot be used, the test fails.
func needsPython(t *testing.T) (interpreter string) {
	t.Helper()
	interpreter, err := withNumPy()
	switch {
	case err == nil:
	case os.Getenv(python.Variable) != "":
		t.Fatalf("$%s is %s: %v", python.Variable, interpreter, err)
	default:
		t.Skipf("left out: no Python with NumPy, want one on the PATH or in $%s: %v", python.Variable, err)
	}
	return interpreter
}

// withNumPy returns the Python of methods; an error: there is none, or it has no NumPy.
func withNumPy() (interpreter string, err error) {
	interpreter, err = python.Interpreter()
	if err != nil {
		return "", err
	}
	if text, err := exec.Command(interpreter, "-c", "import numpy").CombinedOutput(); err != nil {
		return interpreter, fmt.Errorf("%w: %s", err, text)
	}
	return interpreter, nil
}

// example returns the path of an example of a method in Python.
func example(name string) string { return filepath.Join("python", "examples", name+".py") }

// script writes the file of a method and returns its path.
func script(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name+".py")
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// alone runs a command line in a process of its own: the methods of its files are registered in that one alone.
func alone(t *testing.T, args ...string) outcome {
	t.Helper()
	return outcomeOf(t, process(t, args...))
}

// outcomeOf runs a process to its end.
func outcomeOf(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), string(text), stderr.String()}
}

// passAlone is alone for a command line that has to succeed.
func passAlone(t *testing.T, args ...string) outcome {
	t.Helper()
	o := alone(t, args...)
	if o.status != statusOK {
		t.Fatalf("rollcall %s: status %d, want 0\n%s", strings.Join(args, " "), o.status, o.stderr)
	}
	return o
}
