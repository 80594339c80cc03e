package e2e

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/lock"
	"rollcall/internal/must"
)

// availabilityCSV writes a trace of two rounds to what --csv names.
func availabilityCSV(path string, more ...string) []string {
	line := strings.Fields("availability --kind sine --rounds 2 --clients 2 --train-size 60 --csv " + path)
	return append(line, more...)
}

// smallBench are the arguments of a measurement of a moment.
func smallBench(out string) []string {
	return strings.Fields("bench --data leaf --clients 4 --rounds 3 --local-steps 1 --batch 4 --device cpu " +
		"--threads 1 --out " + out)
}

// The files of flags are written to what the user names, be it a link, a pipe, a device or standard output, where
// nothing else is then.
func TestNamedOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	const kept = "out"
	pass(t, smallRun(kept)...)
	want := pass(t, availabilityCSV("new/plain.csv")...)
	csv := contents(t, "new/plain.csv")
	if !strings.HasPrefix(csv, "round,client,") || !strings.HasPrefix(want.stdout, "new/plain.csv: 2 rounds") {
		t.Fatalf("%q, %q", want.stdout, csv)
	}
	if o := pass(t, availabilityCSV("-")...); o.stdout != csv {
		t.Errorf("--csv -: %q, want the rows alone", o.stdout)
	}
	must.OK(t, os.WriteFile("real", []byte("old"), 0o640))
	must.OK(t, os.Symlink("real", "link"))
	must.OK(t, os.Symlink("new/none-yet", "to-nothing"))
	must.OK(t, syscall.Mkfifo("pipe", 0o666))
	read := make(chan string, 1)
	for _, c := range []struct {
		line []string
		says string // the beginning of what is written
	}{
		{availabilityCSV("OUTPUT"), csv},
		{strings.Fields("results recheck " + kept + " --minutes 1 --threads 1 --report OUTPUT"), "# "},
	} {
		for name, file := range map[string]string{"link": "real", "to-nothing": "new/none-yet", "pipe": ""} {
			line := strings.Fields(strings.ReplaceAll(strings.Join(c.line, " "), "OUTPUT", name))
			before := must.Get(os.Lstat(name))(t).Mode()
			if file == "" {
				go func() {
					text, _ := os.ReadFile(name)
					read <- string(text)
				}()
			}
			o := pass(t, line...)
			got := ""
			if file == "" {
				got = <-read
			} else {
				got = contents(t, file)
			}
			if !strings.HasPrefix(got, c.says) || o.stdout == "" || strings.Contains(o.stdout, got) {
				t.Errorf("%q: %q written, %q on standard output", line, got, o.stdout)
			}
			if mode := must.Get(os.Lstat(name))(t).Mode(); mode != before {
				t.Errorf("%q: %v, want it to stay %v", line, mode, before)
			}
		}
		o := pass(t, strings.Fields(strings.ReplaceAll(strings.Join(c.line, " "), "OUTPUT", "-"))...)
		if !strings.HasPrefix(o.stdout, c.says) {
			t.Errorf("%q: %q on standard output, want what the file has, alone", c.line, o.stdout)
		}
		for name, put := range irregular {
			if !strings.HasPrefix(name, "a folder") && name != "a link to itself" {
				continue
			}
			path := filepath.Join(t.TempDir(), "x")
			must.OK(t, put(path))
			o := rollcall(t, strings.Fields(strings.ReplaceAll(strings.Join(c.line, " "), "OUTPUT", path))...)
			if strings.HasPrefix(name, "a folder") {
				oneLineError(t, o, statusUsage, path, "a folder, want a file")
			} else {
				oneLineError(t, o, statusFailure, path, "too many levels of symbolic links")
			}
		}
		t.Run("device", func(t *testing.T) {
			full := filestest.Device(t, filepath.Join(t.TempDir(), "full"), filestest.Full)
			o := rollcall(t, strings.Fields(strings.ReplaceAll(strings.Join(c.line, " "), "OUTPUT", full))...)
			says := "rollcall: " + full + ": no space left on device\n"
			if o.status != statusFailure || !strings.HasSuffix(o.stderr, says) {
				t.Errorf("status %d, %q", o.status, o.stderr)
			}
			if mode := must.Get(os.Lstat(full))(t).Mode(); mode&fs.ModeCharDevice == 0 {
				t.Errorf("%v, want a device", mode)
			}
		})
	}
}

