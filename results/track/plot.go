package track

import (
	"math"
	"slices"

	"rollcall/internal/files"
	"rollcall/results/page"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// The styles of the lines of a chart, see [plot.Colours]: blue and black, neither dashed.
const nightStyle, levelStyle = 18, 0

// chartKeys is the legend of the charts.
var chartKeys = []page.Key{
	{Name: "night: the lower fifth of its samples", Style: nightStyle},
	{Name: "level: the median of the nights between two shifts", Style: levelStyle},
}

var keysByName = map[string]page.Key{
	"night": {Name: "night", Style: nightStyle}, "level": {Name: "level", Style: levelStyle},
}

// days returns the time of a night as a chart has it, in days since 1970.
func (h *History) days(night int) float64 {
	return float64(h.Nights[night].Time.Unix()) / (24 * 60 * 60)
}

// chart draws one metric: the value of every night in a band from the smallest sample to the upper quartile, and the
// level between shifts. All charts of a history have the same dates.
func chart(h *History, t *Trend) plot.LineChart {
	night := plot.Series{Name: "night"}
	for i, n := range t.Nights {
		night.X, night.Y = append(night.X, h.days(n)), append(night.Y, t.Values[i])
		night.Low = append(night.Low, slices.Min(t.Samples[i]))
		night.High = append(night.High, stats.Quantile(t.Samples[i], 0.75).Value)
	}
	level := plot.Series{Name: "level"}
	from := 0
	for i := range len(t.Shifts) + 1 {
		to := len(t.Nights)
		if i < len(t.Shifts) {
			to = t.Shifts[i].at
		}
		m := stats.Median(t.Values[from:to]).Value
		level.X = append(level.X, h.days(t.Nights[from]), h.days(t.Nights[to-1]), math.NaN())
		level.Y = append(level.Y, m, m, math.NaN())
		from = to
	}
	return plot.LineChart{
		Title: t.Metric + " in " + t.Unit, XLabel: "date (UTC)", Dates: true, Series: []plot.Series{night, level},
		XMin: files.Some(h.days(0) - 0.5), XMax: files.Some(h.days(len(h.Nights)-1) + 0.5),
	}
}

// marks returns the marks of events on a chart, from left to right: each at its first night, and shaded as long as
// something had to be done about it.
func marks(h *History, events []Finding) (marks []page.Mark) {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(f, g Finding) int { return f.first - g.first })
	for _, f := range events {
		end := f.closed
		if f.State.IsOpen() {
			end = len(h.Nights)
		}
		marks = append(marks, page.Mark{
			X: h.days(f.first), To: h.days(min(end, len(h.Nights)-1)), Name: f.ID, Class: string(f.State),
		})
	}
	return marks
}
