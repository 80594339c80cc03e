package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/bench/ab"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// recorded is a real report of bench, which programs of shell replay with other numbers.
func recorded(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "report.json")
	o := pass(t, append(strings.Fields("bench --data leaf --clients 4 --rounds 3 --device cpu --threads 1 "+
		"--format json --out"), filepath.Join(dir, "out"))...)
	must.OK(t, os.WriteFile(path, []byte(o.stdout), 0o666))
	return path
}

// shellProgram writes a program of shell.
func shellProgram(t *testing.T, path, text string) string {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o777))
	return path
}

// replays writes a program that prints a report with all samples multiplied by a factor, and by 1 to 1.004 in turn.
func replays(t *testing.T, path, report string, factor float64) string {
	t.Helper()
	return shellProgram(t, path, fmt.Sprintf(`n=$(cat %[1]s.n 2>/dev/null || echo 0); echo $((n+1)) >%[1]s.n
awk -v n="$n" '
/^ *[0-9.e+-]+,?$/ { printf "%%.9g%%s\n", $1 * %[3]g * (1 + 0.001*(n*7%%5)), /,/ ? "," : ""; next }
1' %[2]s`,
		path, report, factor))
}

// ab says slower by 5 % of programs that are, with status 1, and by nothing of others.
func TestTrackAB(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	report := recorded(t, dir)
	program := func(name string, factor float64) string {
		return replays(t, filepath.Join(dir, name), report, factor)
	}
	old, slow := program("old", 1), program("slow", 1.05)
	for _, c := range []struct {
		program string
		status  int
		says    string // the start of the last line
	}{
		{slow, statusFailure, slow + " is slower: step_loops +5."},
		{program("fast", 0.95), statusOK, filepath.Join(dir, "fast") + " is faster: step_loops −"},
		{program("same", 1), statusOK, "no difference of 2 % or more: step_loops "},
	} {
		o := rollcall(t, "track", "ab", old, c.program, "--passes", "8")
		lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
		if o.status != c.status || !strings.HasPrefix(lines[len(lines)-1], c.says) ||
			strings.Count(o.stderr, "ab: pass ") != 8 {
			t.Errorf("%s: status %d\n%s%s\nwant %d and %q", c.program, o.status, o.stdout, o.stderr, c.status, c.says)
		}
	}
	o := rollcall(t, "track", "ab", old, slow, "--passes", "8", "--format", "json")
	var got ab.Report
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.status != statusFailure ||
		got.Verdict != ab.Worse || got.Decided != "step_loops" || got.Passes != 8 || got.Settings.Data != "leaf" {
		t.Errorf("JSON: status %d, %v, %s", o.status, err, o.stdout)
	}
	// Six passes cannot show a change that is significant over all metrics at 0.1 %.
	o = rollcall(t, "track", "ab", old, slow, "--passes", "6", "--level", "0.001")
	oneLineError(t, outcome{o.status, "", strings.ReplaceAll(o.stderr, "ab: pass", "device: ")}, statusUsage,
		"cannot tell", "6 passes")
	if names := must.Get(os.ReadDir(temp))(t); len(names) != 0 {
		t.Errorf("left %v, want no folder", names)
	}
}

// ab measures this program itself, in a folder that it removes, with flags of the caller.
func TestTrackABItself(t *testing.T) {
	ofProcesses(t)
	dir := t.TempDir()
	twin := shellProgram(t, filepath.Join(dir, "twin"), `exec rollcall "$@"`)
	// With such a least effect every change is none.
	o := withEnv(t, []string{"TMPDIR=" + dir}, strings.Fields("track ab rollcall "+twin+
		" --passes 6 --min-effect 1e5 -- --data leaf --rounds 2 --batch 4 --device cpu")...)
	if o.status != statusOK || !strings.Contains(o.stdout, "leaf, ") || !strings.Contains(o.stdout, "step_processor") {
		t.Errorf("status %d\n%s%s\nwant 0 and the workload of the flags", o.status, o.stdout, o.stderr)
	}
	if names := must.Get(os.ReadDir(dir))(t); len(names) != 1 {
		t.Errorf("left %v, want the twin alone", names)
	}
}

