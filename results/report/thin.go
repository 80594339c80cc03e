package report

import (
	"math"
	"slices"

	"rollcall/results/plot"
)

// The number of points of a line in the files and on the page. In the files more would change no pixel. The page has
// fewer, one in two or three pixels, because it holds all its charts itself: the page of a whole table is to stay below
// 5 MB.
const (
	fileWidth = 700
	pageWidth = 180
)

// thinned returns a figure whose lines have at most about so many points, evenly spaced. The CSV keeps all points.
func thinned(f plot.Figure, points int) plot.Figure {
	out := f
	out.Panels = make([][]plot.Chart, len(f.Panels))
	for j, row := range f.Panels {
		out.Panels[j] = slices.Clone(row)
		for i, c := range row {
			lines, ok := c.(plot.LineChart)
			if !ok {
				continue
			}
			lines.Series = slices.Clone(lines.Series)
			for k, s := range lines.Series {
				lines.Series[k] = thin(s, points)
			}
			out.Panels[j][i] = lines
		}
	}
	return out
}

// thin drops the points of a series that are too close to the one before. It keeps the first and the last point.
func thin(s plot.Series, points int) plot.Series {
	// Steps and unsorted lines would change their shape without some of their points.
	if len(s.X) <= points || s.Step || !slices.IsSorted(s.X) {
		return s
	}
	apart := (s.X[len(s.X)-1] - s.X[0]) / float64(points)
	out := plot.Series{Name: s.Name}
	last := math.Inf(-1)
	for i, x := range s.X {
		if x-last < apart && i < len(s.X)-1 {
			continue
		}
		last = x
		out.X, out.Y = append(out.X, x), append(out.Y, s.Y[i])
		if len(s.Low) > 0 {
			out.Low, out.High = append(out.Low, s.Low[i]), append(out.High, s.High[i])
		}
	}
	return out
}
