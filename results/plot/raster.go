package plot

import (
	"errors"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// RasterRow is the activity of one client, round by round.
type RasterRow struct {
	Name string // label on the axis
	On   []bool // active in round 0, 1, …
	Out  []bool // excluded in round 0, 1, …; may be shorter than On or empty
}

// Raster draws the activity of clients over rounds, with a bar for each client. Rounds in which the client is active
// are dark, or red if it is excluded. Rounds in which it is not active are light, or pale red if it is excluded. The
// first row is on top.
type Raster struct {
	Title, XLabel, YLabel string
	Rows                  []RasterRow
}

// keys returns no names: the caption of a raster explains its colours.
func (r Raster) keys() []string { return nil }

// plot draws a tick with the name of each row, and the bars.
func (r Raster) plot(styles) (*plot.Plot, error) {
	if len(r.Rows) == 0 {
		return nil, errors.New("raster: no row, want one at least")
	}
	p := newPlot(r.Title, r.XLabel, r.YLabel)
	ticks := make([]plot.Tick, len(r.Rows))
	rounds := 1
	for i, row := range r.Rows {
		ticks[i] = plot.Tick{Value: r.place(i), Label: row.Name}
		rounds = max(rounds, len(row.On))
	}
	p.X.Min, p.X.Max = 0, float64(rounds)
	p.Y.Min, p.Y.Max = -0.5, float64(len(r.Rows))-0.5
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.Add(drawing(r.draw))
	return p, nil
}

func (r Raster) place(i int) float64 { return float64(len(r.Rows) - 1 - i) }

// draw draws the bar of every row, one colour over the other.
func (r Raster) draw(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const half = 0.34 // half of a bar's height; the distance of two rows is 1
	bar := func(i, from, to int) []vg.Point {
		return box(x(float64(from)), x(float64(to)), y(r.place(i)-half), y(r.place(i)+half))
	}
	for i, row := range r.Rows {
		if len(row.On) > 0 {
			c.FillPolygon(empty, bar(i, 0, len(row.On)))
		}
		// Later colours cover earlier ones: pale red, then dark, then red where both are true.
		both := make([]bool, min(len(row.On), len(row.Out)))
		for k := range both {
			both[k] = row.On[k] && row.Out[k]
		}
		for _, fill := range []struct {
			rounds []bool
			color  color.Color
		}{{row.Out, outPale}, {row.On, solid}, {both, out}} {
			Stretches(len(fill.rounds), func(k int) bool { return fill.rounds[k] }, func(from, to int) {
				c.FillPolygon(fill.color, bar(i, from, to))
			})
		}
	}
}
