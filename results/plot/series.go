package plot

import (
	"math"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

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

// Point adds the point (round, scale·mean) to the line, and scale·(mean ± std) to its band. Without a std the band has
// a gap.
func (s *Series) Point(round int, mean float64, std files.Optional, scale float64) {
	s.PointAt(float64(round), mean, std, scale)
}

// PointAt does the same as [Series.Point] at any x.
func (s *Series) PointAt(x, mean float64, std files.Optional, scale float64) {
	width := std.Or(math.NaN())
	s.X, s.Y = append(s.X, x), append(s.Y, scale*mean)
	s.Low, s.High = append(s.Low, scale*(mean-width)), append(s.High, scale*(mean+width))
}

// AddPoint does the same as [Series.Point] for a mean that may be missing. Without a mean the line has a gap too.
func (s *Series) AddPoint(round int, mean, std files.Optional, scale float64) {
	s.Point(round, mean.Or(math.NaN()), std, scale)
}

// Place is a point of a chart, in the units of its axes.
type Place struct{ X, Y float64 }

// Paths returns the shapes of a series, each in pieces between the gaps: the outlines of its band, first along the
// upper edge and back along the lower one, and its line. If logY is true, the Y are decimal logarithms.
func (s Series) Paths(logY bool) (bands, lines [][]Place) {
	on := func(y float64) float64 { return onAxis(y, logY) }
	inBand := func(i int) bool { return stats.Finite(s.X[i], on(s.Low[i]), on(s.High[i])) }
	Stretches(len(s.Low), inBand, func(from, to int) {
		// The outline goes right along the upper edge, and left along the lower one.
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
