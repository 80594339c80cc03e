package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// LineChart draws lines. Labels say what is on the axes, and in which unit.
type LineChart struct {
	Title, XLabel, YLabel string
	Series                []Series
	LogY                  bool
	YMin, YMax            files.Optional // ends of the y axis; missing: those of the data and a little more
}

func (c LineChart) keys() []string {
	names := make([]string, len(c.Series))
	for i, s := range c.Series {
		names[i] = s.Name
	}
	return names
}

func (c LineChart) plot(l styles) (*plot.Plot, error) {
	p := newPlot(c.Title, c.XLabel, c.YLabel)
	xs, ys := NewSpan(), NewSpan()
	for _, s := range c.Series {
		if err := s.check(); err != nil {
			return nil, err
		}
		line := linePlot{s, c.LogY, l.line(s.Name), l.band(s.Name)}
		p.Add(line)
		for i := range s.X {
			if !line.drawn(s.X[i], s.Y[i]) {
				continue
			}
			xs.Add(s.X[i])
			ys.Add(s.Y[i])
			if len(s.Low) > 0 && line.drawn(s.X[i], s.Low[i]) && line.drawn(s.X[i], s.High[i]) {
				ys.Add(s.Low[i])
				ys.Add(s.High[i])
			}
		}
	}
	p.X.Min, p.X.Max = xs.Axis(0, false)
	p.Y.Min, p.Y.Max = ys.Axis(0.04, c.LogY)
	if c.YMin.Valid {
		p.Y.Min = c.YMin.Value
	}
	if c.YMax.Valid {
		p.Y.Max = c.YMax.Value
	}
	if !stats.Finite(p.Y.Min) || !stats.Finite(p.Y.Max) || p.Y.Min >= p.Y.Max || c.LogY && p.Y.Min <= 0 {
		return nil, fmt.Errorf("y axis from %g to %g, want an ascending range, above 0 if logarithmic", p.Y.Min, p.Y.Max)
	}
	if c.LogY { // the axis is linear in the logarithm: plots lay out their words wrongly along a LogScale
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = math.Log10(p.Y.Min), math.Log10(p.Y.Max), logTicks{}
	}
	return p, nil
}

// linePlot draws a series.
type linePlot struct {
	Series
	logY bool
	line draw.LineStyle
	fill color.Color
}

// drawn reports whether a point has a place on the chart.
func (l linePlot) drawn(x, y float64) bool {
	return stats.Finite(x) && stats.Finite(y) && (!l.logY || y > 0)
}

// Plot draws the band, and the line over it.
func (l linePlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if l.logY {
		linear := y
		y = func(v float64) vg.Length { return linear(math.Log10(v)) }
	}
	Stretches(len(l.X), func(i int) bool {
		return len(l.Low) > 0 && l.drawn(l.X[i], l.Low[i]) && l.drawn(l.X[i], l.High[i])
	}, func(from, to int) {
		var outline []vg.Point
		for i := from; i < to; i++ {
			outline = append(outline, vg.Point{X: x(l.X[i]), Y: y(l.High[i])})
		}
		for i := to - 1; i >= from; i-- {
			outline = append(outline, vg.Point{X: x(l.X[i]), Y: y(l.Low[i])})
		}
		c.FillPolygon(l.fill, c.ClipPolygonXY(outline))
	})
	Stretches(len(l.X), func(i int) bool { return l.drawn(l.X[i], l.Y[i]) }, func(from, to int) {
		var points []vg.Point
		for i := from; i < to; i++ {
			point := vg.Point{X: x(l.X[i]), Y: y(l.Y[i])}
			if l.Step && i > from {
				points = append(points, vg.Point{X: point.X, Y: points[len(points)-1].Y})
			}
			points = append(points, point)
		}
		if len(points) == 1 { // a point alone between gaps would not be seen
			at := points[0]
			points = []vg.Point{{X: at.X - 1, Y: at.Y}, {X: at.X + 1, Y: at.Y}}
		}
		c.StrokeLines(l.line, c.ClipLinesXY(points)...)
	})
}
