package run

import (
	"os"
	"path/filepath"
	"testing"

	"rollcall/results"
)

// The file ends with the newest version, whatever was skipped, and rows that come later change none handed over.
func TestCurveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), results.CurveFile)
	f := newCurveFile(path)
	var rows []results.CurveRow
	for round := range 200 {
		rows = append(rows, results.CurveRow{Round: round})
		if err := f.put(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	got, err := results.ReadCurve(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 200 || got[199].Round != 199 {
		t.Errorf("%d rows, want 200 with round 199 the last", len(got))
	}
}

// What goes wrong is told once, by the next put or at the end, and nothing hangs after it.
func TestCurveFileFails(t *testing.T) {
	for _, puts := range []int{1, 50} {
		dir := filepath.Join(t.TempDir(), "gone")
		if err := os.WriteFile(dir, nil, 0o666); err != nil { // a file where the folder should be
			t.Fatal(err)
		}
		f := newCurveFile(filepath.Join(dir, results.CurveFile))
		told := 0
		for range puts {
			if f.put([]results.CurveRow{{}}) != nil {
				told++
			}
		}
		if f.close() != nil {
			told++
		}
		if told != 1 {
			t.Errorf("%d versions: %d errors, want 1", puts, told)
		}
	}
}
