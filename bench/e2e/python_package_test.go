package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// pythonRead reads the folders that are its arguments: whole runs of two methods, runs of which one is damaged, and one
// without any.
const pythonRead = `
import sys, warnings
import pandas
import rollcall_fl as rc

whole, damaged, empty = sys.argv[1:]
warnings.simplefilter("error")
df = rc.read(whole)
kinds = {name: str(df[name].dtype) for name in df}
for name, kind in {
    "round": "int64", "seed": "int64", "batch": "int64", "lr": "float64", "alpha": "float64", "settings.lr": "float64",
    "eval-train": "bool", "leaf-delta": "float64", "f3ast-limit": "Int64", "f3ast-mean": "boolean",
}.items():
    assert kinds[name] == kind, (name, kinds[name], kind)
aum = df[df["method"] == "fedaum"]
assert set(aum["method-sha256"]) == {"12345e67"}, aum["method-sha256"]
assert set(aum["fedaum-beta"]) == {0.3} and set(df["version"]) == {"devel"} and set(df["eval-last"]) == {"none"}
assert aum["f3ast-limit"].isna().all() and set(df["f3ast-limit"].dropna()) == {2}
assert list(df.groupby("method")["test_acc"].count()) == [4, 4], df
assert len(rc.read(whole, whole)) == len(rc.read(whole, empty)) == len(df), "each run once"
assert list(rc.read(empty).columns) == list(df.columns[:23]), "no run has a setting"
runs = rc.read_runs(whole, metrics=["final", "best", "rounds_to_1"])
assert len(runs) == 2 and set(runs["status"]) == {"complete"} and list(runs["rounds_done"]) == [3, 3], runs
ends = df[df["round"] == df["rounds"]].set_index("folder")["test_acc"]
assert runs.set_index("folder")["test_acc_final"].to_dict() == ends.to_dict(), runs
kinds = {name: str(runs[name].dtype) for name in runs}
for name, kind in {
    "lr": "float64", "test_acc_max": "float64", "rounds_to_acc_1": "float64", "rounds": "int64", "eval-train": "bool",
    "f3ast-limit": "Int64", "f3ast-mean": "boolean",
}.items():
    assert kinds[name] == kind, (name, kinds[name], kind)
assert "test_acc" not in runs and set(runs["method-sha256"].dropna()) == {"12345e67"}
assert len(rc.read_runs(whole, whole, table="run")) == 2 and len(rc.read_runs(empty)) == 0
assert {"test_acc", "train_loss"} <= set(rc.read_runs(empty).columns)

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert set(rc.read(damaged)["method"]) == set(rc.read_runs(damaged)["method"]) == {"fedaum"}
for warning in said:
    assert "curve.csv: line 5" in str(warning.message) and warning.filename == "<string>", said
assert len(said) == 2
for wrong, folders, binary in [
    (FileNotFoundError, ["none"], None), (FileNotFoundError, [whole], "none"), (RuntimeError, [whole], "false"),
]:
    try:
        rc.read(*folders, binary=binary)
    except wrong as err:
        assert "none" in str(err) or "status 1" in str(err), err
    else:
        raise AssertionError(f"{folders}, {binary}: want {wrong}")
sys.modules["pandas"] = None
try:
    rc.read(whole)
except ImportError as err:
    assert "pip install rollcall-fl[pandas]" in str(err), err
`

