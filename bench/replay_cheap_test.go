package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/results/papers"
)

// replayStub stands in for rollcall: it notes its arguments, fails at $BROKEN, and otherwise writes the files of a
// table or figure.
const replayStub = `#!/bin/sh
[ "$1" != version ] || { echo rollcall abc-dirty; exit; }
echo "$*" >>"$LOG"
[ "$2" != "$BROKEN" ] || exit 1
kind=$1 id=$2
while [ "$1" != --out ]; do shift; done
mkdir -p "$2/$id/some_run"
case $kind in
table) echo rows >"$2/$id/summary.csv" ;;
figure)
	for end in .csv .svg -paper.csv; do echo rows >"$2/$id/$id$end"; done
	echo '  "version": "abc"' >"$2/$id/$id.json"
	;;
esac`

// results/replay/cheap.sh runs tables and figures that there are, in presets that there are, and keeps their files
// alone. Where it was stopped it goes on, and figures that are there are not drawn again.
func TestReplayCheap(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("left out: no sh")
	}
	dir := t.TempDir()
	stub, log, keep := filepath.Join(dir, "rollcall"), filepath.Join(dir, "log"), filepath.Join(dir, "keep")
	if err := os.WriteFile(stub, []byte(replayStub), 0o700); err != nil {
		t.Fatal(err)
	}
	cheap := func(broken string) (commands []string, err error) {
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "../results/replay/cheap.sh")
		cmd.Env = append(os.Environ(), "ROLLCALL="+stub, "OUT="+filepath.Join(dir, "out"), "KEEP="+keep, "LOG="+log,
			"BROKEN="+broken, "FLAGS=--device cpu")
		err = cmd.Run()
		return strings.FieldsFunc(contents(t, log), func(r rune) bool { return r == '\n' }), err
	}
	stopped, err := cheap("cafed-i2")
	if err == nil || !strings.HasPrefix(stopped[len(stopped)-1], "figure cafed-i2 ") {
		t.Fatalf("%q, %v, want it to stop at cafed-i2", stopped, err)
	}
	further, err := cheap("")
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(further, func(c string) bool { return strings.HasPrefix(c, "figure fedawe-f2 ") }) {
		t.Errorf("%q, want fedawe-f2 left alone, which was there", further)
	}
	for _, command := range append(stopped, further...) {
		words := strings.Fields(command)
		id := words[1]
		known, want := papers.FigureNames(), []string{id + "-paper.csv", id + ".csv", id + ".json", id + ".svg"}
		if words[0] == "table" {
			known, want = papers.TableNames(), []string{"summary.csv"}
		}
		reading := ""
		if i := slices.Index(words, "--preset"); i > 0 {
			if reading = words[i+1]; !slices.Contains(algos.Presets(), reading) {
				t.Errorf("%s: preset %s, want one of %q", command, reading, algos.Presets())
			}
		}
		if !slices.Contains(known, id) || !strings.Contains(command, " --device cpu") {
			t.Errorf("%s: want a %s of the papers, with --device cpu", command, words[0])
		}
		var kept []string
		entries, err := os.ReadDir(filepath.Join(keep, id, reading))
		for _, e := range entries {
			kept = append(kept, e.Name())
		}
		if err != nil || !slices.Equal(kept, want) {
			t.Errorf("%s: kept %q, %v, want %q", command, kept, err, want)
		}
	}
	again, err := cheap("")
	if err != nil || slices.ContainsFunc(again, func(c string) bool { return strings.HasPrefix(c, "figure ") }) {
		t.Errorf("%q, %v, want no figure drawn again", again, err)
	}
}
