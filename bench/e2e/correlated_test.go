package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// The clients of a trace are active when it says so, and a run names the file's content, not only its name.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace.csv")
	write := func(text string) {
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write("client,start,end\n0,0,2\n1,1,2\n")
	_, rows := table(t, pass(t, "availability", "--kind", "trace", "--trace", path, "--clients", "2", "--rounds", "3",
		"--train-size", "100", "--trace-end", "empty").stdout)
	got := ""
	for _, r := range rows {
		got += r["active"]
	}
	if got != "101100" {
		t.Errorf("activity %q, want 101100: client 0 in rounds 0 and 1, client 1 in round 1", got)
	}
	run := small(filepath.Join(dir, "out"), "--method", "fedavg-active", "--availability", "trace", "--trace", path)
	pass(t, run...)
	if o := pass(t, run...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the finished run kept", o.stdout)
	}
	write("client,start,end\n0,0,2\n")
	if o := pass(t, run...); strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want another run: the trace has changed", o.stdout)
	}
	write("client,start,end\n0,2,1\n")
	oneLineError(t, rollcall(t, run...), statusFailure, path, "line 2")
	oneLineError(t, rollcall(t, small(dir, "--availability", "trace", "--trace", filepath.Join(dir, "none.csv"))...),
		statusFailure, "none.csv")
}

// CA-Fed's methods run under every process, with known and with estimated availability.
func TestCorrelatedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	for _, method := range []string{"unbiased", "more-available", "adafed", "ca-fed", "f3ast"} {
		for _, more := range [][]string{{"--availability", "markov"}, {
			"--availability", "clusters", "--clusters", "3", "--prior", "20", "--preset", "paper",
		}} {
			o := pass(t, small(t.TempDir(), append([]string{"--method", method, "--rounds", "3"}, more...)...)...)
			if !strings.Contains(o.stdout, method+" on synthetic") || !strings.Contains(o.stdout, "round 3") {
				t.Errorf("%s %v: stdout %q, want its last round", method, more, o.stdout)
			}
		}
	}
}

// With the released code's draws a run has the activity the availability command prints for them, and another one than
// without.
func TestNumPyDraws(t *testing.T) {
	active := func(args ...string) (perRound [3]float64) {
		_, rows := table(t, pass(t, append([]string{
			"availability", "--kind", "sine", "--clients", "6", "--rounds", "3", "--train-size", "300", "--seed", "5",
		}, args...)...).stdout)
		for _, r := range rows {
			perRound[int(number(t, r["round"]))] += number(t, r["active"])
		}
		return perRound
	}
	want := active("--draws", "numpy")
	if want == active() {
		t.Errorf("activity %v with NumPy's draws and without", want)
	}
	out := t.TempDir()
	pass(t, small(out, "--method", "mifa", "--availability", "sine", "--rounds", "3", "--seed", "5",
		"--draws", "numpy")...)
	rows := curveRows(t, out)
	for i, r := range rows[1:] {
		if number(t, r["active"]) != want[i] {
			t.Errorf("round %d: %s active, want %g", i+1, r["active"], want[i])
		}
	}
	oneLineError(t, rollcall(t, small(out, "--draws", "numpy", "--availability", "markov")...), statusUsage,
		"--draws numpy", "markov")
	oneLineError(t, rollcall(t, small(out, "--draws", "nunpy")...), statusUsage, `"nunpy"`, "did you mean numpy")
}
