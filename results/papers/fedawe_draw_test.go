package papers

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/plot"
)

// everyFigure has one of each kind, small.
func everyFigure(t *testing.T) map[string]plot.Figure {
	t.Helper()
	bins := must.Get(FedAWEF5Rows([]float64{0.1, 0.1, 0.4, 1}))(t)
	var activity []FedAWEF6Row
	for _, kind := range []string{"stationary", "interleaved-sine"} {
		for _, p := range []float64{0.1, 0.5, 0.9} {
			for round := range 80 {
				activity = append(activity, FedAWEF6Row{kind, p, round, p * float64(round) / 80, round / 3 % 2})
			}
		}
	}
	var curves [][][]results.CurveRow
	var study []Line
	for _, method := range []string{
		"fedawe", "fedavg-active", "fedavg-all", "fedau", "f3ast", "fedavg-known", "mifa", "fedvarp",
	} {
		seeds := [][]results.CurveRow{
			run(method, 500, []float64{2.3, 1, 0.1}, []float64{0.1, 0.5, 0.6}),
			run(method, 500, []float64{2.2, 0.2, math.NaN()}, []float64{0.1, 0.3, 0.5}),
		}
		curves = append(curves, seeds)
		study = append(study, ofF3("0.5", fmt.Sprint(float64(len(study))/10), seeds...))
	}
	training := must.Get(fedaweF7Rows(ofF7(0.99, true, curves...)))(t)
	accuracy := must.Get(fedaweF3Rows(Measured{Lines: study}))(t)
	return map[string]plot.Figure{
		"fedawe-f2": fedaweF2Figure(fedaweF2Rows()), "fedawe-f3": fedaweF3Figure("", accuracy),
		"fedawe-f4": fedaweF4Figure([][]int{{5, 0, 15}, {0, 0, 0}}), "cafed-s1": quadraticFigure("x", quadraticRows()),
		"fedawe-f5": FedAWEF5Figure(bins), "fedawe-f6": FedAWEF6Figure(activity),
		"fedawe-f7": fedaweF7Figure("", training),
	}
}

var (
	viewBox   = regexp.MustCompile(`viewBox="0 0 ([\d.]+) ([\d.]+)"`)
	pathPoint = regexp.MustCompile(`[ML](-?[\d.]+(?:e-?\d+)?),(-?[\d.]+(?:e-?\d+)?)`)
	textAt    = regexp.MustCompile(`<text x="(-?[\d.]+)" y="(-?[\d.]+)"`)
)

func number64(t *testing.T, text string) float64 {
	t.Helper()
	x := must.Get(strconv.ParseFloat(text, 64))(t)
	return x
}

// Every figure has the bytes it had before, is 800 pixels wide, and has nothing outside of itself.
func TestFigureSVG(t *testing.T) {
	for name, f := range everyFigure(t) {
		t.Run(name, func(t *testing.T) {
			got := filestest.SVG(t, f)
			if again := filestest.SVG(t, everyFigure(t)[name]); again != got {
				t.Error("written twice: got other bytes, want the same")
			}
			box := viewBox.FindStringSubmatch(got)
			if box == nil || !strings.Contains(got, `width="600pt"`) { // 600 points are 800 pixels
				t.Fatalf("got %.200s, want a width of 600pt and a viewBox", got)
			}
			width, height := number64(t, box[1]), number64(t, box[2])
			points := pathPoint.FindAllStringSubmatch(got, -1)
			for _, p := range points {
				// A tolerance of half a point: the fifth digit.
				if x, y := number64(t, p[1]), number64(t, p[2]); x < -0.5 || y < -0.5 || x > width+0.5 ||
					y > height+0.5 {
					t.Errorf("drawn at %g, %g, want it within %g × %g", x, y, width, height)
				}
			}
			if len(points) < 20 {
				t.Errorf("%d points drawn, want 20 at least", len(points))
			}
			for _, p := range textAt.FindAllStringSubmatch(got, -1) {
				// Rotated text is placed in axes turned by a right angle, so either side may be its limit.
				if x, y := number64(t, p[1]), number64(t, p[2]); math.Abs(x) > max(width, height) ||
					math.Abs(y) > max(width, height) {
					t.Errorf("text at %g, %g, want it within %g × %g", x, y, width, height)
				}
			}
			for _, word := range append([]string{f.Title}, f.Names()...) {
				if !strings.Contains(got, strings.NewReplacer("'", "&#39;").Replace(">"+word+"<")) {
					t.Errorf("no text %q", word)
				}
			}
			if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
				t.Error("a coordinate or label is not finite")
			}
		})
	}
}

func TestWriteFigure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "figure.svg")
	f := everyFigure(t)["fedawe-f2"]
	must.OK(t, plot.WriteFigure(path, f))
	text, err := os.ReadFile(path)
	if err != nil || string(text) != filestest.SVG(t, f) {
		t.Errorf("file: got %d bytes, %v, want what WriteSVG writes", len(text), err)
	}
	f.Panels = nil
	err = plot.WriteFigure(path, f)
	if want := "results: " + path + ": no panel, want one at least"; err == nil || err.Error() != want {
		t.Errorf("no panel: got %v, want %s", err, want)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, text) || filestest.FileNames(t, dir) != "figure.svg" {
		t.Error("a failed write changed the folder, want it as it was")
	}
}

func TestFigureErrors(t *testing.T) {
	line := func(s plot.Series) plot.LineChart { return plot.LineChart{Series: []plot.Series{s}} }
	ok := line(plot.Series{X: []float64{1, 2}, Y: []float64{1, 2}})
	low := ok
	low.YMin, low.LogY = files.Some(0), true
	upside := ok
	upside.YMin, upside.YMax = files.Some(2), files.Some(1)
	for _, test := range []struct {
		name   string
		panels [][]plot.Chart
		want   string
	}{
		{"none", nil, "no panel, want one at least"},
		{"empty row", [][]plot.Chart{{}}, "no panel, want one at least"},
		{"logarithm of 0", [][]plot.Chart{{low}}, "panel 1 of row 1: y axis from 0 to 2."},
		{
			"upside down",
			[][]plot.Chart{{upside}},
			"panel 1 of row 1: y axis from 2 to 1, want an ascending range, above 0 if logarithmic",
		},
		{"no bin", [][]plot.Chart{{plot.Histogram{}}}, "panel 1 of row 1: histogram: no bin, want one at least"},
		{
			"bin",
			[][]plot.Chart{{plot.Histogram{Bins: []plot.Bin{{Low: 1, High: 1, Count: 3}}}}},
			"panel 1 of row 1: histogram: bin from 1 to 1 with 3, want an ascending range with at least 0",
		},
		{"no row", [][]plot.Chart{{plot.Raster{}}}, "panel 1 of row 1: raster: no row, want one at least"},
	} {
		err := plot.Figure{Panels: test.panels}.WriteSVG(io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}

// Charts without any data, with one point, with equal values: an axis all the same.
func TestFigureDegenerate(t *testing.T) {
	for name, s := range map[string]plot.Series{
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
			got := filestest.SVG(t, plot.Figure{Panels: [][]plot.Chart{{plot.LineChart{
				Series: []plot.Series{s},
				LogY:   logY,
			}, nil}}})
			if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
				t.Errorf("%s, logarithmic %v: a coordinate or label is not finite", name, logY)
			}
		}
	}
}
