package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// wheelFolder is the variable that names the folder of wheels which tests install.
const wheelFolder = "ROLLCALL_TEST_WHEEL"

// docs/python.md is followed as it stands there: its file is written, and its commands are run, eight at most, from the
// installation to a chart and a table in LaTeX with the method's row. Without wheels to install, this program stands in
// for the environment's.
func TestPythonGuide(t *testing.T) {
	needsPython(t)
	page := contents(t, "../../docs/python.md")
	from := strings.Index(page, "## From nothing to a table")
	guide := page[from:]
	guide = guide[:strings.Index(guide, "Without the wheel")]
	file := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(guide)[1]
	commands := slices.DeleteFunc(docsCommands(guide), func(c string) bool { return c == "make wheel" })
	if len(commands) > 8 || len(strings.Split(strings.TrimSpace(file), "\n")) > 20 {
		t.Errorf("%d commands and this file, want 8 commands and 20 lines at most:\n%s", len(commands), file)
	}
	shop := newDocsShop(t, "docs/python.md")
	docsWrite(t, filepath.Join(shop.dir, "fedaum.py"), file, 0o666)
	if wheels := os.Getenv(wheelFolder); wheels != "" {
		must.OK(t, os.MkdirAll(filepath.Join(shop.dir, "bin"), 0o777))
		must.OK(t, os.CopyFS(filepath.Join(shop.dir, "bin", "wheel"), os.DirFS(wheels)))
		// The environment's own Python, and NumPy from the folder: a test has no network.
		shop.env = append(shop.env, "ROLLCALL_PYTHON=", "PIP_NO_INDEX=1", "PIP_FIND_LINKS=bin/wheel")
	} else {
		t.Logf("no %s: the commands that install it are left out", wheelFolder)
		commands = slices.DeleteFunc(commands, func(c string) bool {
			return c == "python3 -m venv env" || strings.HasPrefix(c, "env/bin/pip ")
		})
		must.OK(t, os.MkdirAll(filepath.Join(shop.dir, "env", "bin"), 0o777))
		must.OK(t, os.Symlink(filepath.Join(shop.dir, "bin", "rollcall"), filepath.Join(shop.dir, "env/bin/rollcall")))
	}
	said := ""
	for _, c := range commands {
		var err error
		if said, err = shop.run(c); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, said)
		}
	}
	for _, want := range []string{`\begin{tabular}`, "fedaum", "mifa"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s:\n%s\nwant a table in LaTeX with %s", commands[len(commands)-1], said, want)
		}
	}
	charts := must.Get(filepath.Glob(filepath.Join(shop.dir, "out", "sweep", "report", "figures", "curves-*.csv")))(t)
	if len(charts) != 1 {
		t.Fatalf("charts %q, want one of all methods", charts)
	}
	for _, method := range []string{"fedaum", "fedau", "fedawe", "mifa"} {
		if text := contents(t, charts[0]); !strings.Contains(text, ","+method+",") {
			t.Errorf("%s: without %s", charts[0], method)
		}
	}
}
