package e2e

// The recording: what the commands print and write, byte by byte, on tiny data and on kernels that every machine has.
// It exists because a refactoring of this program must leave the output of every command alone, and nothing but the
// bytes themselves can say whether it did. It knows the program by run alone, so code may move without touching it.
//
// testdata/recording has one text file for each command of recordingCommands: status, stdout, stderr and every file
// that is new, changed or removed below the working folder afterwards. Commands run in order in one folder, for later
// ones read what earlier ones wrote. `go test -tags gpu ./bench -run TestRecording -update-recording` rewrites the
// files. Do that only in a commit that is meant to change what users see; then `git diff` shows exactly what changes
// for them. What is normalised, and why, is in recording_normal_test.go; speeds (bench, track run) are not recorded at
// all.

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/cli"
	"rollcall/internal/lock"
	"rollcall/internal/must"
)

var recordingUpdate = flag.Bool("update-recording", false, "rewrite testdata/recording")

// What of a golden is whole text; all else is a length and a SHA-256, so that the goldens stay small enough to be read.
const (
	recordingWhole  = 6 << 10 // bytes of a file at most
	recordingBudget = 6 << 10 // bytes of all files of a command at most, in the order of their names
)

// recordingCommand is one command line, and what makes it ready.
type recordingCommand struct {
	name string // of the subtest and the golden
	line string // without the program's name; words are separated by spaces
	// cpu is the variant of the kernels; empty: generic. Others are recorded where they exist, and skipped elsewhere.
	cpu    string
	before func(t *testing.T) // nil: nothing
}

func TestRecording(t *testing.T) {
	if testing.Short() {
		t.Skip("the recording runs every command for most of a minute, which is not for -short")
	}
	goldens := must.Get(filepath.Abs(filepath.Join("testdata", "recording")))(t)
	machine := recordingPrepare(t)
	commands := recordingCommands()
	known := map[string]bool{}
	seen := recordingSnapshot(t, machine)
	for i, c := range commands {
		file := fmt.Sprintf("%03d-%s.txt", i+1, c.name)
		known[file] = true
		if c.cpu != "" && !machine.has(c.cpu) {
			t.Run(c.name, func(t *testing.T) { t.Skipf("this processor has no %s", c.cpu) })
			continue
		}
		// Outside of the subtest, so that -run of one subtest finds what the commands before it wrote.
		got := recordingRun(t, c, machine, &seen)
		t.Run(c.name, func(t *testing.T) { recordingCompare(t, goldens, file, got) })
	}
	recordingOthers(t, goldens, known)
}

// recordingPrepare makes an empty working folder with tiny data, shut off from the rest of the machine.
func recordingPrepare(t *testing.T) *recordingMachine {
	t.Helper()
	work, cache := t.TempDir(), t.TempDir()
	t.Chdir(work)
	for name, value := range map[string]string{
		"ROLLCALL_DATA": "nodata", "XDG_CACHE_HOME": cache, "HOME": cache, "ROLLCALL_CPU": "generic",
		"TZ": "UTC", "COLUMNS": "", "NO_COLOR": "1",
	} {
		t.Setenv(name, value)
	}
	recordingData(t, ".")
	return recordingAbout(t, work, cache)
}

// recordingRun runs a command and returns the text of its golden. Of seen it makes the files as they are now.
func recordingRun(t *testing.T, c recordingCommand, m *recordingMachine, seen *map[string][]byte) string {
	t.Helper()
	if c.before != nil {
		c.before(t)
		*seen = recordingSnapshot(t, m) // what was done by hand is not the command's
	}
	t.Setenv("ROLLCALL_CPU", cmp.Or(c.cpu, "generic"))
	var stdout, stderr bytes.Buffer
	status := cli.Main(strings.Fields(c.line), &stdout, &stderr)

	var out strings.Builder
	fmt.Fprintf(&out, "$ rollcall %s\nstatus %d\n", c.line, status)
	log := m.normal("stderr", stderr.Bytes())
	if strings.Contains(c.line, "--pack") { // runs side by side report in any order
		lines := slices.Sorted(strings.Lines(string(log)))
		log = []byte(strings.Join(lines, ""))
	}
	recordingPart(&out, "stdout", m.normal("stdout", stdout.Bytes()))
	recordingPart(&out, "stderr", log)

	before, budget := *seen, recordingBudget
	*seen = recordingSnapshot(t, m)
	for _, name := range recordingNames(before, *seen) {
		content, now := (*seen)[name]
		old, then := before[name]
		switch {
		case !now:
			fmt.Fprintf(&out, "--- removed %s\n", name)
		case !then:
			recordingFile(&out, "new "+name, content, &budget)
		case !bytes.Equal(old, content):
			recordingFile(&out, "changed "+name, content, &budget)
		}
	}
	return out.String()
}

// recordingSnapshot returns the normalised content of all files below the working folder.
func recordingSnapshot(t *testing.T, m *recordingMachine) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.ToSlash(path)
		if strings.HasPrefix(name, "data/") || d.Name() == lock.File { // what recordingData wrote; always empty
			return nil
		}
		content, err := os.ReadFile(path)
		all[name] = m.file(name, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// recordingNames returns the keys of both, sorted.
func recordingNames(a, b map[string][]byte) (names []string) {
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// recordingCompare compares a golden with what there is now, or rewrites it.
func recordingCompare(t *testing.T, goldens, file, got string) {
	t.Helper()
	path := filepath.Join(goldens, file)
	if *recordingUpdate {
		must.OK(t, os.MkdirAll(goldens, 0o777))
		must.OK(t, os.WriteFile(path, []byte(got), 0o666))
		return
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update-recording writes it", err)
	}
	want := string(content)
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	n := 0
	for n < len(g) && n < len(w) && g[n] == w[n] {
		n++
	}
	line := func(lines []string) string {
		if n < len(lines) {
			return lines[n]
		}
		return "(end of the recording)"
	}
	where := "" // the stream or file that the line is of
	for i := min(n, len(w)-1); i >= 0 && where == ""; i-- {
		if name, ok := strings.CutPrefix(w[i], "--- "); ok {
			where = " in " + name
		}
	}
	t.Errorf("testdata/recording/%s line %d%s:\n got %s\nwant %s", file, n+1, where, line(g), line(w))
}

// recordingOthers complains of goldens that belong to no command, or removes them with -update-recording.
func recordingOthers(t *testing.T, goldens string, known map[string]bool) {
	t.Helper()
	entries := must.Get(os.ReadDir(goldens))(t)
	for _, e := range entries {
		switch {
		case known[e.Name()]:
		case *recordingUpdate:
			must.OK(t, os.Remove(filepath.Join(goldens, e.Name())))
		default:
			t.Errorf("testdata/recording/%s: belongs to no command of recordingCommands", e.Name())
		}
	}
}
