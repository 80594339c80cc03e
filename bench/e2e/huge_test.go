package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files/filestest"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// frugalBytes is the memory that a command may hold while it says what is wrong with a file.
const frugalBytes = 200 << 20

// frugal runs a command line in a process of its own, which has to end soon and to take little memory.
func frugal(t *testing.T, args ...string) outcome {
	t.Helper()
	began := time.Now()
	c := startChild(t, "", args...)
	most, known := int64(0), false
	for done := false; !done; {
		select {
		case <-c.ended:
			done = true
		case <-time.After(2 * time.Millisecond):
			if now, ok := memoryOf(c.Process.Pid); ok {
				most, known = max(most, now), true
			}
		}
	}
	if took := time.Since(began); took > 20*time.Second || most > frugalBytes {
		t.Errorf("%q: %v and %d MB, want seconds and at most %d", args, took, most>>20, frugalBytes>>20)
	}
	if !known {
		t.Logf("%q: memory not measured", args)
	}
	o := outcome{c.ProcessState.ExitCode(), c.stdout.String(), c.text()}
	said := strings.Split(o.stderr, "\n")
	for _, line := range said {
		if len(said) > 110 || len(line) > 4000 { // 100 bad lines of a file are named
			t.Errorf("%q: %d lines on standard error, one of %d bytes: %.200q", args, len(said), len(line), o.stderr)
			break
		}
	}
	return o
}

// memoryOf returns the most memory that a process has held up to now, by /proc.
func memoryOf(pid int) (bytes int64, known bool) {
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if size, is := strings.CutPrefix(lines.Text(), "VmHWM:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(size, " kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// hugeFiles makes files that say they are huge, or have a row or a list without an end.
func hugeFiles(t *testing.T) (paths map[string]string) {
	t.Helper()
	const mib = 1 << 20
	paths = map[string]string{}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		begin, text string
		bytes       int // of text
		size        int64
	}{
		"200 GB of zeros":        {"", "", 0, 200 << 30},
		"1 GB of zeros":          {"", "", 0, 1000 * mib},
		"64 MB of zeros":         {"", "", 0, 64 * mib},
		"one line":               {"", "a", 60 * mib, 0},
		"empty lines":            {"", "\n", 60 * mib, 0},
		"bad lines":              {"", "x,y\n", 60 * mib, 0},
		"a quote without an end": {`"`, "a\n", 60 * mib, 0},
		"brackets":               {"", "[", 15 * mib, 0},
		"a list":                 {`{"settings":[`, "0,", 15 * mib, 0},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		text := c.begin
		if c.bytes > 0 {
			text += strings.Repeat(c.text, c.bytes/len(c.text))
		}
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
		if c.size > 0 {
			must.OK(t, os.Truncate(path, c.size))
		}
		paths[name] = path
	}
	return paths
}

// Kinds of huge files that begin with their own content.
const (
	behind = "zeros behind the content"
	again  = "the last line again and again"
)

// repeat appends the last line of a file to it until it has so many bytes, or fails if it has no line.
func repeat(t *testing.T, path string, size int) {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n")+"\n", "\n")
	last := lines[len(lines)-2]
	filestest.Append(t, path, strings.Repeat(last, (size-len(text))/len(last)))
}

// In the place of whatever a command reads, a huge file ends in an error that names it, soon and in little memory.
func TestHugeFiles(t *testing.T) {
	ofProcesses(t)
	source := t.TempDir()
	own := smallRun("OUT", "--method", "ca-fed", "--decisions", "--save-model")
	for _, line := range [][]string{
		own,
		smallBench("OUT"),
		smallSweep("OUT", "--methods", "mifa"),
		{"figure", "fedawe-f6", "--out", "OUT"},
	} {
		pass(t, strings.Fields(strings.ReplaceAll(strings.Join(line, " "), "OUT", source))...)
	}
	seed := must.Get(filepath.Rel(source, filepath.Dir(only(t, source, runPath))))(t)
	for name, text := range map[string]string{
		"history/x.csv": "schema\n", "trace.csv": "client,start,end\n", "rates.csv": "method\n", "init.safetensors": "",
		"item/runs.tar.gz": "", filepath.Join(seed, results.ClientsFile): "round\n", // which no run has written
	} {
		path := filepath.Join(source, name)
		must.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)))
	}
	huge := hugeFiles(t)
	huge[behind], huge[again] = "", ""
	const trace = "availability --kind trace --clients 2 --rounds 2 --train-size 60 --trace OUT/trace.csv"
	const verify, page, merge = "results verify OUT", "report OUT --to OUT-page", "results merge OUT --out OUT-all"
	resume := strings.Join(own, " ")
	for file, lines := range map[string][]string{
		filepath.Join(seed, results.CurveFile):      {verify, page, resume},
		filepath.Join(seed, results.RunFile):        {verify, merge, resume},
		filepath.Join(seed, results.DecisionsFile):  {verify, page},
		filepath.Join(seed, results.ModelFile):      {verify, resume},
		filepath.Join(seed, results.ClientsFile):    {verify, resume},
		filepath.Join("sweep", results.SummaryFile): {page},
		results.BenchFile:                           {page, merge},
		filepath.Join("fedawe-f6", "fedawe-f6.csv"): {page},
		filepath.Join("history", "x.csv"):           {"track status --history OUT/history"},
		"trace.csv":                                 {trace},
		"rates.csv":                                 {"run --data leaf --rates OUT/rates.csv --out OUT-run"},
		"init.safetensors":                          {"run --data leaf --init-from OUT/init.safetensors --out OUT-run"},
		filepath.Join("item", "runs.tar.gz"):        {"results recheck OUT/item --minutes 1"},
	} {
		for kind, content := range huge {
			t.Run(filepath.Base(file)+"/"+kind, func(t *testing.T) {
				t.Parallel()
				if !strings.Contains(kind, "zeros") && kind != again {
					longtest.Only(t, "every kind of a huge file")
				}
				out := filepath.Join(t.TempDir(), "out")
				copyTree(t, source, out)
				path := filepath.Join(out, file)
				switch kind {
				case behind:
					must.OK(t, os.Truncate(path, 200<<30))
				case again:
					repeat(t, path, 30<<20)
				default:
					must.OK(t, errors.Join(os.Remove(path), os.Link(content, path)))
				}
				for _, line := range lines {
					o := frugal(t, strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
					if !strings.Contains(o.stderr, filepath.Base(file)) {
						t.Errorf("%s: status %d, %q, want an error that names the file", line, o.status, o.stderr)
					}
				}
			})
		}
	}
}
