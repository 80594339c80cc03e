package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// merge takes known files of runs to places that it makes up itself, or nothing at all.
func TestMerge(t *testing.T) {
	top := t.TempDir()
	source, into := filepath.Join(top, "a/b/source"), filepath.Join(top, "a/b/into")
	pass(t, smallSweep(source, "--methods", "fedawe,mifa")...)
	run := only(t, source, "sweep/fedawe_*/seed-3")
	summary := filepath.Join(source, "sweep", results.SummaryFile)
	spoilt := strings.ReplaceAll(contents(t, summary), "\nsweep,", "\n../../PWN,")
	for path, text := range map[string]string{
		summary:                                  spoilt,
		filepath.Join(run, "id_rsa"):             "secret",
		filepath.Join(run, ".rollcall-ABC.tmp"):  "half",
		filepath.Join(run, "other.csv"):          "a,b\n",
		filepath.Join(source, "sweep", "x.html"): "x",
	} {
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	before := filesBelow(t, top)
	o := pass(t, "results", "merge", source, "--out", into)
	var copied []string
	for _, path := range filesBelow(t, top) {
		if !slices.Contains(before, path) {
			name, err := filepath.Rel(into, path)
			if err != nil || !filepath.IsLocal(name) {
				t.Errorf("%s: written outside of --out", path)
			}
			copied = append(copied, filepath.Base(name))
		}
	}
	slices.Sort(copied)
	if got := strings.Join(copied, " "); got != "curve.csv curve.csv run.json run.json summary.csv" {
		t.Errorf("copied %s, want two runs and their summary\n%s", got, o.stderr)
	}
	if text := contents(t, filepath.Join(into, "sweep", results.SummaryFile)); strings.Contains(text, "PWN") {
		t.Errorf("summary %q, want the runs' own table", text)
	}

	nothing := func(name, want string, args ...string) {
		t.Helper()
		before := filesBelow(t, top)
		o := rollcall(t, append([]string{"results", "merge"}, args...)...)
		if o.status != statusFailure || !strings.Contains(o.stderr, want) || !slices.Equal(filesBelow(t, top), before) {
			t.Errorf("%s: status %d, %q, want 1, %q, and nothing written", name, o.status, o.stderr, want)
		}
	}
	none := filepath.Join(top, "none")
	nothing("a run's folder", "want TABLE/CELL/seed-N", run, "--out", none)
	nothing("out below the source", "not inside each other", source, "--out", filepath.Join(source, "merged"))
	nothing("the source below out", "not inside each other", source, "--out", filepath.Dir(source))
}
