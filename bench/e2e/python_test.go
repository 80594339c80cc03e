package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
func example(name string) string { return filepath.Join("..", "python", "examples", name+".py") }

// script writes the file of a method and returns its path.
func script(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name+".py")
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}
