package plot

import (
	"errors"
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/results/stats"
)

// KeyedBar is one bar of [KeyedBars].
type KeyedBar struct {
	Name  string  // in the legend
	Value float64 // height, 0 or more
}

// KeyedBars draws bars side by side, from 0 up, each in the colour that the legend gives its name.
type KeyedBars struct {
	Title, YLabel string
	Bars          []KeyedBar
}

func (b KeyedBars) keys() []string {
	names := make([]string, len(b.Bars))
	for i, bar := range b.Bars {
		names[i] = bar.Name
	}
	return names
}

// plot draws the bars without ticks on the x axis, as the legend names them.
func (b KeyedBars) plot(l styles) (*plot.Plot, error) {
	if len(b.Bars) == 0 {
		return nil, errors.New("keyed bars: none, want one at least")
	}
	p := newPlot(b.Title, "", b.YLabel)
	highest := 0.0
	for _, bar := range b.Bars {
		if !stats.Finite(bar.Value) || bar.Value < 0 {
			return nil, fmt.Errorf("keyed bars: %s: %g, want a finite number, 0 or more", bar.Name, bar.Value)
		}
		highest = max(highest, bar.Value)
	}
	if highest == 0 {
		highest = 1
	}
	p.X.Min, p.X.Max = -0.5, float64(len(b.Bars))-0.5
	p.X.Tick.Marker = plot.ConstantTicks(nil)
	p.Y.Min, p.Y.Max = 0, 1.06*highest
	p.Add(drawing(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for i, bar := range b.Bars {
			left, right := x(float64(i)-0.38), x(float64(i)+0.38)
			c.FillPolygon(l.line(bar.Name).Color, box(left, right, y(0), y(bar.Value)))
		}
	}))
	return p, nil
}

// box returns the corners of a rectangle, in order around it.
func box(left, right, low, high vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: low}, {X: left, Y: high}, {X: right, Y: high}, {X: right, Y: low}}
}
