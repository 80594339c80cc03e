package track

import (
	"fmt"
	"math"
	"slices"
	"time"

	"rollcall/results/plot"
	"rollcall/results/stats"
)

// chart draws one metric against the days since the first night: the value of every night in a band from the smallest
// sample to the upper quartile, the level between shifts, and the first night of every shift.
func chart(h *History, t *Trend) plot.LineChart {
	begin := h.Nights[0].Time
	day := func(night int) float64 { return h.Nights[night].Time.Sub(begin).Hours() / 24 }
	night := plot.Series{Name: "night"}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i, n := range t.Nights {
		night.X, night.Y = append(night.X, day(n)), append(night.Y, t.Values[i])
		low, high := slices.Min(t.Samples[i]), stats.Quantile(t.Samples[i], 0.75).Value
		night.Low, night.High = append(night.Low, low), append(night.High, high)
		lowest, highest = min(lowest, low), max(highest, high)
	}
	c := plot.LineChart{
		Title: t.Metric, XLabel: "days since " + begin.UTC().Format(time.DateOnly), YLabel: t.Unit,
		Series: []plot.Series{night, levels(t, day)},
	}
	// A shift is a vertical line through its first night; the title has the last one.
	for i, s := range t.Shifts {
		name := "first slower night"
		if !s.up {
			name = "first faster night"
		}
		c.Series = append(c.Series, plot.Series{
			Name: name, X: []float64{day(s.First), day(s.First)}, Y: []float64{lowest, highest},
		})
		if i == len(t.Shifts)-1 {
			c.Title += fmt.Sprintf(": %+.1f %% on %s", 100*s.Change(), h.Nights[s.First].Time.UTC().Format(time.DateOnly))
		}
	}
	return c
}

// levels returns the median of the nights between two shifts, as a line with gaps at the shifts.
func levels(t *Trend, day func(night int) float64) plot.Series {
	s := plot.Series{Name: "level (median)"}
	from := 0
	for i := range len(t.Shifts) + 1 {
		to := len(t.Nights)
		if i < len(t.Shifts) {
			to = t.Shifts[i].at
		}
		m := stats.Median(t.Values[from:to]).Value
		s.X = append(s.X, day(t.Nights[from]), day(t.Nights[to-1]), math.NaN())
		s.Y = append(s.Y, m, m, math.NaN())
		from = to
	}
	return s
}
