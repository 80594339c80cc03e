package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// strokes counts the lines drawn in the first style's colour, black.
func strokes(t *testing.T, c LineChart) int {
	t.Helper()
	return strings.Count(filestest.SVG(t, Figure{Panels: [][]Chart{{c}}}), "stroke:#000000")
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
			if strings.Contains(line, "stroke:#000000") {
				return 1 + strings.Count(line, "L")
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
