package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results/scoreboard"
)

// docs/reproduction.md has what its commands print of the results in the repository.
func TestReproductionPage(t *testing.T) {
	t.Chdir("../..")
	const source = "docs/reproduction.md"
	copied := filepath.Join(t.TempDir(), "page.md")
	must.OK(t, os.WriteFile(copied, []byte(contents(t, source)), 0o600))
	o := pass(t, "results", "fill", copied)
	if !strings.Contains(o.stderr, "precision: no table or figure of a paper: left out") {
		t.Errorf("stderr %q, want a note on the runs that are of no table", o.stderr)
	}
	if contents(t, copied) != contents(t, source) {
		t.Errorf("%s is not what its commands print, want `rollcall results fill %s`", source, source)
	}
}

// A page whose command is wrong stays as it is, and the error says in which line it is.
func TestFill(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "page.md")
	for _, c := range []struct {
		line   string
		status int
		parts  []string
	}{
		{"results merge a --out b", statusUsage, []string{"line 2", "merge", "that writes nothing"}},
		{"results fill page.md", statusUsage, []string{"line 2", "that writes nothing"}},
		{"run --data leaf", statusUsage, []string{"line 2", "run --data leaf", "a command of results"}},
		{"results", statusUsage, []string{"line 2", "a command of results"}},
		{"results compare fedawe-2 " + out, statusFailure, []string{"line 2", "no run of fedawe-2"}},
		{"results scoreboard --format tex", statusUsage, []string{"line 2", `--format "tex"`}},
		{"results scorebord", statusUsage, []string{"line 2", "scorebord", "a command of results"}},
	} {
		text := "# Title\n<!-- rollcall " + c.line + " -->\n" + scoreboard.BlockEnd + "\n"
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		oneLineError(t, rollcall(t, "results", "fill", path), c.status, append(c.parts, "page.md")...)
		if contents(t, path) != text {
			t.Errorf("%s: the page was written", c.line)
		}
	}
}
