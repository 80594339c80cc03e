package stats

import (
	"math"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
)

func TestCompare(t *testing.T) {
	with := func(mean, std float64, n int) Estimate { return Estimate{mean, files.Some(std), n} }
	for _, test := range []struct {
		name        string
		ours, paper Estimate
		want        Verdict
		margin      files.Optional
	}{
		// √(3²/3 + 1²/1) = 2, so the margin is 4.
		{"well within", with(10, 3, 3), with(12, 1, 1), Within, files.Some(4)},
		{"at the margin", with(10, 3, 3), with(14, 1, 1), Within, files.Some(4)},
		{"just outside", with(10, 3, 3), with(14.001, 1, 1), Outside, files.Some(4)},
		{"outside above", with(20, 3, 3), with(14, 1, 1), Outside, files.Some(4)},
		{"equal without spread", with(0.1+0.2, 0, 3), with(0.3, 0, 3), Within, files.Some(0)},
		{"different without spread", with(0.3, 0, 3), with(0.301, 0, 3), Outside, files.Some(0)},
		{"one seed", Estimate{Mean: 10, N: 1}, with(10, 1, 3), Unknown, files.Optional{}},
		{"paper without std", with(10, 1, 3), Estimate{Mean: 10, N: 3}, Unknown, files.Optional{}},
		{"no seeds", with(10, 1, 0), with(10, 1, 3), Unknown, files.Optional{}},
		{"diverged", with(math.NaN(), 1, 3), with(10, 1, 3), Unknown, files.Optional{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			difference, margin, verdict := Compare(test.ours, test.paper)
			if verdict != test.want || !filestest.SameOptional(margin, test.margin) ||
				!filestest.Near(difference, test.ours.Mean-test.paper.Mean) {
				t.Errorf("%+v against %+v: got %g, %+v, %v, want %v, margin %+v",
					test.ours, test.paper, difference, margin, verdict, test.want, test.margin)
			}
		})
	}
}
