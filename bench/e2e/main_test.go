package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rollcall/bench/cli"
	"rollcall/internal/must"
)

// realData is the tester's own $ROLLCALL_DATA; the tests themselves run without.
var realData = os.Getenv("ROLLCALL_DATA")

// asProgram is the variable under which this binary is the program itself, not its tests.
const asProgram = "ROLLCALL_TEST_AS_PROGRAM"

// emulatorCache is the variable that says where package emulator keeps what it compiled.
const emulatorCache = "ROLLCALL_EMULATOR_CACHE"

// driverCache is the variable that says where NVIDIA's driver keeps what it compiled.
const driverCache = "CUDA_CACHE_PATH"

// TestMain gives scripts the program as `rollcall`.
func TestMain(m *testing.M) {
	program := func() {
		args := os.Args[1:]
		if os.Getenv(docsSmallRuns) != "" {
			if args = docsSmall(args); args == nil {
				return
			}
		}
		os.Exit(cli.Main(args, os.Stdout, os.Stderr))
	}
	if os.Getenv(asProgram) != "" { // a child of a test
		program()
	}
	testscript.Main(shutOff{m}, map[string]func(){"rollcall": program})
}

// shutOff shuts the tests off from the data sets of this machine and from the network, so that they find the same
// everywhere. net/http reads the proxy once per process, hence here.
type shutOff struct{ *testing.M }

func (m shutOff) Run() int {
	debug.SetGCPercent(400) // a tenth of the tests' time went into collecting their garbage
	empty, err := os.MkdirTemp("", "rollcall-test-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(empty)
	set := map[string]string{
		"ROLLCALL_DATA": empty, "XDG_CACHE_HOME": empty, "HOME": empty, "ROLLCALL_CPU": "",
		"HTTPS_PROXY": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "",
	}
	// Compiling the emulator of the kernels takes a minute of two processors, so its objects stay in the user's cache.
	if user, err := os.UserCacheDir(); err == nil && os.Getenv(emulatorCache) == "" {
		set[emulatorCache] = filepath.Join(user, "rollcall", "emulator")
	}
	// So do the kernels that a card's driver compiles.
	if home, err := os.UserHomeDir(); err == nil && os.Getenv(driverCache) == "" {
		set[driverCache] = filepath.Join(home, ".nv", "ComputeCache")
	}
	for name, value := range set {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.M.Run()
}

const (
	statusOK          = cli.StatusOK
	statusFailure     = cli.StatusFailure
	statusUsage       = cli.StatusUsage
	statusTimeUp      = cli.StatusTimeUp
	statusInterrupted = cli.StatusInterrupted
	statusCrash       = cli.StatusCrash
)

// outcome is what a command line came to.
type outcome struct {
	status         int
	stdout, stderr string
}

// rollcall runs a command line.
func rollcall(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := cli.Run(t.Context(), args, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// pass runs a command line that has to succeed.
func pass(t *testing.T, args ...string) outcome {
	t.Helper()
	o := rollcall(t, args...)
	if o.status != statusOK {
		t.Fatalf("rollcall %s: status %d, want 0\n%s", strings.Join(args, " "), o.status, o.stderr)
	}
	return o
}

// small are the arguments of a run of a fraction of a second; more follow, and win.
func small(out string, more ...string) []string {
	args := []string{
		"run", "--data", "synthetic", "--net", "lenet5", "--train-size", "300", "--test-size", "100", "--clients", "6",
		"--rounds", "2", "--local-steps", "2", "--batch", "8", "--eval-every", "1", "--device", "cpu", "--out", out,
	}
	return append(args, more...)
}

// only returns the one file that matches a pattern below dir.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s below %s: %q, %v, want one file", pattern, dir, found, err)
	}
	return found[0]
}

const (
	curvePath = "run/*/seed-*/curve.csv"
	runPath   = "run/*/seed-*/run.json"
)

// contents returns a file.
func contents(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// table returns the records of a CSV text by column.
func table(t *testing.T, text string) (header []string, rows []map[string]string) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("CSV: %v in %q", err, text)
	}
	for _, r := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return records[0], rows
}

// timeless returns a curve without elapsed_s, the one column that may differ between two runs.
func timeless(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	header, rows := table(t, contents(t, path))
	for _, row := range rows {
		for _, name := range header {
			if name != "elapsed_s" {
				out.WriteString(row[name] + ",")
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// filesBelow lists the files below a folder.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	must.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	slices.Sort(names)
	return names
}

// cifar10 returns a folder with the real CIFAR-10: the tester's $ROLLCALL_DATA, or one unpacked from beside the
// repository.
func cifar10(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real CIFAR-10 is not for -short")
	}
	if realData != "" {
		if o := rollcall(t, "data", "verify", "cifar10", "--data-dir", realData); o.status == statusOK {
			return realData
		}
	}
	script := "../../../shared/data/unpack.sh"
	if _, err := os.Stat(script); err != nil {
		t.Skip("CIFAR-10 is neither in $ROLLCALL_DATA nor in ../shared/data beside the repository")
	}
	dir := t.TempDir()
	if text, err := exec.Command("bash", script, dir).CombinedOutput(); err != nil {
		t.Skipf("CIFAR-10 cannot be unpacked: %v: %s", err, text)
	}
	return dir
}

// trigger is a log that does something once it has read a text.
type trigger struct {
	bytes.Buffer
	text string
	do   func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.do != nil && strings.Contains(w.String(), w.text) {
		w.do()
		w.do = nil
	}
	return n, err
}

// interrupted runs a command line that is cancelled, as by Ctrl-C, once its log holds a text.
func interrupted(t *testing.T, text string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout bytes.Buffer
	stderr := &trigger{text: text, do: cancel}
	status := cli.Run(ctx, args, &stdout, stderr)
	return outcome{status, stdout.String(), stderr.String()}
}
