package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rollcall/bench/cli"
	"rollcall/bench/run/progress"
	"rollcall/internal/must"
	"rollcall/results"
)

// realData is the tester's own $ROLLCALL_DATA; the tests themselves run without.
var realData = os.Getenv("ROLLCALL_DATA")

// emulatorCache is the variable that says where package emulator keeps what it compiled.
const emulatorCache = "ROLLCALL_EMULATOR_CACHE"

// driverCache is the variable that says where NVIDIA's driver keeps what it compiled.
const driverCache = "CUDA_CACHE_PATH"

// TestMain gives scripts and tests the program as `rollcall`.
func TestMain(m *testing.M) {
	testscript.Main(shutOff{m}, scriptPrograms)
}

// shutOff shuts the tests off from the data sets of this machine and from the network, so that they find the same
// everywhere. net/http reads the proxy once per process, hence here.
type shutOff struct{ *testing.M }

func (m shutOff) Run() int {
	progress.LogEvery = 0   // tests wait for evaluations
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
	return succeeded(t, rollcall(t, args...), args)
}

func succeeded(t *testing.T, o outcome, args []string) outcome {
	t.Helper()
	if o.status != statusOK {
		t.Fatalf("rollcall %s: status %d, want 0\n%s", strings.Join(args, " "), o.status, o.stderr)
	}
	return o
}

// oneLineError checks that a command line failed as it should: one line, after the log, that says what was found and
// what is wanted.
func oneLineError(t *testing.T, o outcome, status int, parts ...string) {
	t.Helper()
	var complaints []string
	for line := range strings.Lines(o.stderr) {
		if strings.HasPrefix(line, "rollcall: ") {
			complaints = append(complaints, line)
		} else if !strings.HasPrefix(line, "device: ") && !strings.Contains(line, ": round ") &&
			!strings.Contains(line, " · after ") {
			t.Errorf("stray line on stderr: %q", line)
		}
	}
	if o.status != status || len(complaints) != 1 || strings.Contains(o.stdout+o.stderr, "Usage:") {
		t.Fatalf("status %d, stderr %q, want %d and one line that starts with `rollcall: `", o.status, o.stderr, status)
	}
	for _, part := range parts {
		if !strings.Contains(complaints[0], part) {
			t.Errorf("error %q, want %q in it", complaints[0], part)
		}
	}
}

// small are the arguments of a run of a fraction of a second; more follow, and win.
func small(out string, more ...string) []string {
	line := strings.Fields("run --data synthetic --net lenet5 --train-size 300 --test-size 100 --clients 6 " +
		"--rounds 2 --local-steps 2 --batch 8 --eval-every 1 --device cpu --out")
	return append(append(line, out), more...)
}

// smallSweep are the arguments of a sweep whose runs take a few hundredths of a second each; more follow, and win.
func smallSweep(out string, more ...string) []string {
	line := strings.Fields("sweep --data leaf --clients 4 --rounds 4 --eval-every 1 --local-steps 1 --batch 4 " +
		"--device cpu --threads 1 --out")
	return append(append(line, out), more...)
}

// smallRun are the arguments of a run of the same size.
func smallRun(out string, more ...string) []string {
	return append([]string{"run", "--method", "mifa"}, smallSweep(out, more...)[1:]...)
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

// summaryRows returns the rows of a table's summary, and summaryRow the one of a sweep's method and metric.
func summaryRows(t *testing.T, out, name string) []map[string]string {
	t.Helper()
	_, rows := table(t, contents(t, filepath.Join(out, name, results.SummaryFile)))
	return rows
}

func summaryRow(t *testing.T, out, method, metric string) map[string]string {
	t.Helper()
	rows := summaryRows(t, out, "sweep")
	for _, r := range rows {
		if r["method"] == method && r["metric"] == metric {
			return r
		}
	}
	t.Fatalf("no %s of %s in %v", metric, method, rows)
	return nil
}

func curveRows(t *testing.T, out string) []map[string]string {
	t.Helper()
	_, rows := table(t, contents(t, only(t, out, curvePath)))
	return rows
}

// cifar10 returns a folder with the real CIFAR-10: the tester's $ROLLCALL_DATA, or one unpacked from beside the
// repository.
func cifar10(t *testing.T) string {
	t.Helper()
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

// trigger is a log that does something once it has read a text, or so many times.
type trigger struct {
	bytes.Buffer
	text  string
	times int
	do    func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.do != nil && strings.Count(w.String(), w.text) >= max(1, w.times) {
		w.do()
		w.do = nil
	}
	return n, err
}

// meanwhile runs a command line and does something once its log holds a text.
func meanwhile(t *testing.T, text string, do func(), args ...string) outcome {
	t.Helper()
	var stdout bytes.Buffer
	stderr := &trigger{text: text, do: do}
	status := cli.Run(t.Context(), args, &stdout, stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// interrupt runs a command line that is cancelled, as by Ctrl-C, once its log holds a text.
func interrupt(t *testing.T, text string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &trigger{text: text, do: cancel}
	if status := cli.Run(ctx, args, io.Discard, stderr); status != statusInterrupted {
		t.Fatalf("rollcall %s: status %d, want it interrupted at %q\n%s", strings.Join(args, " "), status, text, stderr)
	}
}
