package run

import (
	"io"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The file ends with the newest version, whatever was skipped, and rows that come later change none handed over.
func TestCurveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), results.CurveFile)
	f := newCurveFile(to(path), path, io.Discard)
	var rows []results.CurveRow
	for round := range 200 {
		rows = append(rows, results.CurveRow{Round: round})
		f.put(rows)
	}
	must.OK(t, f.close(t.Context()))
	got := must.Get(results.ReadCurve(path))(t)
	if len(got) != 200 || got[199].Round != 199 {
		t.Errorf("%d rows, want 200 with round 199 the last", len(got))
	}
}

// to returns what writes a curve to a path.
func to(path string) func([]results.CurveRow) error {
	return func(rows []results.CurveRow) error { return results.WriteCurve(path, rows) }
}
