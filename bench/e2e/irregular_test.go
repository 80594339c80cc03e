//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/report"
)

// within runs a command line that has to end in seconds: one that waits for a pipe never does.
func within(t *testing.T, args ...string) outcome {
	t.Helper()
	done := make(chan outcome, 1)
	go func() { done <- rollcall(t, args...) }()
	select {
	case o := <-done:
		return o
	case <-time.After(20 * time.Second):
		t.Fatalf("rollcall %s: still there after 20 s", strings.Join(args, " "))
		return outcome{}
	}
}

// A folder of that name, a pipe, a device and a link to nothing in place of a file are an error at once, which names
// it.
func TestIrregularFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	kinds := map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	source := t.TempDir()
	for _, seed := range []string{"3", "4"} {
		pass(t, "sweep", "--methods", "ca-fed", "--data", "leaf", "--clients", "4", "--rounds", "2",
			"--local-steps", "1", "--eval-every", "1", "--device", "cpu", "--seeds", seed, "--out", source)
	}
	seeds := only(t, source, "sweep/*/seed-3/run.json")
	run := must.Get(filepath.Rel(source, filepath.Dir(seeds)))(t)
	for _, file := range []string{
		filepath.Join(run, results.CurveFile), filepath.Join(run, results.RunFile),
		filepath.Join(run, results.DecisionsFile), filepath.Join(run, results.ClientsFile),
		filepath.Join(run, "mine.csv"), filepath.Join("sweep", results.SummaryFile), results.BenchFile,
	} {
		for kind, put := range kinds {
			t.Run(filepath.Base(file)+"/"+kind, func(t *testing.T) {
				if testing.Short() && kind != "pipe" {
					t.Skip("pipes alone")
				}
				out := filepath.Join(t.TempDir(), "out")
				must.OK(t, os.CopyFS(out, os.DirFS(source)))
				path := filepath.Join(out, file)
				_ = os.Remove(path)
				must.OK(t, put(path))
				cell := filepath.Dir(filepath.Join(out, run))
				for _, c := range []struct {
					args   []string
					silent string // the file that it has no need of, if it is no error
				}{
					{[]string{"report", out, "--to", filepath.Join(t.TempDir(), "report")}, ""},
					{[]string{"results", "list", out}, "mine.csv summary.csv bench.csv"},
					{[]string{"results", "show", cell}, "mine.csv summary.csv bench.csv"},
					{[]string{"results", "verify", out}, "mine.csv summary.csv bench.csv"},
					{[]string{"results", "diff", out, source}, "mine.csv summary.csv bench.csv"},
					{[]string{"results", "export", "sweep", out}, "mine.csv summary.csv bench.csv"},
					{
						[]string{"results", "merge", out, "--out", filepath.Join(t.TempDir(), "all")},
						"mine.csv summary.csv clients.csv decisions.csv", // which the run has not written
					},
				} {
					o := within(t, c.args...)
					want := statusFailure
					if strings.Contains(c.silent, filepath.Base(file)) || kind == "folder" &&
						filepath.Base(file) == "mine.csv" {
						want = statusOK
					}
					if o.status != want || want == statusFailure && !strings.Contains(o.stderr, filepath.Base(file)) {
						t.Errorf("%s: status %d, %q, want %d and the file named",
							strings.Join(c.args[:2], " "), o.status, o.stderr, want)
					}
				}
			})
		}
	}
	t.Run("trace", func(t *testing.T) {
		for kind, put := range kinds {
			path := filepath.Join(t.TempDir(), "trace.csv")
			must.OK(t, put(path))
			o := within(t, small(t.TempDir(), "--availability", "trace", "--trace", path)...)
			if o.status == statusOK || !strings.Contains(o.stderr, "--trace") ||
				!strings.Contains(o.stderr, "want a file") {
				t.Errorf("%s: status %d, %q, want that --trace is no file", kind, o.status, o.stderr)
			}
		}
	})
	t.Run("history", func(t *testing.T) {
		for kind, put := range kinds {
			dir := t.TempDir()
			must.OK(t, put(filepath.Join(dir, "history.csv")))
			o := within(t, "track", "compare", "--history", dir)
			if o.status == statusOK || kind != "folder" && !strings.Contains(o.stderr, "history.csv: ") {
				t.Errorf("%s: status %d, %q, want an error that names it", kind, o.status, o.stderr)
			}
		}
	})
}

// A folder that is a link is the folder it leads to.
func TestLinkedFolder(t *testing.T) {
	at := t.TempDir()
	out, link := filepath.Join(at, "out"), filepath.Join(at, "link")
	must.OK(t, os.Symlink(out, link))
	sweep := []string{
		"sweep", "--methods", "fedawe,mifa", "--data", "leaf", "--clients", "4", "--rounds", "2", "--local-steps", "1",
		"--eval-every", "1", "--device", "cpu", "--seeds", "3,4", "--out",
	}
	pass(t, append(sweep, out)...)
	if o := pass(t, append(sweep, link)...); strings.Contains(o.stderr, "round 0") ||
		strings.Count(o.stderr, "2 finished runs kept") != 2 {
		t.Errorf("sweep: %s, want all kept", o.stderr)
	}
	for _, args := range [][]string{
		{"results", "list", "DIR"},
		{"results", "verify", "DIR"},
		{"results", "verify", "DIR", "--json"},
		{"results", "diff", "DIR", out},
		{"results", "export", "sweep", "DIR"},
		{
			"results", "show", filepath.Base(filepath.Dir(filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))),
			"--out", "DIR",
		},
		{"results", "merge", "DIR", "--out", filepath.Join(at, "DIR-all")},
		{"report", "DIR", "--to", filepath.Join(at, "report-DIR")},
	} {
		var said [2]string
		for i, dir := range []string{out, link} {
			with := make([]string, len(args))
			for k, a := range args {
				if a == "DIR" {
					a = dir
				}
				with[k] = strings.ReplaceAll(a, "DIR", filepath.Base(dir))
			}
			o := pass(t, with...)
			said[i] = strings.ReplaceAll(strings.ReplaceAll(o.stdout, dir, "DIR"), "-"+filepath.Base(dir), "-DIR")
			said[i] = strings.ReplaceAll(said[i], filepath.Base(dir)+"-all", "DIR-all")
		}
		if said[0] == "" || said[0] != said[1] {
			t.Errorf("%s: %q of the folder, %q of the link, want the same",
				strings.Join(args[:2], " "), said[0], said[1])
		}
	}
	for _, pair := range [][2]string{{"out-all", "link-all"}, {"report-out", "report-link"}} {
		a, b := filesBelow(t, filepath.Join(at, pair[0])), filesBelow(t, filepath.Join(at, pair[1]))
		if len(a) != len(b) || len(a) == 0 {
			t.Errorf("%s: %d files and %d, want the same", pair[0], len(a), len(b))
		}
	}
	if page := contents(t, filepath.Join(at, "report-link", report.Page)); !strings.Contains(page, "mifa") {
		t.Error("the report of the link has no run")
	}
}
