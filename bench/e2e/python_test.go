package e2e

import (
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
	interpreter, err := python.Interpreter()
	text := []byte{}
	if err == nil {
		text, err = exec.Command(interpreter, "-c", "import numpy").CombinedOutput()
	}
	switch {
	case err == nil:
	case os.Getenv(python.Variable) != "":
		t.Fatalf("$%s is %s: %v\n%s", python.Variable, interpreter, err, text)
	default:
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		t.Skipf("left out: no Python with NumPy, want one on the PATH or in $%s: %v: %s", python.Variable, err,
			lines[len(lines)-1])
	}
	return interpreter
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
