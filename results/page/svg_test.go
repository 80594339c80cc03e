package page

import (
	"strings"
	"testing"

	"rollcall/results/plot"
)

// Paths in tenths, each relative to the one before: the last point is where it should be whatever came before.
func TestTrail(t *testing.T) {
	var b strings.Builder
	trail(&b, []plot.Place{{X: 1, Y: 2}, {X: 1.04, Y: 2.5}, {X: 1.55, Y: 1.5}, {X: 12, Y: -3.14}})
	if got, want := b.String(), "M1 2l0 .5 .6-1 10.4-4.6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
