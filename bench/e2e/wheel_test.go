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

// wheelFolder is the variable that names the folder of wheels which tests install.
const wheelFolder = "ROLLCALL_TEST_WHEEL"

// TestWheel installs what `make wheel` has made into a fresh environment, and uses it there without Go: first the wheel
// that pip chooses, then the one without CUDA.
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
