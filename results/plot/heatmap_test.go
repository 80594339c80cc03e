package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"

	"rollcall/internal/files/filestest"
)

// The colours of the scale at its ends and between: the lowest number has the lightest, the highest the darkest.
func TestHeatMapColours(t *testing.T) {
	for share, want := range map[float64]color.RGBA{
		0: shades[0], 1: shades[3], -2: shades[0], 3: shades[3], 1. / 3: shades[1],
		0.5: {60, 156, 184, 255}, // half way between {120, 198, 190} and {0, 114, 178}
	} {
		if got := shade(share); got != want {
			t.Errorf("share %g: %v, want %v", share, got, want)
		}
	}
	brightness := math.Inf(1)
	for k := range 101 {
		c := shade(float64(k) / 100)
		now := 0.2126*float64(c.R) + 0.7152*float64(c.G) + 0.0722*float64(c.B)
		if now >= brightness+0.5 { // half a step of rounding
			t.Errorf("share %d %%: brightness %g after %g, want it to fall", k, now, brightness)
		}
		brightness = now
	}
	svg := filestest.SVG(t, Figure{Panels: [][]Chart{{HeatMap{
		X: []float64{1, 2}, Y: []float64{10, 20, 40}, Z: [][]float64{{0, 1, 2}, {3, 4, 6}}, ScaleLabel: "how far",
	}}}})
	// Each cell has the colour of its share of 6; the scale has 128 boxes more, one of them the lightest.
	for z, boxes := range map[float64]int{0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 6: 1} {
		c := shade(z / 6)
		if n := strings.Count(svg, fmt.Sprintf("fill:#%02X%02X%02X", c.R, c.G, c.B)); n < 1 || z == 0 && n != boxes {
			t.Errorf("number %g: %d boxes of its colour, want %d", z, n, boxes)
		}
	}
	for _, word := range []string{">how far<", ">0<", ">6<"} {
		if !strings.Contains(svg, word) {
			t.Errorf("no text %s, want the scale with its ends", word)
		}
	}
}

// Edges are half way between the middles, and as far beyond the ends.
func TestHeatMapEdges(t *testing.T) {
	got, err := edgesOf([]float64{10, 20, 40})
	if err != nil || fmt.Sprint(got) != "[5 15 30 50]" {
		t.Errorf("%v, %v, want 5 15 30 50", got, err)
	}
}

func TestHeatMapErrors(t *testing.T) {
	two := []float64{1, 2}
	for _, c := range []struct {
		chart Chart
		want  string
	}{
		{HeatMap{}, "heat map: 0 columns or rows, want two at least"},
		{HeatMap{X: two, Y: two, Z: [][]float64{{1, 2}}}, "heat map: 1 columns of numbers at 2 places, want as many"},
		{
			HeatMap{X: two, Y: two, Z: [][]float64{{1, 2}, {1}}},
			"heat map: column 2: 1 numbers at 2 places, want as many",
		},
		{
			HeatMap{X: two, Y: two, Z: [][]float64{{1, math.NaN()}, {1, 2}}},
			"heat map: column 1: [1 NaN], want finite numbers",
		},
		{
			HeatMap{X: two, Y: []float64{2, 1}, Z: [][]float64{{1, 2}, {1, 2}}},
			"heat map: column or row at 1 after 2, want ascending numbers",
		},
		{Bubbles{}, "bubbles: no circle, want one at least"},
		{Bubbles{Shares: [][]float64{{1, 0}, {1}}}, "bubbles: column 1: 1 rows, want 2"},
		{Bubbles{Shares: [][]float64{{1, 1.5}}}, "bubbles: column 0, row 1: share 1.5, want 0 … 1"},
		{Bubbles{Shares: [][]float64{{math.NaN()}}}, "bubbles: column 0, row 0: share NaN, want 0 … 1"},
	} {
		err := Figure{Panels: [][]Chart{{c.chart}}}.WriteSVG(io.Discard)
		if want := "panel 1 of row 1: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%+v: got %v, want %s", c.chart, err, want)
		}
	}
}
