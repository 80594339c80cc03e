package plot

import (
	"slices"

	"gonum.org/v1/plot"
)

// AxisTick is a value on an axis with its label.
type AxisTick = plot.Tick

// Axis is one axis of a chart: its label, its range and its ticks, which every drawing of the chart shares.
type Axis struct {
	Label     string
	Low, High float64
	Ticks     []AxisTick
}

// Frame returns the title and the axes of a chart, for a caller that draws the chart itself. If a [LineChart] has LogY,
// the numbers of its y axis are decimal logarithms, but the labels of its ticks are not.
func Frame(c Chart) (title string, x, y Axis, err error) {
	p, err := c.plot(styles{})
	if err != nil {
		return "", x, y, err
	}
	return p.Title.Text, axisOf(&p.X), axisOf(&p.Y), nil
}

// axisOf returns an axis with its labelled ticks only.
func axisOf(a *plot.Axis) Axis {
	ticks := slices.DeleteFunc(a.Tick.Marker.Ticks(a.Min, a.Max), func(t AxisTick) bool { return t.Label == "" })
	return Axis{Label: a.Label.Text, Low: a.Min, High: a.Max, Ticks: ticks}
}

// Names returns the names in a figure's legend, in order.
func (f Figure) Names() []string { return f.styles().names }