// A file that the command reads is not written.
func TestOutputIsInput(t *testing.T) {
	t.Chdir(t.TempDir())
	const trace = "client,start,end\n0,0,2\n"
	must.OK(t, os.WriteFile("trace.csv", []byte(trace), 0o666))
	must.OK(t, os.Symlink("trace.csv", "link"))
	must.OK(t, os.Link("trace.csv", "twin"))
	for _, name := range []string{"trace.csv", "link", "twin", "./x/../trace.csv"} {
		must.OK(t, os.MkdirAll("x", 0o777))
		o := rollcall(t, availabilityCSV(name, "--kind", "trace", "--trace", "trace.csv")...)
		oneLineError(t, o, statusUsage, name, "--trace")
	}
	out := t.TempDir()
	pass(t, smallRun(out)...)
	curve := only(t, out, curvePath)
	before := contents(t, curve)
	o := rollcall(t, "results", "recheck", out, "--report", curve)
	oneLineError(t, o, statusUsage, curve, "the name of a file of a run")
	if contents(t, "trace.csv") != trace || contents(t, curve) != before {
		t.Error("an input is another now")
	}
}

// A pipe without a reader waits for one, and Ctrl-C ends that. A reader that goes away is an error.
func TestPipeOutput(t *testing.T) {
	ofProcesses(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.OK(t, syscall.Mkfifo(pipe, 0o666))
	inherited(t, syscall.SIGINT, false)
	waits := startChild(t, "", availabilityCSV(pipe)...)
	select {
	case <-waits.ended:
		t.Fatalf("ended without a reader: %s", waits.text())
	case <-time.After(time.Second):
	}
	if log, took := waits.endBy(t, syscall.SIGINT, statusInterrupted); took > promptEnd || log != interruptedLine {
		t.Errorf("after %v: %q", took, log)
	}
	long := startChild(t, "", availabilityCSV(pipe, "--rounds", "100000")...)
	reader := must.Get(os.Open(pipe))(t)
	must.Get(reader.Read(make([]byte, 100)))(t)
	must.OK(t, reader.Close())
	<-long.ended
	status, log := long.ProcessState.ExitCode(), long.text()
	if status != statusFailure || !strings.Contains(log, "broken pipe") {
		t.Errorf("status %d, %q, want a broken pipe", status, log)
	}
}

// What a killed command has begun to write goes with the repeated command, also from folders in which nothing is left
// to write. What a living one writes stays.
func TestKilledLeavesNothing(t *testing.T) {
	top := t.TempDir()
	out, all, page := filepath.Join(top, "out"), filepath.Join(top, "all"), filepath.Join(top, "page")
	lines := [][]string{
		smallSweep(out, "--methods", "ca-fed,mifa", "--seeds", "3,4"),
		{"results", "merge", out, "--out", all},
		{"report", out, "--to", page},
		{"figure", "fedawe-f6", "--out", out},
	}
	for _, line := range lines {
		pass(t, line...)
	}
	planted, alive := []string{}, filepath.Dir(only(t, all, "sweep/ca-fed*/seed-3/run.json"))
	must.OK(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == top || path == alive {
			return err
		}
		f := must.Get(files.CreateTemp(path))(t)
		planted = append(planted, f.Name())
		return f.Close() // and so unlocks it, as a kill does
	}))
	living := must.Get(files.CreateTemp(alive))(t)
	defer living.Close()
	if len(planted) < 15 {
		t.Fatalf("%q, want folders of all commands", planted)
	}
	for _, line := range lines {
		pass(t, line...)
	}
	for _, path := range planted {
		// out itself and the folders of cells are never written to, so that a killed command leaves nothing there.
		if _, err := os.Lstat(path); err == nil && filepath.Dir(path) != out &&
			len(must.Get(filepath.Glob(filepath.Join(filepath.Dir(path), "seed-*")))(t)) == 0 {
			t.Errorf("%s: is there still", path)
		}
	}
	if left := must.Get(filepath.Glob(filepath.Join(all, "*", "*", ".rollcall-*")))(t); len(left) > 0 {
		t.Errorf("left by the merge: %q", left)
	}
	if _, err := os.Lstat(living.Name()); err != nil {
		t.Errorf("what is being written: %v", err)
	}
}

// hiddenName are names of files that no user knows.
var hiddenName = regexp.MustCompile(`\.rollcall-|\.tmp\b|\.part\b|\.old-`)

