package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/compare"
)

// What has ended is read once, and again if it changes.
func TestListerReadsAnew(t *testing.T) {
	out := t.TempDir()
	args := strings.Fields("run --data leaf --clients 2 --rounds 1 --device cpu --out " + out)
	if status := Run(t.Context(), args, io.Discard, io.Discard); status != StatusOK {
		t.Fatalf("status %d, want 0", status)
	}
	l := &lister{folders: []string{out}}
	read := func() results.RunStatus {
		t.Helper()
		if err := l.read(t.Context()); err != nil || len(l.runs) != 1 {
			t.Fatalf("%d runs, %v, want 1", len(l.runs), err)
		}
		return l.runs[0].Status()
	}
	if got := read(); got != results.RunComplete || len(l.ended) != 1 {
		t.Fatalf("%s, %d ended, want it complete", got, len(l.ended))
	}
	curve := &l.runs[0].Curve[0]
	if read(); &l.runs[0].Curve[0] != curve {
		t.Error("the run was read again, want it kept")
	}
	must.OK(t, os.Remove(filepath.Join(l.runs[0].Dir, results.RunFile)))
	if got := read(); got != results.RunUnfinished {
		t.Errorf("without run.json: %s, want it unfinished", got)
	}
}

// On a terminal the list is drawn over the one before, as large as the terminal is then.
func TestListInPlace(t *testing.T) {
	var screen bytes.Buffer
	columns, lines := 80, 24
	show := inPlace(&screen, func() (int, int) { return columns, lines })
	rows := []compare.ListRow{
		{Table: "run", Seeds: "3", Status: "complete"}, {Table: "other", Seeds: "3", Status: "complete"},
	}
	for _, size := range [][2]int{{80, 24}, {12, 3}, {1, 1}} {
		columns, lines = size[0], size[1]
		screen.Reset()
		must.OK(t, show(rows))
		drawn, found := strings.CutPrefix(screen.String(), "\x1b[H\x1b[J")
		if !found || strings.Count(drawn, "\n") >= lines && lines > 1 {
			t.Errorf("%d×%d: %q, want the screen cleared, and fewer than %d lines",
				columns, lines, screen.String(), lines)
		}
		for line := range strings.Lines(drawn) {
			if n := len([]rune(line)) - 1; n >= columns {
				t.Errorf("%d×%d: line %q of %d characters, want fewer than %d", columns, lines, line, n, columns)
			}
		}
	}
}
