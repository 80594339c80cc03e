package plot

import (
	"fmt"
	"math"

	"rollcall/results/files"
)

// Series is one line of a [LineChart]. Points that are not finite, or not above 0 on a logarithmic axis, leave a gap.
type Series struct {
	Name      string    // in the legend; empty: not in it
	X, Y      []float64 // of each point, in the order in which they are joined
	Low, High []float64 // of a band around the line; empty: none
	Step      bool      // Y holds from its X to the next one, and is not joined straight
}

func (s Series) check() error {
	if len(s.X) != len(s.Y) {
		return fmt.Errorf("series %q: %d x and %d y, want as many of each", s.Name, len(s.X), len(s.Y))
	}
	if len(s.Low) != len(s.High) || len(s.Low) != 0 && len(s.Low) != len(s.X) {
		return fmt.Errorf("series %q: band of %d and %d values around %d points, want none or as many",
			s.Name, len(s.Low), len(s.High), len(s.X))
	}
	return nil
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
	width := math.NaN()
	if std.Valid {
		width = std.Value
	}
	s.X, s.Y = append(s.X, x), append(s.Y, scale*mean)
	s.Low, s.High = append(s.Low, scale*(mean-width)), append(s.High, scale*(mean+width))
}

// AddPoint adds a mean to the line, and mean ± std to its band, all times scale. Where there is no mean the line has a
// gap, and where there is no std the band.
func (s *Series) AddPoint(round int, mean, std files.Optional, scale float64) {
	if !mean.Valid {
		mean.Value = math.NaN()
	}
	s.Point(round, mean.Value, std, scale)
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
