package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The names of cells are in the printed table, in exports of the folder and on its page; a later sweep into the folder
// leaves those that are there.
func TestCellNames(t *testing.T) {
	out := t.TempDir()
	sweep := func(cells ...string) string {
		args := strings.Fields("sweep --name own --methods fedavg-active,mifa --data leaf --clients 6 --rounds 2 " +
			"--batch 4 --eval-every 1 --seeds 3,4 --device cpu --p 1 --out " + out)
		for _, cell := range cells {
			args = append(args, "--cell", cell)
		}
		return pass(t, args...).stdout
	}
	first := sweep("few steps: local-steps=1", "many: local-steps=3,4")
	sweep("fewer: local-steps=2")
	export := pass(t, "results", "export", "own", out, "--format", "markdown").stdout
	pass(t, "report", out)
	page := contents(t, filepath.Join(out, "report", "index.html"))
	for _, name := range []string{"few steps", "local-steps=4", "fewer"} {
		if name != "fewer" && !strings.Contains(first, name) {
			t.Errorf("the table lacks %q:\n%s", name, first)
		}
		if !strings.Contains(export, name) {
			t.Errorf("the export lacks %q:\n%s", name, export)
		}
		if !strings.Contains(page, name) {
			t.Errorf("the page lacks %q", name)
		}
	}
	// A merged folder has the names and the command lines too.
	merged := filepath.Join(t.TempDir(), "merged")
	pass(t, "results", "merge", out, "--out", merged)
	if export := pass(t, "results", "export", "own", merged, "--format", "markdown").stdout; !strings.Contains(export,
		"few steps") {
		t.Errorf("the merged folder's export lacks the names:\n%s", export)
	}
	if got, want := results.Commands(filepath.Join(merged, "own")), results.Commands(filepath.Join(out, "own")); len(
		want) != 2 || !slices.Equal(got, want) {
		t.Errorf("the merged folder has the commands %q, want %q", got, want)
	}
	labels := must.Get(results.ReadLabels(filepath.Join(out, "own")))(t)
	if len(labels) != 8 {
		t.Errorf("%d labels, want those of 4 cells of two methods: %v", len(labels), labels)
	}
}
