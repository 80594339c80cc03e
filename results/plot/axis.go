package plot

import (
	"gonum.org/v1/plot"
)

// Axis is one axis of a chart as every drawing of it has it.
type Axis struct {
	Label     string
	Low, High float64
	Ticks     []AxisTick
}

// AxisTick is a labelled place on an axis.
type AxisTick struct {
	At    float64
	Label string
}

// Axes returns the axes of a chart, for those who draw it themselves. On the y axis of a [LineChart] with LogY all
// numbers but the labels are decimal logarithms.
func Axes(c Chart) (x, y Axis, err error) {
	p, err := c.plot(styles{})
	if err != nil {
		return x, y, err
	}
	return axisOf(&p.X), axisOf(&p.Y), nil
}

func axisOf(a *plot.Axis) Axis {
	out := Axis{Label: a.Label.Text, Low: a.Min, High: a.Max}
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if t.Label != "" {
			out.Ticks = append(out.Ticks, AxisTick{t.Value, t.Label})
		}
	}
	return out
}

// Names returns what stands in a figure's legend, in order.
func (f Figure) Names() []string { return f.styles().names }
