package plot

import (
	"slices"

	"gonum.org/v1/plot"
)

// AxisTick is a labelled place on an axis.
type AxisTick = plot.Tick

// Axis is one axis of a chart as every drawing of it has it.
type Axis struct {
	Label     string
	Low, High float64
	Ticks     []AxisTick
}

// Frame returns title and axes of a chart, for those who draw it themselves. On the y axis of a [LineChart] with LogY
// all numbers but the labels are decimal logarithms.
func Frame(c Chart) (title string, x, y Axis, err error) {
	p, err := c.plot(styles{})
	if err != nil {
		return "", x, y, err
	}
	return p.Title.Text, axisOf(&p.X), axisOf(&p.Y), nil
}

func axisOf(a *plot.Axis) Axis {
	ticks := slices.DeleteFunc(a.Tick.Marker.Ticks(a.Min, a.Max), func(t AxisTick) bool { return t.Label == "" })
	return Axis{Label: a.Label.Text, Low: a.Min, High: a.Max, Ticks: ticks}
}

// Names returns what stands in a figure's legend, in order.
func (f Figure) Names() []string { return f.styles().names }
