package plot

import (
	"fmt"
	"math"
	"slices"

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
	Dates                 bool           // the x are days since 1970, and the labels of the axis are dates
	XMin, XMax            files.Optional // ends of the x axis; if missing, the range of the data
	YMin, YMax            files.Optional // ends of the y axis; if missing, the range of the data and a little more
}

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
	if c.hasMarks() {
		p.Add(c.marks(l)) // above all lines
	}
	low, high := xs.Axis(0, false)
	p.X.Min, p.X.Max = c.XMin.Or(low), c.XMax.Or(high)
	if c.Dates {
		p.X.Tick.Marker = plot.TickerFunc(dateTicks)
	}
	low, high = ys.Axis(0.04, c.LogY)
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

// hasMarks reports whether the lines have marks: of several lines that are no steps, which may be on top of each other.
func (c LineChart) hasMarks() bool {
	return len(c.Series) > 1 && !slices.ContainsFunc(c.Series, func(s Series) bool { return s.Step })
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

// marked returns the points of a series that have a mark: one in each of six parts of the x axis, at another place for
// each of eight styles, so that lines on top of each other show their marks side by side.
func (s Series) marked(logY bool, low, high float64, style int) (points []Place) {
	const parts = 6
	last := -1
	for part := range parts {
		wanted := low + (high-low)*(float64(part)+(float64(style%len(marks))+0.5)/float64(len(marks)))/parts
		nearest := -1
		for i, x := range s.X {
			if stats.Finite(x, onAxis(s.Y[i], logY)) &&
				(nearest < 0 || math.Abs(x-wanted) < math.Abs(s.X[nearest]-wanted)) {
				nearest = i
			}
		}
		if nearest > last { // few points are nearest to several places
			points, last = append(points, Place{s.X[nearest], onAxis(s.Y[nearest], logY)}), nearest
		}
	}
	return points
}

// marks returns a function that draws the marks of all lines.
func (c LineChart) marks(l styles) drawing {
	return func(canvas draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&canvas)
		for _, s := range c.Series {
			for _, at := range s.marked(c.LogY, p.X.Min, p.X.Max, l.style(s.Name)) {
				if point := (vg.Point{X: x(at.X), Y: y(at.Y)}); canvas.Contains(point) {
					canvas.DrawGlyph(l.mark(s.Name), point)
				}
			}
		}
	}
}

// Series is one line of a [LineChart]. A point leaves a gap if it is not finite, or not above 0 on a logarithmic axis.
type Series struct {
	Name      string    // in the legend; a series without a name is not in the legend
	X, Y      []float64 // of each point, in the order in which the line joins them
	Low, High []float64 // edges of a band around the line at each X; empty: no band
	Step      bool      // the line keeps each Y until the next X, and then steps
}

// LastStepDrawn returns a step line with one more point, at a distance of 1, so that its last step has a length.
func (s Series) LastStepDrawn() Series {
	if n := len(s.X); n > 0 {
		s.X, s.Y = append(s.X, s.X[n-1]+1), append(s.Y, s.Y[n-1])
	}
	return s
}

// Point adds the point (x, scale·mean) to the line, and scale·(mean ± std) to its band. Without a std the band has a
// gap.
func (s *Series) Point(x, mean float64, std files.Optional, scale float64) {
	width := std.Or(math.NaN())
	s.X, s.Y = append(s.X, x), append(s.Y, scale*mean)
	s.Low, s.High = append(s.Low, scale*(mean-width)), append(s.High, scale*(mean+width))
}

// AddPoint does the same as [Series.Point] for a mean that may be missing. Without a mean the line has a gap too.
func (s *Series) AddPoint(round int, mean, std files.Optional, scale float64) {
	s.Point(float64(round), mean.Or(math.NaN()), std, scale)
}

// Place is a point of a chart, in the units of its axes.
type Place struct{ X, Y float64 }

// Paths returns the shapes of a series, each in pieces between the gaps: the outlines of its band, first along the
// upper edge and back along the lower one, and its line. If logY is true, the Y are decimal logarithms.
func (s Series) Paths(logY bool) (bands, lines [][]Place) {
	on := func(y float64) float64 { return onAxis(y, logY) }
	inBand := func(i int) bool { return stats.Finite(s.X[i], on(s.Low[i]), on(s.High[i])) }
	Stretches(len(s.Low), inBand, func(from, to int) {
		var outline []Place
		for i := from; i < to; i++ {
			outline = append(outline, Place{s.X[i], on(s.High[i])})
		}
		for i := to - 1; i >= from; i-- {
			outline = append(outline, Place{s.X[i], on(s.Low[i])})
		}
		bands = append(bands, outline)
	})
	inLine := func(i int) bool { return stats.Finite(s.X[i], on(s.Y[i])) }
	Stretches(len(s.X), inLine, func(from, to int) {
		var line []Place
		for i := from; i < to; i++ {
			if s.Step && i > from {
				line = append(line, Place{s.X[i], on(s.Y[i-1])})
			}
			line = append(line, Place{s.X[i], on(s.Y[i])})
		}
		lines = append(lines, line)
	})
	return bands, lines
}

// onAxis returns the position of a number on a y axis, which has decimal logarithms if logY is true. It is not finite
// if the axis has no place for the number.
func onAxis(y float64, logY bool) float64 {
	if logY {
		return math.Log10(y)
	}
	return y
}

// Stretches calls f(from, to) for every stretch from ≤ i < to of indices below n for which ok is true, as long as it
// goes.
func Stretches(n int, ok func(i int) bool, f func(from, to int)) {
	for from := 0; from < n; {
		to := from
		for to < n && ok(to) {
			to++
		}
		if to > from {
			f(from, to)
		}
		from = max(to, from+1)
	}
}
