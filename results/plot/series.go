package plot

import (
	"math"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// Series is one line of a [LineChart]. Points that are not finite, or not above 0 on a logarithmic axis, leave a gap.
type Series struct {
	Name      string    // in the legend; empty: not in it
	X, Y      []float64 // of each point, in the order in which they are joined
	Low, High []float64 // of a band around the line; empty: none
	Step      bool      // Y holds from its X to the next one, and is not joined straight
}

// LastStepDrawn returns the line with its last step as long as the others.
func (s Series) LastStepDrawn() Series {
	if n := len(s.X); n > 0 {
		s.X, s.Y = append(s.X, s.X[n-1]+1), append(s.Y, s.Y[n-1])
	}
	return s
}

// Point adds a mean to the line, and mean ± std to its band, which has a gap where there is no std; all times scale.
func (s *Series) Point(round int, mean float64, std files.Optional, scale float64) {
	s.PointAt(float64(round), mean, std, scale)
}

// PointAt is point at any place.
func (s *Series) PointAt(x, mean float64, std files.Optional, scale float64) {
	width := std.Or(math.NaN())
	s.X, s.Y = append(s.X, x), append(s.Y, scale*mean)
	s.Low, s.High = append(s.Low, scale*(mean-width)), append(s.High, scale*(mean+width))
}

// AddPoint adds a mean to the line, and mean ± std to its band, all times scale. Where there is no mean the line has a
// gap, and where there is no std the band.
func (s *Series) AddPoint(round int, mean, std files.Optional, scale float64) {
	s.Point(round, mean.Or(math.NaN()), std, scale)
}

// Place is a place between the axes of a chart.
type Place struct{ X, Y float64 }

// Paths returns the series as it is drawn: the outline of its band, there along its upper edge and back along its lower
// one, and its line, each in pieces between the gaps. If logY, the Y are decimal logarithms.
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

// onAxis returns where a number is on a y axis, which if logY is of decimal logarithms; not finite where it is nowhere.
func onAxis(y float64, logY bool) float64 {
	if logY {
		return math.Log10(y)
	}
	return y
}

// Stretches calls f for each longest run of indices below n that ok.
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
