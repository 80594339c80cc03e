package track

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results/plot"
)

func TestPlot(t *testing.T) {
	h := steps(150, map[int]float64{60: 1.05, 120: 0.9})
	trends := DefaultRule().Trends(h)
	f := must.Get(Plot(h, trends))(t)
	if len(f.Panels) != 1 || len(f.Panels[0]) != 1 {
		t.Fatalf("panels: got %v, want one", f.Panels)
	}
	c := f.Panels[0][0].(plot.LineChart)
	if want := "metric/00: -10.0 % on 2026-05-01"; c.Title != want || c.YLabel != "ms" ||
		c.XLabel != "days since 2026-01-01" {
		t.Errorf("words: got %q, %q, %q, want %q, ms, days since 2026-01-01", c.Title, c.YLabel, c.XLabel, want)
	}
	var names []string
	for _, s := range c.Series {
		names = append(names, s.Name)
	}
	if want := []string{
		"night", "level (median)", "first slower night", "first faster night",
	}; !reflect.DeepEqual(names, want) {
		t.Fatalf("series: got %v, want %v", names, want)
	}
	if got, want := c.Series[0].Y, trends[0].Values; !reflect.DeepEqual(got, want) {
		t.Errorf("nights: got %v, want %v", got, want)
	}
	for i, day := range []float64{60, 120} {
		if got := c.Series[2+i].X; got[0] != day || got[1] != day {
			t.Errorf("mark %d: at %v, want at day %v", i, got, day)
		}
	}
	level := c.Series[1]
	for i, want := range []float64{0, 59, math.NaN(), 60, 119, math.NaN(), 120, 149, math.NaN()} {
		if got := level.X[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("level: x %d is %v, want %v", i, got, want)
		}
	}
	// Values of the metric: 10 ms, its lower fifth about 0.2 % below; 1 % for both.
	for i, want := range map[int]float64{0: 10, 3: 10.5, 6: 9.45} {
		if got := level.Y[i]; math.Abs(got/want-1) > 0.01 {
			t.Errorf("level at %v: got %v, want %v ± 1 %%", level.X[i], got, want)
		}
	}
	var svg strings.Builder
	if err := f.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "first slower night") {
		t.Errorf("SVG: got %d bytes, %v, want one with %q", svg.Len(), err, "first slower night")
	}
	if _, err := Plot(h, nil); err == nil {
		t.Error("no trend: got no error, want one")
	}
}
