package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// ownPage takes a reader from own files to a table and a page. [TestOwn] runs it as a reader does, and [TestDocs] looks
// its commands up alone.
const ownPage = "docs/own.md"

// ownBlocks are the blocks of the page that a reader saves, under the name in the first line.
var ownBlocks = regexp.MustCompile("(?ms)^```(?:python|yaml|text)\n# (\\S+\\.\\w+)\n(.*?)^```$")

// The page's files, saved under the names in them, and its commands, in order, make the table and the page. There are
// at most ten commands.
func TestOwn(t *testing.T) {
	ofProcesses(t)
	interpreter, text, dir := needsPython(t), contents(t, "../../"+ownPage), t.TempDir()
	blocks := ownBlocks.FindAllStringSubmatch(text, -1)
	if len(blocks) != 3 {
		t.Fatalf("%s: %d blocks to save, want 3", ownPage, len(blocks))
	}
	for _, b := range blocks {
		must.OK(t, os.WriteFile(filepath.Join(dir, b[1]), []byte(b[2]), 0o666))
	}
	tools := t.TempDir()
	python := "#!/bin/sh\nexec '" + interpreter + "' \"$@\"\n"
	must.OK(t, os.WriteFile(filepath.Join(tools, "python3"), []byte(python), 0o777))
	lines, commands, said := strings.Split(text, "\n"), 0, ""
	for _, c := range docsCommands(text) {
		if !strings.HasPrefix(lines[c.line-1], "    ") { // a command in a sentence
			continue
		}
		commands++
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", c.text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "ROLLCALL_DEVICE=cpu")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s:%d: %s: %v\n%s", ownPage, c.line, c.text, err, out)
		}
		said += string(out)
	}
	if commands < 5 || commands > 10 {
		t.Errorf("%d commands, want 5 to 10", commands)
	}
	if _, quoted, _ := strings.Cut(text, "```text\nwaves.npz: "); !strings.Contains(said, "waves.npz: "+
		strings.SplitN(quoted, "\n", 2)[0]) {
		t.Errorf("the page quotes %q, the program says\n%s", strings.SplitN(quoted, "\n", 2)[0], said)
	}
	page := contents(t, filepath.Join(dir, "out/waves/report/index.html"))
	for _, want := range []string{`id="table-waves"`, "fedawe", "waves-net", `id="curves-waves-sine"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "scenario", "weights.npz")); err != nil {
		t.Error(err)
	}
	t.Log(said)
}
