package activity

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results/plot"
)

// chainsOf returns the record of n clients who follow chains, and what a figure shows of them.
func chainsOf(t *testing.T, n, rounds int) Activity {
	t.Helper()
	options := availability.Defaults(make([]float64, n), 3)
	options.Clusters = n
	model := must.Get(availability.New("clusters", options))(t)
	pi, lambda := model.Stationary()
	p, mean := make([]float64, n), make([]float64, rounds)
	for i := range mean {
		model.Probabilities(i, p)
		for _, x := range p {
			mean[i] += x / float64(n)
		}
	}
	return Activity{
		Title: "clusters", Record: availability.RecordOf(model, n, rounds), Mean: mean,
		Chains: &Chains{Pi: pi, Lambda: lambda},
		Fit:    &Chains{Pi: slices.Repeat([]float64{0.4}, n), Lambda: slices.Repeat([]float64{0.3}, n)},
	}
}

// picture is the heat map in an SVG, which stretches it to its place.
var picture = regexp.MustCompile(`<image preserveAspectRatio="none" [^>]* xlink:href="data:image/png;base64,([^"]*)"`)

var titles = []string{"How long clients stay", "Autocorrelation", "How many are active", "Who is active"}

// Records of every size become a whole file, the same every time, of every kind, and a small one.
func TestFigure(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 2}, {4, 10}, {20, 100}, {100, 2000}, {1000, 300}, {201, 401}} {
		whole := chainsOf(t, size[0], size[1])
		for name, a := range map[string]Activity{
			"all": whole, "record alone": {Title: "trace", Record: whole.Record},
		} {
			t.Run(fmt.Sprintf("N=%d T=%d %s", size[0], size[1], name), func(t *testing.T) {
				svg := filestest.SVG(t, Figure(a))
				for _, want := range append(titles, fmt.Sprintf("%s: %d client", a.Title, size[0])) {
					if !strings.Contains(svg, want) {
						t.Errorf("no %q in the drawing", want)
					}
				}
				drawn := picture.ReplaceAllString(svg, "")
				if strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
					t.Error("a coordinate is not finite")
				}
				if again := filestest.SVG(t, Figure(a)); again != svg {
					t.Error("another drawing has other bytes")
				}
				for _, kind := range plot.Kinds {
					var b bytes.Buffer
					must.OK(t, Figure(a).Write(&b, kind, plot.ColumnWidth))
					if limit := 300_000; kind != "png" && b.Len() > limit {
						t.Errorf("%s: %d bytes, want at most %d", kind, b.Len(), limit)
					}
				}
			})
		}
	}
}

// The picture of a random record has the colour of every client in every round, the first client at the bottom; in an
// SVG and in a PDF.
func TestPicture(t *testing.T) {
	const n, rounds = 20, 80
	a := Activity{Record: availability.NewRecord(n, rounds)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for t := range rounds {
			if r.IntN(2) == 1 {
				a.Record.Set(i, t)
			}
		}
	}
	svg := filestest.SVG(t, Figure(a))
	data := picture.FindStringSubmatch(svg)
	if data == nil {
		t.Fatal("no picture in the SVG")
	}
	pixels := must.Get(png.Decode(bytes.NewReader(must.Get(base64.StdEncoding.DecodeString(data[1]))(t))))(t)
	wide, tall := pixels.Bounds().Dx()/rounds, pixels.Bounds().Dy()/n
	for i := range n {
		for k := range rounds {
			_, green, _, _ := pixels.At(k*wide+wide/2, (n-1-i)*tall+tall/2).RGBA()
			if dark := green < 1<<15; dark != a.Record.Active(i, k) {
				t.Fatalf("client %d, round %d: dark %v, want %v", i, k, dark, a.Record.Active(i, k))
			}
		}
	}
	var pdf bytes.Buffer
	must.OK(t, Figure(a).Write(&pdf, "pdf", plot.PageWidth))
	size := fmt.Sprintf("/Width %d\n/Height %d", pixels.Bounds().Dx(), pixels.Bounds().Dy())
	if !strings.Contains(pdf.String(), size) {
		t.Errorf("no picture of %q in the PDF", size)
	}
	_, rest, _ := bytes.Cut(pdf.Bytes(), []byte("stream\n"))
	page := string(must.Get(io.ReadAll(must.Get(zlib.NewReader(bytes.NewReader(rest)))(t)))(t))
	if n := strings.Count(page, " Do "); n != 1 {
		t.Errorf("%d pictures on the page of the PDF, want 1", n)
	}
}

// Bins hold the share of their cells, the last one of those that it has; clients stand by π.
func TestHeatMap(t *testing.T) {
	const n, rounds = 401, 801 // bins of 3 clients and 3 rounds
	a := Activity{Record: availability.NewRecord(n, rounds)}
	for t := range rounds {
		for i := range n {
			if i >= 200 && t < 400 { // clients 200 … 400 are there in half of the rounds, the others never
				a.Record.Set(i, t)
			}
		}
	}
	chart := a.heatMap()
	if len(chart.X) != 267 || len(chart.Y) != 134 {
		t.Fatalf("%d × %d bins, want 267 × 134", len(chart.X), len(chart.Y))
	}
	for x, want := range map[int]float64{0: 1, 132: 1, 133: 1. / 3, 134: 0, 266: 0} {
		if got := chart.Z[x][133]; math.Abs(got-want) > 1e-12 {
			t.Errorf("bin %d of the most active clients: %g, want %g", x, got, want)
		}
	}
	if got := chart.Z[0][66]; math.Abs(got-1./3) > 1e-12 {
		t.Errorf("bin of clients 198, 199 and 200: %g, want 1/3", got)
	}
	a.Chains = &Chains{Pi: make([]float64, n), Lambda: make([]float64, n)}
	for i := range n {
		a.Chains.Pi[i] = -float64(i)
	}
	if got := a.heatMap().Z[0]; got[0] != 1 || got[133] != 0 {
		t.Errorf("with π the other way round: %g at the bottom and %g on top, want 1 and 0", got[0], got[133])
	}
}

// A line of many rounds has the mean and the range of each bin.
func TestShares(t *testing.T) {
	const rounds = 250 // bins of 3
	a := Activity{Record: availability.NewRecord(2, rounds), Mean: make([]float64, rounds)}
	for t := 0; t < rounds; t += 3 {
		a.Record.Set(0, t)
	}
	lines := a.shares().Series
	share := lines[0]
	if len(share.X) != 84 || share.X[1] != 4 || share.Low[1] != 0 || share.High[1] != 0.5 ||
		math.Abs(share.Y[1]-0.5/3) > 1e-12 || share.Y[83] != 0.5 {
		t.Errorf("%d points, the second %g: %g in %g … %g, the last %g; want 84, 4: 1/6 in 0 … 0.5, 0.5",
			len(share.X), share.X[1], share.Y[1], share.Low[1], share.High[1], share.Y[83])
	}
	if len(lines) != 2 || len(lines[1].Low) != 0 {
		t.Errorf("%d lines, want the share and the mean of p, without a range", len(lines))
	}
}
