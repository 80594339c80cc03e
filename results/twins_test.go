package results

import (
	"math"
	"testing"

	"rollcall/internal/files"
)

// Two seeds with the same numbers are a copy, unless there is nothing in which they could differ.
func TestRefuseTwins(t *testing.T) {
	curve := func(losses ...float64) (rows []CurveRow) {
		for round, loss := range losses {
			rows = append(rows, CurveRow{Round: round, TestLoss: files.Some(loss), TestAcc: files.Some(0)})
		}
		return rows
	}
	for _, c := range []struct {
		name  string
		curve []CurveRow
		twins bool
	}{
		{"trained", curve(2, 1), true},
		{"diverged after a round", curve(2, 3, math.NaN()), true},
		{"nobody was there", curve(2, 2), false},
		{"diverged at once", curve(2, math.NaN()), false},
		{"infinite at once", curve(2, math.Inf(1)), false},
		{"one row", curve(2), false},
	} {
		runs := []Run{{Seed: 3, Curve: c.curve}, {Seed: 4, Curve: c.curve}}
		if bad := RefuseTwins(runs); len(bad) > 0 != c.twins || runs[0].Damaged != c.twins ||
			runs[1].Damaged != c.twins {
			t.Errorf("%s: %v, want twins: %t", c.name, bad, c.twins)
		}
	}
}
