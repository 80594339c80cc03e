package plot

import (
	"errors"
	"fmt"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/results/stats"
)

// KeyedBar is one bar of [KeyedBars].
type KeyedBar struct {
	Name  string  // in the legend
	Value float64 // height, 0 or more
}

// KeyedBars draws bars side by side, from 0 up, each in the colour that the legend gives its name.
type KeyedBars struct {
	Title, YLabel string
	Bars          []KeyedBar
}

func (b KeyedBars) keys() []string {
	names := make([]string, len(b.Bars))
	for i, bar := range b.Bars {
		names[i] = bar.Name
	}
	return names
}

// plot draws the bars without ticks on the x axis, as the legend names them.
func (b KeyedBars) plot(l styles) (*plot.Plot, error) {
	if len(b.Bars) == 0 {
		return nil, errors.New("keyed bars: none, want one at least")
	}
	p := newPlot(b.Title, "", b.YLabel)
	highest := 0.0
	for _, bar := range b.Bars {
		if !stats.Finite(bar.Value) || bar.Value < 0 {
			return nil, fmt.Errorf("keyed bars: %s: %g, want a finite number, 0 or more", bar.Name, bar.Value)
		}
		highest = max(highest, bar.Value)
	}
	if highest == 0 {
		highest = 1
	}
	p.X.Min, p.X.Max = -0.5, float64(len(b.Bars))-0.5
	p.X.Tick.Marker = plot.ConstantTicks(nil)
	p.Y.Min, p.Y.Max = 0, 1.06*highest
	p.Add(drawing(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for i, bar := range b.Bars {
			left, right := x(float64(i)-0.38), x(float64(i)+0.38)
			c.FillPolygon(l.line(bar.Name).Color, box(left, right, y(0), y(bar.Value)))
		}
	}))
	return p, nil
}

// box returns the corners of a rectangle, in order around it.
func box(left, right, low, high vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: low}, {X: left, Y: high}, {X: right, Y: high}, {X: right, Y: low}}
}

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
