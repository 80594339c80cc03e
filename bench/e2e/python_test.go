package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/many/tune"
	"rollcall/bench/python"
	"rollcall/internal/must"
	"rollcall/results"
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

func example(name string) string { return filepath.Join("..", "python", "examples", name+".py") }

// script writes the file of a method and returns its path.
func script(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name+".py")
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// tinyPython are settings of a run of a moment.
const tinyPython = "--data leaf --clients 6 --rounds 4 --local-steps 2 --batch 8 --eval-every 1 --device cpu --out "

// sumMethod is a method whose file imports a module of its own. It is without default rates.
const sumMethod = `import rollcall_fl as rc
from share import SHARE


class Sum(rc.Method):
    """A share of the mean."""

    name = "own-sum"
    scale = rc.param(1.0, above=0, high=2, help="factor of the update")

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        self.w.set(self.w + SHARE * self.scale * r.server_lr * rc.mean(r.train(start=self.w) - self.w))
`

// A method in a file is tuned beside one of the program's, and trains with the rates that were found, by run and by
// sweep. The rates of both are of use to a command that does not know the file.
func TestPythonTuned(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	out := t.TempDir()
	tiny := func(words ...string) []string { return slices.Concat(words, strings.Fields(tinyPython), []string{out}) }
	file := script(t, t.TempDir(), "sum", sumMethod)
	must.OK(t, os.WriteFile(filepath.Join(filepath.Dir(file), "share.py"), []byte("SHARE = 0.5\n"), 0o666))
	grid := strings.Fields("--lrs 0.1,0.03 --server-lrs 1,2 --hold-out 0.2")
	passAlone(t, append(tiny("tune", "--methods", file+",fedau"), grid...)...)
	path := filepath.Join(out, "tune", tune.RatesFile)
	_, rates := table(t, contents(t, path))
	if len(rates) != 2 || rates[0]["method"] != "own-sum" || rates[1]["method"] != "fedau" {
		t.Fatalf("rates %v, want those of own-sum and fedau", rates)
	}

	passAlone(t, tiny("run", "--method", file, "--rates", path)...)
	passAlone(t, tiny("sweep", "--methods", file+",fedau", "--rates", path, "--seeds", "3")...)
	for i, pattern := range []string{"run/own-sum_*/seed-3/run.json", "sweep/own-sum_*/seed-3/run.json"} {
		var info struct{ Settings map[string]any }
		must.OK(t, json.Unmarshal([]byte(contents(t, only(t, out, pattern))), &info))
		for setting, column := range map[string]string{"lr": "lr", "server-lr": "server_lr"} {
			if got, want := info.Settings[setting], number(t, rates[0][column]); got != want {
				t.Errorf("%d: %s %v, want %g of %s", i, setting, got, want, path)
			}
		}
	}

	// Without the file the name is one that the program does not know.
	o := pass(t, tiny("sweep", "--methods", "fedau", "--rates", path, "--seeds", "3")...)
	if !strings.Contains(o.stderr, "1 finished run kept") {
		t.Errorf("%s\nwant the run of fedau kept, with the rates of %s", o.stderr, path)
	}
	oneLineError(t, rollcall(t, tiny("run", "--method", "mifa", "--rates", path)...), statusUsage, "has none for mifa")
	pass(t, "results", "verify", out)
	if o := pass(t, "results", "list", out); strings.Count(o.stdout, "own-sum") < 3 {
		t.Errorf("%s\nwant the runs of own-sum", o.stdout)
	}
}