// The Python package reads what runs have left, with types that suit pandas, and says what it leaves out.
func TestPythonRead(t *testing.T) {
	python := os.Getenv("ROLLCALL_PYTHON")
	if python == "" {
		t.Skip("ROLLCALL_PYTHON is not set, want a Python with NumPy and pandas")
	}
	ofProcesses(t)
	dir := t.TempDir()
	from, whole, damaged := filepath.Join(dir, "from"), filepath.Join(dir, "whole"), filepath.Join(dir, "damaged")
	empty := t.TempDir()
	const tiny = "run --data leaf --rounds 3 --clients 4 --eval-every 1 --device cpu --out "
	pass(t, strings.Fields(tiny+from+" --method mifa")...)
	foreign(t, from, whole)
	pass(t, strings.Fields(tiny+whole+" --method f3ast --f3ast-limit 2")...)
	must.OK(t, os.CopyFS(damaged, os.DirFS(whole)))
	curve := only(t, damaged, "run/f3ast_*/seed-3/curve.csv")
	text := contents(t, curve)
	must.OK(t, os.WriteFile(curve, []byte(text[:len(text)-20]), 0o666))
	modules := filepath.Join(dir, "python")
	must.OK(t, os.CopyFS(modules, os.DirFS("../python"))) // which tells the cache of tests what this one reads
	cmd := exec.CommandContext(t.Context(), python, "-c", pythonRead, whole, damaged, empty)
	cmd.Env = append(os.Environ(), "ROLLCALL="+must.Get(exec.LookPath("rollcall"))(t), "PYTHONPATH="+modules)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	_, snippet, _ := strings.Cut(contents(t, "../../docs/publish.md"), "```python\nimport rollcall_fl")
	snippet, _, _ = strings.Cut("import rollcall_fl"+snippet, "```")
	shown := exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(snippet, `"out"`, `"`+whole+`"`))
	shown.Env = cmd.Env
	said, err := shown.CombinedOutput()
	if text := strings.Join(strings.Fields(string(said)), " "); err != nil ||
		!strings.Contains(text, "method data availability") || !strings.Contains(text, "fedaum leaf stationary 0.") {
		t.Errorf("the Python of docs/publish.md: %v\n%s\nwant a mean of two methods", err, said)
	}
}

// wheelFolder is the variable that names the folder of wheels which tests install.
const wheelFolder = "ROLLCALL_TEST_WHEEL"

// What `make wheel` has made is installed into a fresh environment, and used there without Go: first the wheel that pip
// chooses, then the one without CUDA.
func TestWheel(t *testing.T) {
	wheels := os.Getenv(wheelFolder)
	if wheels == "" {
		t.Skip("ROLLCALL_TEST_WHEEL is not set, want the folder of `make wheel`, with wheels of NumPy and pandas in it")
	}
	ofProcesses(t)
	python := cmp.Or(os.Getenv("ROLLCALL_PYTHON"), "python3")
	dir := t.TempDir()
	bin := filepath.Join(dir, "env", "bin")
	venv := exec.CommandContext(t.Context(), python, "-m", "venv", filepath.Dir(bin))
	if text, err := venv.CombinedOutput(); err != nil {
		t.Fatalf("%s -m venv: %v\n%s", python, err, text)
	}
	// in runs a program of the environment, which finds no other program.
	in := func(t *testing.T, program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin, "ROLLCALL=", "ROLLCALL_PYTHON=", "PYTHONPATH=")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	const wheelOf = "from importlib.metadata import distribution as of; print(of('rollcall-fl').read_text('WHEEL'))"
	method := must.Get(filepath.Abs(example("fedavg")))(t)
	static := only(t, must.Get(filepath.Abs(wheels))(t), "rollcall_fl-*.musllinux_*.whl")
	for _, c := range []struct {
		name, what string
		flags      []string
		tag        string
	}{
		{"chosen", "rollcall-fl[pandas]", []string{"--find-links", filepath.Dir(static)}, "manylinux_2_34_x86_64"},
		{"static", static, []string{"--no-deps", "--force-reinstall"}, "musllinux_1_1_x86_64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			install := append([]string{"-m", "pip", "install", "-q", "--no-compile", "--no-index"}, c.flags...)
			in(t, "python", append(install, c.what)...)
			if text := in(t, "python", "-c", wheelOf); !strings.Contains(text, "Tag: py3-none-"+c.tag) {
				t.Errorf("%s\nwant the wheel for %s", text, c.tag)
			}
			for _, use := range []struct {
				program string
				args    []string
				want    string // in the output
			}{
				{"rollcall", []string{"version"}, "linux/amd64"},
				{"rollcall", strings.Fields("run --data leaf --rounds 20 --device cpu --out " + c.name), ": complete"},
				{
					"rollcall",
					strings.Fields("run --method " + method + " --data leaf --rounds 2 --device cpu --out own"),
					"own/run/fedavg_leaf",
				},
				{
					"python",
					[]string{"-c", "import rollcall_fl as rc; print(rc.read('" + c.name + "').shape)"},
					"(11, ", // rounds 0, 1 … 20
				},
			} {
				if text := in(t, use.program, use.args...); !strings.Contains(text, use.want) {
					t.Errorf("%s %s:\n%s\nwant %q", use.program, strings.Join(use.args, " "), text, use.want)
				}
			}
		})
	}
}
