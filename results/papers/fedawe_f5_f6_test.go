package papers

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files/filestest"
	"rollcall/results/plot"
)

// FedAWE, Figure 6: a client's activity is what was given, and its last round is as wide as the others.
func TestFedAWEF6Figure(t *testing.T) {
	var rows []FedAWEF6Row
	for round, on := range []int{1, 0, 0, 1, 1} {
		rows = append(rows, FedAWEF6Row{"sine", 0.5, round, 0.1 * float64(round), on})
	}
	f := FedAWEF6Figure(rows)
	path, activity := f.Panels[0][0].(plot.LineChart).Series[0], f.Panels[0][1].(plot.Raster).Rows[0]
	if !slices.Equal(path.X, []float64{0, 1, 2, 3, 4, 5}) || !path.Step || !filestest.Near(path.Y[5], 0.4) {
		t.Errorf("trajectory: got %+v, want steps to the end of round 4", path)
	}
	if !slices.Equal(activity.On, []bool{true, false, false, true, true}) || activity.Name != "0.5" {
		t.Errorf("activity: got %+v, want rounds 0, 3 and 4", activity)
	}
	// Round 0 and rounds 3 and 4 are two bars.
	if got := strings.Count(filestest.SVG(t, f), "fill:#0072B2"); got != 2 {
		t.Errorf("bars: got %d, want 2", got)
	}
}