// The sources of a method name its runs: another version makes runs beside the first, and overwrites nothing; the same
// version makes none anew, wherever the file is. What counts is the file and what it imports, not its path.
func TestPythonVersions(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	out := t.TempDir()
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	must.OK(t, os.CopyFS(first, os.DirFS("../python/examples")))
	put := func(dir, name, text string) string {
		t.Helper()
		must.OK(t, os.MkdirAll(dir, 0o777))
		return script(t, dir, name, text)
	}
	put(first, "share", "SHARE = 0.5\n")
	put(second, "share", "SHARE = 0.5\n")
	kept := map[string]string{} // every file up to now
	folders := 0
	for _, c := range []struct {
		name string
		file string
		more string
		new  bool // another run
	}{
		{"first", put(first, "sum", sumMethod), "", true},
		{"again", filepath.Join(first, "sum.py"), "", false},
		{"at another path", put(second, "sum", sumMethod), "", false},
		{"under another name", put(second, "other_name", sumMethod), "", false},
		{"a parameter at its default", filepath.Join(first, "sum.py"), "--own-sum-scale 1", false},
		{"another parameter", filepath.Join(first, "sum.py"), "--own-sum-scale 0.5", true},
		{"a constant edited", put(first, "new", strings.Replace(sumMethod, "SHARE *", "0.9 * SHARE *", 1)), "", true},
		{"a comment added", put(first, "comment", sumMethod+"# the same\n"), "", true},
		{"the imported module edited", filepath.Join(second, "sum.py"), "", true},
	} {
		if strings.HasPrefix(c.name, "the imported") {
			put(second, "share", "SHARE = 0.25\n")
		}
		o := passAlone(t, slices.Concat([]string{"run", "--method", c.file, "--lr", "0.1", "--server-lr", "1"},
			strings.Fields(c.more), strings.Fields(tinyPython), []string{out})...)
		if c.new {
			folders++
		}
		if said := strings.Contains(o.stdout, "kept, finished before"); said == c.new {
			t.Errorf("%s: %s\nwant another run: %t", c.name, o.stdout, c.new)
		}
		if runs, bad, err := results.FindRuns(t.Context(), filepath.Join(out, "run")); err != nil || bad != nil ||
			len(runs) != folders {
			t.Errorf("%s: %d runs, %v, %v, want %d", c.name, len(runs), bad, err, folders)
		}
		now := contentsBelow(t, out, "")
		for path, text := range kept {
			if now[path] != text {
				t.Errorf("%s: %s has changed, want what was there left as it was", c.name, path)
			}
		}
		maps.Copy(kept, now)
	}

	// In one command two versions would be two methods of one name.
	oneLineError(t, alone(t, slices.Concat([]string{
		"sweep", "--lr", "0.1", "--server-lr", "1", "--methods",
		filepath.Join(first, "sum.py") + "," + filepath.Join(second, "sum.py"),
	}, strings.Fields(tinyPython),
		[]string{t.TempDir()})...), statusFailure, `name "own-sum" is taken by another method`)
}

// Python keeps compiled code, and takes it for that of any source with the same size and second. A run is of the
// sources that name it: of the file and the module as they are, also if Python keeps others.
func TestPythonSameSecond(t *testing.T) {
	ofProcesses(t)
	interpreter := needsPython(t)
	dir := t.TempDir()
	losses := map[string]string{}
	for _, c := range []struct{ share, scale string }{{"0.3", "1.0"}, {"0.4", "1.0"}, {"0.4", "1.5"}} {
		then := time.Unix(1_700_000_000, 0)
		module := script(t, dir, "share", "SHARE = "+c.share+"\n")
		file := script(t, dir, "sum", strings.Replace(sumMethod, "SHARE *", c.scale+" * SHARE *", 1))
		must.OK(t, os.Chtimes(module, then, then))
		must.OK(t, os.Chtimes(file, then, then))
		out := t.TempDir()
		line := slices.Concat([]string{"run", "--method", file, "--lr", "0.1", "--server-lr", "1"},
			strings.Fields(tinyPython), []string{out})
		succeeded(t, withEnv(t, []string{"PYTHONDONTWRITEBYTECODE="}, line...), line)
		rows := curveRows(t, out)
		loss := rows[len(rows)-1]["test_loss"]
		if other := losses[loss]; other != "" {
			t.Errorf("%v: test loss %s, as with %s, want another", c, loss, other)
		}
		losses[loss] = fmt.Sprint(c)
		// What Python keeps when somebody else imports the two, such as a test of theirs.
		compile := exec.CommandContext(t.Context(), interpreter, "-m", "compileall", "-q", dir)
		if text, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("compileall: %v\n%s", err, text)
		}
	}
	if kept := must.Get(filepath.Glob(filepath.Join(dir, "__pycache__", "*.pyc")))(t); len(kept) != 2 {
		t.Errorf("Python keeps %q, want compiled code of both: the test is of nothing", kept)
	}
}

