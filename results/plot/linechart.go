package plot

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// LineChart draws series as lines. The labels of the axes include the units.
type LineChart struct {
	Title, XLabel, YLabel string
	Series                []Series
	LogY                  bool
	YMin, YMax            files.Optional // ends of the y axis; if missing, the range of the data and a little more
}

// keys returns the names of the series.
func (c LineChart) keys() []string {
	names := make([]string, len(c.Series))
	for i, s := range c.Series {
		names[i] = s.Name
	}
	return names
}

// plot draws every series, and fits the axes to the finite points and bands.
func (c LineChart) plot(l styles) (*plot.Plot, error) {
	p := newPlot(c.Title, c.XLabel, c.YLabel)
	xs, ys := NewSpan(), NewSpan()
	for _, s := range c.Series {
		p.Add(c.drawing(s, l))
		for i := range s.X {
			if !stats.Finite(s.X[i], onAxis(s.Y[i], c.LogY)) {
				continue
			}
			xs.Add(s.X[i])
			ys.Add(s.Y[i])
			if len(s.Low) > 0 && stats.Finite(onAxis(s.Low[i], c.LogY), onAxis(s.High[i], c.LogY)) {
				ys.Add(s.Low[i])
				ys.Add(s.High[i])
			}
		}
	}
	p.X.Min, p.X.Max = xs.Axis(0, false)
	low, high := ys.Axis(0.04, c.LogY)
	p.Y.Min, p.Y.Max = c.YMin.Or(low), c.YMax.Or(high)
	if !stats.Finite(p.Y.Min) || !stats.Finite(p.Y.Max) || p.Y.Min >= p.Y.Max || c.LogY && p.Y.Min <= 0 {
		return nil, fmt.Errorf("y axis from %g to %g, want an ascending range, above 0 if logarithmic",
			p.Y.Min, p.Y.Max)
	}
	if c.LogY { // the axis is linear in log₁₀ y, as gonum misplaces the labels of a LogScale
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = math.Log10(p.Y.Min), math.Log10(p.Y.Max), plot.TickerFunc(logTicks)
	}
	return p, nil
}

// drawing returns a function that draws the band of a series and the line over it.
func (c LineChart) drawing(s Series, l styles) drawing {
	return func(canvas draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&canvas)
		onPage := func(path []Place) []vg.Point {
			points := make([]vg.Point, len(path))
			for i, at := range path {
				points[i] = vg.Point{X: x(at.X), Y: y(at.Y)}
			}
			return points
		}
		bands, lines := s.Paths(c.LogY)
		for _, band := range bands {
			canvas.FillPolygon(l.band(s.Name), canvas.ClipPolygonXY(onPage(band)))
		}
		for _, line := range lines {
			points := onPage(line)
			if len(points) == 1 { // a single point between gaps would be invisible
				at := points[0]
				points = []vg.Point{{X: at.X - 1, Y: at.Y}, {X: at.X + 1, Y: at.Y}}
			}
			canvas.StrokeLines(l.line(s.Name), canvas.ClipLinesXY(points)...)
		}
	}
}