// What is no rollcall, or another one, is one line that names it.
func TestTrackABRefuses(t *testing.T) {
	dir := t.TempDir()
	report := recorded(t, dir)
	old := replays(t, filepath.Join(dir, "old"), report, 1)
	text := contents(t, report)
	edited := func(name, from, to string) string {
		must.OK(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(strings.Replace(text, from, to, 1)), 0o666))
		return replays(t, filepath.Join(dir, name), filepath.Join(dir, name+".json"), 1)
	}
	plain := filepath.Join(dir, "plain")
	must.OK(t, os.WriteFile(plain, nil, 0o666))
	var slim results.BenchReport
	must.OK(t, json.Unmarshal([]byte(text), &slim))
	slim.Metrics = slim.Metrics[len(slim.Metrics)-1:] // memory
	must.OK(t, files.WriteFile(filepath.Join(dir, "slim.json"), slim.JSON))
	slimmer := replays(t, filepath.Join(dir, "slim"), filepath.Join(dir, "slim.json"), 1)
	says := func(name, text string) string { return shellProgram(t, filepath.Join(dir, name), text) }
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "none: no such file",
		plain:                      "plain: permission denied",
		dir:                        "want a program of rollcall",

		says("fails", "echo first >&2; echo rollcall: no data >&2; exit 3"):             "exit status 3: no data",
		says("prints", "echo speed 3"):                                                  "no JSON",
		says("silent", ""):                                                              "no JSON",
		says("older", `echo 'rollcall: --format "json": what?' >&2; exit 2`):            "newer rollcall",
		says("oldest", `echo 'rollcall: bench: unknown flag --train-size' >&2; exit 2`): "newer rollcall",
		edited("newer", `"schema": 1`, `"schema": 2`):                                   "schema 2, want 1",
		edited("net", `"net": "`, `"net": "other-`):                                     "comparable: net ",
		edited("engine", `"engine": "`, `"engine": "other-`):                            "comparable: engine ",
		slimmer: "no metric of speed",
	} {
		o := rollcall(t, "track", "ab", old, path, "--passes", "6")
		lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
		last := lines[len(lines)-1]
		if o.status != statusUsage || !strings.Contains(last, want) ||
			!strings.HasPrefix(last, "rollcall: track ab: ") || !strings.Contains(last, filepath.Base(path)) ||
			o.stdout != "" {
			t.Errorf("%s: status %d, %q, want 2 and %q", path, o.status, o.stderr, want)
		}
	}
}

// Ctrl-C ends what ab has started, and leaves no folder.
func TestTrackABInterrupted(t *testing.T) {
	ofProcesses(t)
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	sleeps := shellProgram(t, filepath.Join(dir, "sleeps"), fmt.Sprintf(
		"sleep 300 & echo $! >%[1]s.new; mv %[1]s.new %[1]s; wait", started))
	temp := filepath.Join(dir, "temp")
	must.OK(t, os.Mkdir(temp, 0o777))
	c := startChild(t, "TMPDIR="+temp, "track", "ab", sleeps, sleeps)
	deadline := time.Now().Add(patience)
	for {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not there", started)
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.endBy(t, syscall.SIGINT, statusInterrupted)
	if names := must.Get(os.ReadDir(temp))(t); len(names) != 0 {
		t.Errorf("left %v, want no folder", names)
	}
	pid := must.Get(strconv.Atoi(strings.TrimSpace(contents(t, started))))(t)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d of the child is still there", pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// zombie reports whether a process has ended, and nobody has asked for its status.
func zombie(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := bytes.Cut(text, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z"))
}

// bisect finds the first slow one of programs, and of revisions that it builds; one that cannot be built is passed
// over.
func TestTrackBisect(t *testing.T) {
	dir := t.TempDir()
	report := recorded(t, dir)
	var programs []string
	for i, factor := range []float64{1, 1, 1, 1.05, 1.05} {
		programs = append(programs, replays(t, filepath.Join(dir, fmt.Sprint("r", i)), report, factor))
	}
	bisect := func(args ...string) (o outcome, last string) {
		o = rollcall(t, append([]string{"track", "bisect", "--passes", "6"}, args...)...)
		lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
		return o, lines[len(lines)-1]
	}
	o, last := bisect(programs...)
	if want := "first slow: " + programs[3] + ", +5."; o.status != statusOK || !strings.HasPrefix(last, want) ||
		!strings.HasSuffix(last, programs[2]+" is as fast as "+programs[0]) {
		t.Errorf("status %d\n%s%s\nwant 0 and %q", o.status, o.stdout, o.stderr, want)
	}
	build := []string{
		"--build", `test "$NAME" != r2 || { echo no compiler >&2; exit 1; }; cp ` + dir + `/"$NAME" "$BINARY"`,
	}
	o, last = bisect(append(build, "r0", "r1", "r2", "r3", "r4")...)
	if o.status != statusUsage || !strings.HasPrefix(last, "first slow is one of r2, r3: ") ||
		!strings.Contains(o.stdout, "skipped: r2: build: exit status 1: no compiler") ||
		strings.Count(o.stderr, "bisect: builds r0\n") != 1 {
		t.Errorf("a broken build: status %d\n%s%s\nwant 2 and two that may be the first", o.status, o.stdout, o.stderr)
	}
	o, last = bisect(programs[:3]...)
	if o.status != statusUsage || !strings.Contains(last, "is not shown to be slower than") {
		t.Errorf("no difference: status %d\n%s%s\nwant 2", o.status, o.stdout, o.stderr)
	}
	o, _ = bisect(append(build, "r2", "r4")...)
	if o.status != statusUsage || !strings.HasSuffix(o.stderr, "rollcall: track bisect: r2: build: exit status 1: no "+
		"compiler\n") {
		t.Errorf("the first is broken: status %d\n%s%s\nwant 2", o.status, o.stdout, o.stderr)
	}
	o, _ = bisect("--build", "true", "r0", "r4")
	if o.status != statusUsage || !strings.Contains(o.stderr, "no program at $BINARY") {
		t.Errorf("nothing built: status %d\n%s%s\nwant 2", o.status, o.stdout, o.stderr)
	}
}
