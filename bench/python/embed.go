// Package python holds the Python package rollcall_fl, which the processes of methods in Python run, and finds Python.
package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources holds the folder rollcall_fl.
//
//go:embed rollcall_fl/*.py
var sources embed.FS

//go:embed template.py
var template string

// Template returns a file with a method to begin with, which has this name.
func Template(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	class := strings.Join(words, "")
	if class == "None" || class == "True" || class == "False" { // words of Python's own
		class += "Method"
	}
	return strings.Replace(template, "class Template(", "class "+class+"(", 1)
}

// Variable names the Python interpreter of methods.
const Variable = "ROLLCALL_PYTHON"

// Interpreter returns the Python that runs methods: $ROLLCALL_PYTHON, or the one that lies beside this program, as in a
// virtual environment, or the python3 on the PATH.
func Interpreter() (string, error) {
	if own := os.Getenv(Variable); own != "" {
		path, err := exec.LookPath(own)
		if err != nil {
			return "", fmt.Errorf("python: $%s: %w, want a Python with NumPy", Variable, err)
		}
		return path, nil
	}
	if program, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(program), "python3")
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return beside, nil
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("python: no python3 on the PATH, want one with NumPy, or its path in $%s", Variable)
	}
	return path, nil
}

// Unpack returns a folder that has the package. It lies in the user's cache folder, or in the folder of temporary files
// if nothing can be written there, under a name made of its content, so that it is written once and never changes.
func Unpack() (string, error) {
	total := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(total, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	name := "python-" + hex.EncodeToString(total.Sum(nil))[:16]
	cache, lack := os.UserCacheDir()
	if lack == nil {
		dir, err := unpackIn(filepath.Join(cache, "rollcall"), name)
		if err == nil {
			return dir, nil
		}
		lack = err
	}
	// Each user has a folder there: nobody may run what another one can write. Chmod fails for who does not own it.
	own := filepath.Join(os.TempDir(), fmt.Sprintf("rollcall-%d", os.Getuid()))
	err = errors.Join(os.MkdirAll(own, 0o700), os.Chmod(own, 0o700))
	var dir string
	if err == nil {
		dir, err = unpackIn(own, name)
	}
	if err != nil {
		return "", fmt.Errorf("python: no folder for the package rollcall_fl: %w; %w", lack, err)
	}
	return dir, nil
}

// unpackIn returns the folder of this name in a parent, which has the package, or another one beside it.
func unpackIn(parent, name string) (string, error) {
	dir := filepath.Join(parent, name)
	if same(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(parent, ".python-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(made, sources); err != nil {
		return "", errors.Join(err, os.RemoveAll(made))
	}
	if os.Rename(made, dir) == nil {
		return dir, nil
	}
	// Another process has been faster, or what lies there is damaged: then this one has a folder of its own.
	if same(dir) {
		return dir, os.RemoveAll(made)
	}
	return made, nil
}

// same reports whether a folder holds the package as it is.
func same(dir string) bool {
	err := fs.WalkDir(sources, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		want, err := sources.ReadFile(path)
		if found, lack := os.ReadFile(filepath.Join(dir, path)); lack != nil || string(found) != string(want) {
			return fs.ErrNotExist
		}
		return err
	})
	return err == nil
}

// bootstrap runs the package from the folder that is its first argument. With -c, Python would look for modules in the
// working folder first, which need not be the method's.
//
// Signals to both processes, as from Ctrl-C, are the parent's alone, which ends this one by a message. They are ignored
// before NumPy is imported, which takes a while.
const bootstrap = `import signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
sys.path[0] = sys.argv.pop(1)
if sys.version_info < (3, 9):
    sys.exit("rollcall: " + sys.executable + " is Python " + sys.version.split()[0] + ", want 3.9 or later, by $` +
	Variable + `")
try:
    import numpy
except ImportError:
    sys.exit("rollcall: " + sys.executable + " has no NumPy: want pip install numpy, or another Python in $` +
	Variable + `")
from rollcall_fl.child import main
main()
`

// Command returns the command line that runs a method, but for its file, and the environment.
func Command() (command, env []string, err error) {
	interpreter, err := Interpreter()
	if err != nil {
		return nil, nil, err
	}
	dir, err := Unpack()
	if err != nil {
		return nil, nil, err
	}
	// The cores are the engine's, and what is printed is seen at once.
	env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
		"MKL_NUM_THREADS=1")
	return []string{interpreter, "-c", bootstrap, dir}, env, nil
}
