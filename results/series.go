package results

import "math"

// AddPoint adds a mean to the line, and mean ± std to its band, all times scale. Where there is no mean the line has a gap,
// and where there is no std the band.
func (s *Series) AddPoint(round int, mean, std Optional, scale float64) {
	if !mean.Valid {
		mean.Value = math.NaN()
	}
	s.point(round, mean.Value, std, scale)
}
