package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
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

// What cannot be drawn is an error that names the panel.
func TestFigureErrors(t *testing.T) {
	two := []float64{1, 2}
	line := LineChart{Series: []Series{{X: two, Y: two}}}
	low, upside := line, line
	low.YMin, low.LogY = files.Some(0), true
	upside.YMin, upside.YMax = files.Some(2), files.Some(1)
	for _, c := range []struct {
		chart Chart
		want  string // in the error of its panel
	}{
		{low, "y axis from 0 to 2."},
		{upside, "y axis from 2 to 1, want an ascending range, above 0 if logarithmic"},
		{Histogram{}, "histogram: no bin, want one at least"},
		{
			Histogram{Bins: []Bin{{Low: 1, High: 1, Count: 3}}},
			"histogram: bin from 1 to 1 with 3, want an ascending range with at least 0",
		},
		{Raster{}, "raster: no row, want one at least"},
		{HeatMap{}, "heat map: 0 columns or rows, want one at least"},
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
		if want := "panel 1 of row 1: " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", c.chart, err, want)
		}
	}
	for _, panels := range [][][]Chart{nil, {{}}} {
		err := Figure{Panels: panels}.WriteSVG(io.Discard)
		if err == nil || err.Error() != "no panel, want one at least" {
			t.Errorf("%d rows of panels: got %v, want an error that asks for one", len(panels), err)
		}
	}
}

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

// strokes counts the lines drawn in the first style's colour, black.
func strokes(t *testing.T, c LineChart) int {
	t.Helper()
	return strings.Count(filestest.SVG(t, Figure{Panels: [][]Chart{{c}}}), "stroke:#1C1F24")
}

// What has no place on the axis leaves a gap, and is not joined over.
func TestLineChartGaps(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name string
		y    []float64
		log  bool
		want int // pieces
	}{
		{"whole", []float64{1, 2, 3, 4, 5}, false, 1},
		{"gap", []float64{1, 2, nan, 4, 5}, false, 2},
		{"infinite", []float64{1, inf, 3, -inf, 5}, false, 3},
		{"gap at the ends", []float64{nan, 2, 3, 4, nan}, false, 1},
		{"zero and below on a logarithmic axis", []float64{1, 0, 3, -4, 5}, true, 3},
		{"zero and below on a linear one", []float64{1, 0, 3, -4, 5}, false, 1},
		{"nothing", []float64{nan, nan, nan, nan, nan}, false, 0},
	} {
		c := LineChart{Series: []Series{{X: []float64{0, 1, 2, 3, 4}, Y: test.y}}, LogY: test.log}
		if got := strokes(t, c); got != test.want {
			t.Errorf("%s: got %d pieces, want %d", test.name, got, test.want)
		}
	}
}

func TestLineChartStep(t *testing.T) {
	points := func(step bool) int {
		got := filestest.SVG(t, Figure{Panels: [][]Chart{{LineChart{Series: []Series{{
			X: []float64{0, 1, 2}, Y: []float64{0, 1, 0}, Step: step,
		}}}}}})
		for line := range strings.SplitSeq(got, "\n") {
			if path, style, ok := strings.Cut(line, " style="); ok && strings.Contains(style, "stroke:#1C1F24") {
				return len(filestest.Points(t, path))
			}
		}
		t.Fatal("no line was drawn")
		return 0
	}
	if straight, steps := points(false), points(true); straight != 3 || steps != 5 {
		t.Errorf("got %d corners joined straight and %d in steps, want 3 and 5", straight, steps)
	}
}

