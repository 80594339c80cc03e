package papers

import (
	"testing"

	"rollcall/results/plot"
)

// Shares are of the client's own images, and a client without images has none.
func TestFedAWEF4(t *testing.T) {
	counts := [][]int{{5, 0, 15}, {0, 0, 0}, {2, 3, 5}}
	rows := fedaweF4Rows(counts)
	want := []fedaweF4Row{
		{0, 0, 0.25, 5},
		{0, 1, 0, 0},
		{0, 2, 0.75, 15},
		{1, 0, 0, 0},
		{1, 1, 0, 0},
		{1, 2, 0, 0},
		{2, 0, 0.2, 2},
		{2, 1, 0.3, 3},
		{2, 2, 0.5, 5},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	chart := fedaweF4Figure(counts).Panels[0][0].(plot.Bubbles)
	for k, r := range rows {
		if r != want[k] || chart.Shares[r.Client][r.Class] != r.Share { // one division: exact
			t.Errorf("row %d: %+v, drawn %g, want %+v", k, r, chart.Shares[r.Client][r.Class], want[k])
		}
	}
}
