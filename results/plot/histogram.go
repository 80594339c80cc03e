package plot

import (
	"fmt"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/results/stats"
)

// Bin is one bar of a histogram.
type Bin struct {
	Low   float64 `csv:"low"`  // inclusive
	High  float64 `csv:"high"` // exclusive, except in the last bin
	Count int     `csv:"count"`
}

// Bins counts values in n bins of equal width from low to high. A value outside this range, or NaN, is an error.
func Bins(values []float64, low, high float64, n int) ([]Bin, error) {
	edge := func(i int) float64 { return (low*float64(n-i) + high*float64(i)) / float64(n) }
	bins := make([]Bin, n)
	for i := range bins {
		bins[i].Low, bins[i].High = edge(i), edge(i+1)
	}
	for i, v := range values {
		if !(v >= low && v <= high) {
			return nil, fmt.Errorf("results: bins: value %d is %g, want %g … %g", i+1, v, low, high)
		}
		bins[sort.Search(n-1, func(at int) bool { return v < bins[at].High })].Count++
	}
	return bins, nil
}

// Histogram draws bins as bars that touch each other.
type Histogram struct {
	Title, XLabel, YLabel string
	Bins                  []Bin
}

// keys returns no names: all bars of a histogram are the same series.
func (h Histogram) keys() []string { return nil }

// plot draws the bars, with whole numbers on the y axis.
func (h Histogram) plot(styles) (*plot.Plot, error) {
	if len(h.Bins) == 0 {
		return nil, fmt.Errorf("histogram: no bin, want one at least")
	}
	p := newPlot(h.Title, h.XLabel, h.YLabel)
	p.Y.Tick.Marker = plot.TickerFunc(countTicks)
	xs := NewSpan()
	highest := 1
	for _, b := range h.Bins {
		if !stats.Finite(b.Low) || !stats.Finite(b.High) || b.Low >= b.High || b.Count < 0 {
			return nil, fmt.Errorf("histogram: bin from %g to %g with %d, want an ascending range with at least 0",
				b.Low, b.High, b.Count)
		}
		xs.Add(b.Low)
		xs.Add(b.High)
		highest = max(highest, b.Count)
	}
	p.Add(drawing(h.draw))
	p.X.Min, p.X.Max = xs.Axis(0, false)
	p.Y.Min, p.Y.Max = 0, 1.06*float64(highest)
	return p, nil
}

// draw draws one bar for each bin that is not empty.
func (h Histogram) draw(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, b := range h.Bins {
		if b.Count == 0 {
			continue
		}
		corners := box(x(b.Low), x(b.High), y(0), y(float64(b.Count)))
		c.FillPolygon(solid, corners)
		c.StrokeLines(draw.LineStyle{Color: white, Width: 0.8}, append(corners, corners[0]))
	}
}