// Lines are told apart by colour and by dashes alone.
func TestStyles(t *testing.T) {
	var l styles
	for i := range len(palette) * len(dashes) {
		l.add(strings.Repeat("x", i+1), strings.Repeat("x", i+1), "")
	}
	if len(l.names) != 72 {
		t.Fatalf("%d names, want 72: a name counts once, and none not at all", len(l.names))
	}
	for i, a := range l.names {
		for j, b := range l.names[:i] {
			x, y := l.line(a), l.line(b)
			if x.Color == y.Color && slices.Equal(x.Dashes, y.Dashes) {
				t.Errorf("lines %d and %d look the same", i+1, j+1)
			}
			if i < len(dashes) && slices.Equal(x.Dashes, y.Dashes) {
				t.Errorf("lines %d and %d have the same dashes", i+1, j+1)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(log bool, low, high float64) string {
		ticks := linearTicks(low, high)
		if log {
			ticks = logTicks(math.Log10(low), math.Log10(high))
		}
		var words []string
		for _, tick := range ticks {
			if tick.Label != "" {
				words = append(words, tick.Label)
			}
		}
		return strings.Join(words, " ")
	}
	for _, test := range []struct {
		log       bool
		low, high float64
		want      string
	}{
		{false, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{false, 0, 2000, "0 500 1000 1500 2000"},
		{false, -1, 1, "-1.0 -0.5 0.0 0.5 1.0"},
		{false, 8.3, 62.1, "10 20 30 40 50 60"},
		{false, 0, 80, "0 20 40 60 80"},
		{false, 0.0012, 0.0034, "0.0015 0.0020 0.0025 0.0030"},
		{true, 0.001, 0.01, "0.001 0.002 0.005 0.01"},
		{true, 1e-6, 1, "1e-06 1e-05 0.0001 0.001 0.01 0.1 1"},
		{true, 1e-3, 2e30, "1 1e+05 1e+10 1e+15 1e+20 1e+25 1e+30"},
		{true, 0.4, 2.4, "0.5 1 2"},
		{true, 1.1, 1.9, "1.2 1.4 1.6 1.8"}, // no power of ten within
	} {
		if got := labels(test.log, test.low, test.high); got != test.want {
			t.Errorf("%g … %g, logarithmic %v: got %s, want %s", test.low, test.high, test.log, got, test.want)
		}
	}
}

func TestBins(t *testing.T) {
	bins := must.Get(Bins([]float64{0, 0.1, 0.1999, 0.2, 0.3, 0.7, 0.6, 1}, 0, 1, 10))(t)
	var counts []int
	for i, b := range bins {
		counts = append(counts, b.Count)
		if b.Low != float64(i)/10 || b.High != float64(i+1)/10 {
			t.Errorf("bin %d: got %v … %v, want %v … %v", i, b.Low, b.High, float64(i)/10, float64(i+1)/10)
		}
	}
	// 0.3, 0.6 and 0.7 are the bins' lower ends, 1 the upper end of the last.
	if want := []int{1, 2, 1, 1, 0, 0, 1, 1, 0, 1}; !slices.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
	for _, test := range []struct {
		name      string
		values    []float64
		low, high float64
		n         int
		want      string
	}{
		{"outside", []float64{0.5, 1.1}, 0, 1, 3, "results: bins: value 2 is 1.1, want 0 … 1"},
		{"NaN", []float64{math.NaN()}, 0, 1, 3, "results: bins: value 1 is NaN, want 0 … 1"},
	} {
		if _, err := Bins(test.values, test.low, test.high, test.n); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}

// Charts without any data, with one point, with equal values: an axis all the same.
func TestFigureDegenerate(t *testing.T) {
	for name, s := range map[string]Series{
		"no point":        {},
		"one point":       {X: []float64{3}, Y: []float64{0}},
		"constant":        {X: []float64{1, 2, 3}, Y: []float64{5, 5, 5}},
		"all diverged":    {X: []float64{1, 2}, Y: []float64{math.NaN(), math.Inf(1)}},
		"huge":            {X: []float64{1, 2}, Y: []float64{1e300, -1e300}},
		"tiny":            {X: []float64{1, 2}, Y: []float64{1e-300, 2e-300}},
		"same x":          {X: []float64{7, 7}, Y: []float64{1, 2}},
		"nearly the same": {X: []float64{1, 2}, Y: []float64{1, math.Nextafter(1, 2)}},
	} {
		for _, logY := range []bool{false, true} {
			chart := LineChart{Series: []Series{s}, LogY: logY}
			got := filestest.SVG(t, Figure{Panels: [][]Chart{{chart, nil}}})
			if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
				t.Errorf("%s, logarithmic %v: a coordinate or label is not finite", name, logY)
			}
		}
	}
}

// An axis of dates has one to six labels, whatever its length, at days, Mondays or the first days of months.
func TestDates(t *testing.T) {
	begin := time.Date(2025, 12, 30, 3, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		days int
		want string
	}{
		{1, "2025-12-30"},
		{3, "2025-12-30 2025-12-31 2026-01-01"},
		{7, "2025-12-30 2026-01-01 2026-01-03 2026-01-05"},
		{24, "2026-01-05 2026-01-12 2026-01-19"},
		{50, "2026-01-05 2026-01-19 2026-02-02 2026-02-16"},
		{100, "2026-01 2026-02 2026-03 2026-04"},
		{365, "2026-01 2026-04 2026-07 2026-10"},
		{1500, "2026-01 2027-01 2028-01 2029-01 2030-01"},
		{20000, "2030-01 2040-01 2050-01 2060-01 2070-01 2080-01"},
	} {
		low := float64(begin.Unix()) / 86400
		high := low + float64(test.days-1)
		_, x, _, err := Frame(LineChart{
			Dates: true, Series: []Series{{X: []float64{low, high}, Y: []float64{1, 2}}},
			XMin: files.Some(low - 0.5), XMax: files.Some(high + 0.5),
		})
		var labels []string
		for _, tick := range x.Ticks {
			labels = append(labels, tick.Label)
			if at, _ := time.Parse("2006-01", tick.Label[:7]); tick.Value < low-0.5 || tick.Value > high+0.5 ||
				len(tick.Label) == 7 && tick.Value != float64(at.Unix())/86400 {
				t.Errorf("%d days: %s at %g, want it there and on the axis", test.days, tick.Label, tick.Value)
			}
		}
		if got := strings.Join(labels, " "); got != test.want || err != nil {
			t.Errorf("%d days: %s, %v, want %s", test.days, got, err, test.want)
		}
	}
}

// A path of relative distances goes through the same points, to half a hundredth, however many there are.
func TestRelative(t *testing.T) {
	for absolute, want := range map[string]string{
		"M8,180L38,180":                         "M8 180l30 0",
		"M0,0L600,0L600,217.5L0,217.5":          "M0 0l600 0 0 217.5-600 0",
		"M1.25,0.5L1.5,0.75L1.504,0.746L-2,-.5": "M1.25.5l.25.25 0 0-3.5-1.25",
		"M1e-05,-1e-05L0.004,0.015":             "M0 0l0 .02",
		"M1,2Lnonsense":                         "M1,2Lnonsense",
	} {
		if got := string(relative([]byte(absolute))); got != want {
			t.Errorf("%s: %s, want %s", absolute, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	points := make([][2]float64, 5000)
	absolute := make([]string, len(points))
	for i := range points {
		points[i] = [2]float64{600 * rng.Float64(), 300 * rng.Float64()}
		absolute[i] = fmt.Sprintf("%g,%g", points[i][0], points[i][1])
	}
	got := filestest.Points(t, string(relative([]byte("M"+strings.Join(absolute, "L")))))
	if len(got) != len(points) {
		t.Fatalf("%d points, want %d", len(got), len(points))
	}
	for i, want := range points {
		if x, y := got[i][0]-want[0], got[i][1]-want[1]; max(math.Abs(x), math.Abs(y)) > 0.005+1e-9 {
			t.Fatalf("point %d: %v, want %v", i, got[i], want)
		}
	}
}
