package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	letters "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// HeatMap colours the cells of a grid by a number. The scale of the colours is at the right. Many cells are drawn as
// one picture of pixels, which keeps the file small: their middles must be at equal distances.
type HeatMap struct {
	Title, XLabel, YLabel string
	ScaleLabel            string
	X, Y                  []float64      // middles of the columns and of the rows, ascending
	Z                     [][]float64    // [len(X)][len(Y)] the numbers, finite
	ZMin, ZMax            files.Optional // ends of the scale; if missing, the range of the numbers
}

// mostBoxes is the number of cells up to which a heat map has a box for each of them.
const mostBoxes = 1000

// shades are the colours of a scale from its low end to its high end, each darker than the one before, so that people
// of every colour vision and readers of a print without colours see the same order.
var shades = []color.RGBA{{255, 255, 229, 255}, {120, 198, 190, 255}, {0, 114, 178, 255}, {24, 28, 84, 255}}

// Sizes of the scale beside a heat map, in points.
const (
	scaleGap   = vg.Length(14) // from the data area
	scaleWidth = vg.Length(12)
	scaleSpace = vg.Length(62) // all that is free for the scale, with its labels
	scaleSteps = 128           // boxes of one colour
)

// keys returns no names: the scale explains the colours.
func (h HeatMap) keys() []string { return nil }

// plot draws a box for every cell, and the scale.
func (h HeatMap) plot(styles) (*plot.Plot, error) {
	xs, ys, err := h.edges()
	if err != nil {
		return nil, err
	}
	numbers := NewSpan()
	for _, column := range h.Z {
		for _, z := range column {
			numbers.Add(z)
		}
	}
	low, high := numbers.Axis(0, false)
	low, high = h.ZMin.Or(low), h.ZMax.Or(high)
	if !(low < high) {
		return nil, fmt.Errorf("heat map: scale from %g to %g, want an ascending range", low, high)
	}
	p := newPlot(h.Title, h.XLabel, h.YLabel)
	p.X.Min, p.X.Max = xs[0], xs[len(xs)-1]
	p.Y.Min, p.Y.Max = ys[0], ys[len(ys)-1]
	for axis, middles := range map[*plot.Axis][]float64{&p.X: h.X, &p.Y: h.Y} {
		if !slices.ContainsFunc(middles, func(x float64) bool { return x != math.Trunc(x) }) {
			axis.Tick.Marker = plot.TickerFunc(countTicks)
		}
	}
	space := scaleSpace
	if h.ScaleLabel == "" {
		space -= panelLine
	}
	p.Add(margined{space, func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		if len(h.X)*len(h.Y) > mostBoxes {
			corners := box(x(xs[0]), x(xs[len(h.X)]), y(ys[0]), y(ys[len(h.Y)]))
			c.DrawImage(vg.Rectangle{Min: corners[0], Max: corners[2]}, h.picture(low, high))
			h.drawScale(c, low, high)
			return
		}
		for i, column := range h.Z {
			for j, z := range column {
				c.FillPolygon(shade((z-low)/(high-low)), box(x(xs[i]), x(xs[i+1]), y(ys[j]), y(ys[j+1])))
			}
		}
		h.drawScale(c, low, high)
	}})
	return p, nil
}

// picture returns the cells as pixels, several for each of few cells: viewers blur the edges of pixels.
func (h HeatMap) picture(low, high float64) image.Image {
	const sharp = 800 // pixels in each direction
	wide, tall := (sharp+len(h.X)-1)/len(h.X), (sharp+len(h.Y)-1)/len(h.Y)
	var colours color.Palette
	for k := range 256 {
		colours = append(colours, shade(float64(k)/255))
	}
	picture := image.NewPaletted(image.Rect(0, 0, wide*len(h.X), tall*len(h.Y)), colours)
	for i := range picture.Rect.Dx() {
		for j := range picture.Rect.Dy() {
			z := h.Z[i/wide][len(h.Y)-1-j/tall] // a picture begins at the top
			share := min(max((z-low)/(high-low), 0), 1)
			picture.SetColorIndex(i, j, uint8(math.Round(255*share)))
		}
	}
	return picture
}

// edges returns the edges of the columns [len(X)+1] and of the rows [len(Y)+1].
func (h HeatMap) edges() (xs, ys []float64, err error) {
	if len(h.Z) != len(h.X) {
		return nil, nil, fmt.Errorf("heat map: %d columns of numbers at %d places, want as many", len(h.Z), len(h.X))
	}
	for i, column := range h.Z {
		if len(column) != len(h.Y) {
			return nil, nil, fmt.Errorf("heat map: column %d: %d numbers at %d places, want as many",
				i+1, len(column), len(h.Y))
		}
		if !stats.Finite(column...) {
			return nil, nil, fmt.Errorf("heat map: column %d: %v, want finite numbers", i+1, column)
		}
	}
	if xs, err = edgesOf(h.X); err == nil {
		ys, err = edgesOf(h.Y)
	}
	return xs, ys, err
}

// edgesOf returns the edges of cells with these middles: half way between neighbours, and as far beyond the ends. A
// single cell has the width 1.
func edgesOf(middles []float64) ([]float64, error) {
	n := len(middles)
	switch {
	case n == 0:
		return nil, fmt.Errorf("heat map: 0 columns or rows, want one at least")
	case n == 1 && stats.Finite(middles[0]):
		return []float64{middles[0] - 0.5, middles[0] + 0.5}, nil
	}
	edges := make([]float64, n+1)
	for i := 1; i < n; i++ {
		if !(middles[i-1] < middles[i]) || !stats.Finite(middles[i-1], middles[i]) {
			return nil, fmt.Errorf("heat map: column or row at %g after %g, want ascending numbers",
				middles[i], middles[i-1])
		}
		edges[i] = (middles[i-1] + middles[i]) / 2
	}
	edges[0], edges[n] = 2*middles[0]-edges[1], 2*middles[n-1]-edges[n-1]
	return edges, nil
}

// drawScale draws the colours from low to high as a column beside the data area, with its labels.
func (h HeatMap) drawScale(c draw.Canvas, low, high float64) {
	left, right := c.Max.X+scaleGap, c.Max.X+scaleGap+scaleWidth
	at := func(share float64) vg.Length { return c.Min.Y + vg.Length(share)*(c.Max.Y-c.Min.Y) }
	for k := range scaleSteps { // each box reaches to the top, and the next covers it, so that there is no seam
		share := float64(k) / scaleSteps
		c.FillPolygon(shade(share), box(left, right, at(share), c.Max.Y))
	}
	line := draw.LineStyle{Color: ink, Width: 0.6}
	corners := box(left, right, c.Min.Y, c.Max.Y)
	c.StrokeLines(line, append(corners, corners[0]))
	for _, tick := range linearTicks(low, high) {
		y := at((tick.Value - low) / (high - low))
		c.StrokeLine2(line, right, y, right+3, y)
		c.FillText(lettering(tickSize, draw.XLeft, draw.YCenter), vg.Point{X: right + 5, Y: y}, tick.Label)
	}
	upwards := lettering(labelSize, draw.XCenter, letters.YTop)
	upwards.Rotation = math.Pi / 2
	c.FillText(upwards, vg.Point{X: c.Max.X + scaleSpace, Y: c.Center().Y}, h.ScaleLabel)
}

// shade returns the colour at a share of the scale, 0 … 1, between the nearest two of the shades.
func shade(share float64) color.RGBA {
	at := min(max(share, 0), 1) * float64(len(shades)-1)
	k := min(int(at), len(shades)-2)
	a, b, part := shades[k], shades[k+1], at-float64(k)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}