// The command line of a file's method is like that of any other: its flags are in the help and checked, and the file
// may be named twice. A job of Slurm is given the file by its absolute path, for it begins in another folder.
func TestPythonCommandLine(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	abs := must.Get(filepath.Abs(example("fedavgm")))(t)
	out := filepath.Join(t.TempDir(), "out")
	tiny := " " + tinyPython + out
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{
			"run --help --method " + example("fedavgm"), 0,
			"--fedavgm-beta float fedavgm: momentum at the server (default 0.9)",
		},
		{"run --help --method=" + example("fedavgm"), 0, "--fedavgm-beta float"},
		{"sweep --help --methods fedau," + example("fedavgm"), 0, "--fedavgm-beta float"},
		{"tune --help --methods " + example("fedavgm"), 0, "--fedavgm-beta float"},
		{"__complete run --method " + example("fedavgm") + " --fedavgm-", 0, "--fedavgm-beta fedavgm: momentum"},
		{"run --method " + example("fedavgm") + " --fedavgm-beta 1" + tiny, 2, "--fedavgm-beta 1: want"},
		{"run --method fedau --fedavgm-beta 0.5" + tiny, 2, "unknown flag --fedavgm-beta"},
		{"run --method none.py" + tiny, 2, "stat none.py: no such file or directory: want a file with a method"},
		{"run --method " + example("fedavgm") + " --method " + example("fedavgm") + tiny, 0, "round 4: test acc"},
		{
			"run --method " + example("fednova") + " --dump " + filepath.Join(out, "dump") +
				strings.Replace(tiny, "--rounds 4", "--rounds 1", 1), 1,
			"dump: method fednova: client 1 made 1 local steps, want 2 as for every client",
		},
		{"run --method " + abs + tiny, 0, "kept, finished before"},
		{"sweep --methods " + example("fedavgm") + "," + abs + tiny, 2, "--methods: fedavgm twice"},
		{
			"sweep --methods mifa," + example("fedavgm") + " --slurm --dry-run --partition gpu" + tiny, 0,
			" --methods=mifa," + abs + " ",
		},
	} {
		o := alone(t, strings.Fields(c.line)...)
		if said := strings.Join(strings.Fields(o.stdout+o.stderr), " "); o.status != c.status ||
			!strings.Contains(said, c.want) { // help is wrapped anywhere
			t.Errorf("%s: status %d\n%s%s\nwant status %d, %q", c.line, o.status, o.stdout, o.stderr, c.status, c.want)
		}
	}
}

// A method in Python whose numbers change with the environment: its run is killed in round 5 and repeated elsewhere,
// with another NumPy. The rows that differ are an error that names the version; rows that do not are gone on from, and
// a line names it.
func TestPythonRuntimeChanged(t *testing.T) {
	needsPython(t)
	ofProcesses(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	file := script(t, dir, "own", `import os, signal, time
import rollcall_fl as rc

class Own(rc.Method):
    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        if r.t == 5 and "KILL" in os.environ:
            time.sleep(0.5)  # until the rows are written
            os.kill(os.getppid(), signal.SIGKILL)
        ends = r.train(start=self.w)
        self.w.set(self.w + float(os.environ.get("FACTOR", "1")) * rc.mean(ends - self.w))
`)
	must.OK(t, os.Mkdir(other, 0o777))
	script(t, other, "sitecustomize", "import numpy\nnumpy.__version__ = '9.9'\n")
	for _, c := range []struct {
		name, factor string
		status       int
		want         string
	}{
		{"same rows", "1", 0, ": resumes from round "},
		{"other rows", "2", 1, "curve.csv: round "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields("run --method " + file + " --data leaf --clients 10 --rounds 8 --eval-every 1 " +
				"--checkpoint-every 1ns --device cpu --out " + out)
			if o := withEnv(t, []string{"KILL=1"}, args...); o.status >= 0 {
				t.Fatalf("status %d, want it killed:\n%s", o.status, o.stderr)
			}
			// With the older of two checkpoints, the curve has a row that comes again.
			kept := must.Get(filepath.Glob(filepath.Join(out, "run", "*", "seed-3", "checkpoint-*")))(t)
			for _, newer := range slices.Sorted(slices.Values(kept))[1:] {
				must.OK(t, os.Remove(newer))
			}
			o := withEnv(t, []string{"FACTOR=" + c.factor, "PYTHONPATH=" + other}, args...)
			if o.status != c.status || !strings.Contains(o.stderr, c.want) ||
				!strings.Contains(o.stderr, " there, 9.9 here") {
				t.Errorf("status %d\n%s\nwant status %d, %q and the versions", o.status, o.stderr, c.status, c.want)
			}
		})
	}
}
