package plot

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bubbles draws a circle in each cell of a grid of columns and rows, which count from 0. The area of a circle is in
// proportion to a share of a whole. A key at the right has circles of some shares.
type Bubbles struct {
	Title, XLabel, YLabel string
	KeyLabel              string      // above the key
	Shares                [][]float64 // [columns][rows], each in [0, 1]
}

// The key of [Bubbles].
var (
	keyShares  = []float64{1, 0.5, 0.25, 0.1}
	keySpace   = vg.Length(84) // all that is free for the key, in points
	keyIndent  = vg.Length(24) // the middle of its circles, from the data area
	keyLeading = vg.Length(28) // the distance of two circles
)

// keys returns no names: the circles have a key of their own.
func (b Bubbles) keys() []string { return nil }

// plot draws the circles, with a tick at every column and row if there are at most 30.
func (b Bubbles) plot(styles) (*plot.Plot, error) {
	if len(b.Shares) == 0 || len(b.Shares[0]) == 0 {
		return nil, fmt.Errorf("bubbles: no circle, want one at least")
	}
	for i, column := range b.Shares {
		if len(column) != len(b.Shares[0]) {
			return nil, fmt.Errorf("bubbles: column %d: %d rows, want %d", i, len(column), len(b.Shares[0]))
		}
		for j, share := range column {
			if !(share >= 0 && share <= 1) {
				return nil, fmt.Errorf("bubbles: column %d, row %d: share %g, want 0 … 1", i, j, share)
			}
		}
	}
	p := newPlot(b.Title, b.XLabel, b.YLabel)
	for _, axis := range []struct {
		*plot.Axis
		cells int
	}{{&p.X, len(b.Shares)}, {&p.Y, len(b.Shares[0])}} {
		axis.Min, axis.Max = -0.5, float64(axis.cells)-0.5
		axis.Tick.Marker = plot.TickerFunc(countTicks)
		if axis.cells <= 30 {
			axis.Tick.Marker = plot.ConstantTicks(eachCell(axis.cells))
		}
	}
	p.Add(margined{keySpace, b.draw})
	return p, nil
}

func eachCell(n int) []plot.Tick {
	ticks := make([]plot.Tick, n)
	for i := range ticks {
		ticks[i] = plot.Tick{Value: float64(i), Label: fmt.Sprint(i)}
	}
	return ticks
}

// draw draws the circles and the key. The circle of a whole just fits into a cell, and between two lines of the key.
func (b Bubbles) draw(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	whole := 0.48 * min(x(1)-x(0), y(1)-y(0), keyLeading)
	circle := func(share float64, at vg.Point) {
		radius := whole * vg.Length(math.Sqrt(share))
		var path vg.Path
		path.Move(vg.Point{X: at.X + radius, Y: at.Y})
		path.Arc(at, radius, 0, 2*math.Pi)
		path.Close()
		c.SetColor(solid)
		c.Fill(path)
	}
	for i, column := range b.Shares {
		for j, share := range column {
			if share > 0 {
				circle(share, vg.Point{X: x(float64(i)), Y: y(float64(j))})
			}
		}
	}
	at := vg.Point{X: c.Max.X + keyIndent, Y: c.Max.Y}
	c.FillText(lettering(keySize, draw.XLeft, draw.YTop), vg.Point{X: c.Max.X + panelGap, Y: at.Y}, b.KeyLabel)
	for _, share := range keyShares {
		at.Y -= keyLeading
		circle(share, at)
		c.FillText(lettering(keySize, draw.XLeft, draw.YCenter), vg.Point{X: at.X + keyIndent, Y: at.Y},
			fmt.Sprintf("%g %%", 100*share))
	}
}