// A full disk is told with the file that the user knows, whatever is written.
func TestFullDisk(t *testing.T) {
	ofProcesses(t)
	source := t.TempDir()
	pass(t, smallSweep(source, "--methods", "ca-fed,mifa", "--seeds", "3,4")...)
	for name, line := range map[string][]string{
		"merge":  {"results", "merge", source, "--out", "OUT"},
		"report": {"report", source, "--to", "OUT"},
		"figure": {"figure", "fedawe-f6", "--out", "OUT"},
		"run": smallRun("OUT", "--method", "ca-fed", "--events", "--decisions", "--save-model",
			"--checkpoint-every", "1ms"),
		"dump":  smallRun(t.TempDir(), "--rounds", "1", "--dump", "OUT"),
		"sweep": smallSweep("OUT", "--methods", "mifa"),
		"tune": strings.Fields("tune --methods mifa --data leaf --rounds 4 --lrs 0.1 --server-lrs 1 --clients 4 " +
			"--device cpu --threads 1 --out OUT"),
		"bench":        smallBench("OUT"),
		"availability": availabilityCSV("OUT/new.csv", "--rounds", "500"),
		"recheck":      {"results", "recheck", source, "--minutes", "1", "--threads", "1", "--report", "OUT/page.md"},
		"method":       {"method", "new", "OUT/mine"},
		"scenario":     {"scenario", "export", "OUT/mine", "--data", "leaf", "--rounds", "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=4k", "none", disk)
			if text, err := mount.CombinedOutput(); err != nil {
				t.Skipf("a disk of 4 KiB cannot be mounted: %s", text)
			}
			t.Cleanup(func() { must.OK(t, syscall.Unmount(disk, 0)) })
			full := filepath.Join(disk, "full")
			_ = os.WriteFile(full, make([]byte, 4096), 0o666) // up to the last byte
			out := filepath.Join(disk, "out")
			must.OK(t, os.Mkdir(out, 0o777))
			o := alone(t, strings.Fields(strings.ReplaceAll(strings.Join(line, " "), "OUT", out))...)
			lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
			last := lines[len(lines)-1]
			if o.status != statusFailure || !strings.Contains(o.stderr, "no space left on device") ||
				!strings.Contains(o.stderr, out) || !strings.HasPrefix(last, "rollcall: ") {
				t.Errorf("status %d, %q, want 1 and what has no space", o.status, o.stderr)
			}
			if hidden := hiddenName.FindString(o.stderr); hidden != "" {
				t.Errorf("%q in %q", hidden, o.stderr)
			}
			must.OK(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
				if err == nil && hiddenName.MatchString(d.Name()) || d.Name() == "mine.py" {
					t.Errorf("left: %s", path)
				}
				return err
			}))
		})
	}
}

// verify looks at the rounds of a run that was killed, as the command does that resumes it.
func TestVerifyUnfinished(t *testing.T) {
	lines := func(text string) []string { return strings.SplitAfter(text, "\n") }
	whole := func(text string) string { return text }
	without := func(line int) func(string) string {
		return func(text string) string { return strings.Join(slices.Delete(lines(text), line, line+1), "") }
	}
	begun := func(text string) string { return strings.Join(lines(text)[:3], "") }
	half := []string{"--eval-every", "2", "--rounds", "5"}
	for name, c := range map[string]struct {
		flags  []string
		edit   func(text string) string
		status int
	}{
		"as it was left":                 {nil, whole, statusOK},
		"its last rows gone":             {nil, begun, statusOK},
		"a row gone":                     {nil, without(2), statusFailure},
		"the first row gone":             {nil, without(1), statusFailure},
		"every second round":             {half, whole, statusOK},
		"of every second round one gone": {half, without(2), statusFailure},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			pass(t, smallRun(out, c.flags...)...)
			must.OK(t, os.Remove(only(t, out, runPath)))
			curve := only(t, out, curvePath)
			must.OK(t, os.WriteFile(curve, []byte(c.edit(contents(t, curve))), 0o666))
			o := rollcall(t, "results", "verify", out)
			if o.status != c.status || !strings.Contains(o.stdout, "1 unfinished") ||
				c.status != statusOK && !strings.Contains(o.stderr, curve+": row ") {
				t.Errorf("status %d, %q, %q, want %d", o.status, o.stdout, o.stderr, c.status)
			}
			if o := rollcall(t, smallRun(out, c.flags...)...); o.status != c.status {
				t.Errorf("the run: status %d, %q, want %d as verify says", o.status, o.stderr, c.status)
			}
		})
	}
}

// What is in the place of the file that a run locks is named, and the run does not begin.
func TestIrregularLock(t *testing.T) {
	for name, put := range irregular {
		if name == "nothing" {
			continue
		}
		out := t.TempDir()
		pass(t, smallRun(out)...)
		path := filepath.Join(filepath.Dir(only(t, out, runPath)), lock.File)
		must.OK(t, errors.Join(os.Remove(path), os.Remove(only(t, out, runPath)), put(path)))
		o := rollcall(t, smallRun(out)...)
		if o.status != statusFailure || !strings.Contains(o.stderr, path+": a ") ||
			!strings.Contains(o.stderr, "want a file") {
			t.Errorf("%s: status %d, %q, want it named", name, o.status, o.stderr)
		}
	}
}
