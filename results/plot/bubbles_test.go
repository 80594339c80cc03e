package plot

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// A circle has the area of its share: radii are as the square roots. A share of 0 has no circle, and the key has four.
func TestBubbles(t *testing.T) {
	svg := filestest.SVG(t, Figure{Panels: [][]Chart{{Bubbles{Shares: [][]float64{{0.09, 0}, {0.64, 0.36}}}}}})
	var radii []float64
	for _, found := range regexp.MustCompile(`A([\d.]+),[\d.]+ 0`).FindAllStringSubmatch(svg, -1) {
		r := must.Get(strconv.ParseFloat(found[1], 64))(t)
		radii = append(radii, r)
	}
	shares := []float64{0.09, 0.64, 0.36, 1, 0.5, 0.25, 0.1} // the last four are the key
	if len(radii) != 2*len(shares) {                         // a circle is two arcs
		t.Fatalf("%d arcs, want two for each of %d circles", len(radii), len(shares))
	}
	whole := radii[2*3]
	for k, share := range shares {
		if got, want := radii[2*k], whole*math.Sqrt(share); math.Abs(got-want) > 1e-3*want { // SVG has five digits
			t.Errorf("share %g: radius %g, want %g", share, got, want)
		}
	}
}

// However large the cells are, the circles of the key stay apart: two neighbours fit into their distance.
func TestBubblesFewCells(t *testing.T) {
	svg := filestest.SVG(t, Figure{Panels: [][]Chart{{Bubbles{Shares: [][]float64{{1}}}}}})
	found := regexp.MustCompile(`A([\d.]+),[\d.]+ 0`).FindAllStringSubmatch(svg, -1)
	if len(found) != 2*5 {
		t.Fatalf("%d arcs, want two for each of one circle and the four of the key", len(found))
	}
	r, err := strconv.ParseFloat(found[0][1], 64)
	if limit := keyLeading.Points() / 2; err != nil || r > limit {
		t.Errorf("radius %g, %v, want at most %g", r, err, limit)
	}
}
