package report

import (
	"strings"
	"testing"

	"rollcall/results/plot"
)

func TestThin(t *testing.T) {
	var s plot.Series
	for i := range 2001 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, float64(i*i))
	}
	got := thin(s, 100)
	if n := len(got.X); n < 90 || n > 102 || got.X[0] != 0 || got.X[n-1] != 2000 || got.Y[n-1] != 4e6 {
		t.Errorf("%d points from %g to %g, want about 100 from 0 to 2000", n, got.X[0], got.X[n-1])
	}
}

// Paths in tenths, each relative to the one before: the last point is where it should be whatever came before.
func TestTrail(t *testing.T) {
	var b strings.Builder
	trail(&b, []plot.Place{{X: 1, Y: 2}, {X: 1.04, Y: 2.5}, {X: 1.55, Y: 1.5}, {X: 12, Y: -3.14}})
	if got, want := b.String(), "M1 2l0 .5 .6-1 10.4-4.6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
