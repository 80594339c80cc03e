package plot

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	letters "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of letters, in points.
const (
	titleSize = 12
	panelSize = 10
	labelSize = 9.5
	tickSize  = 8.5
	keySize   = 9.5
)

var (
	white   = color.RGBA{255, 255, 255, 255}
	ink     = color.RGBA{32, 32, 32, 255}
	faint   = color.RGBA{222, 222, 222, 255}
	solid   = color.RGBA{0, 114, 178, 255} // bars and active clients
	empty   = color.RGBA{236, 236, 236, 255}
	out     = color.RGBA{213, 94, 0, 255}    // clients that are there and left out
	outPale = color.RGBA{250, 219, 200, 255} // clients that are not there, and would be left out
)

// palette has the colours that M. Okabe and K. Ito found people of every colour vision to tell apart, without the
// yellow, which is too pale for a line, and a grey in its place.
var palette = []color.RGBA{
	{0, 0, 0, 255},       // black
	{213, 94, 0, 255},    // vermilion
	{0, 114, 178, 255},   // blue
	{0, 158, 115, 255},   // bluish green
	{204, 121, 167, 255}, // reddish purple
	{230, 159, 0, 255},   // orange
	{86, 180, 233, 255},  // sky blue
	{128, 128, 128, 255}, // grey
}

// dashes tell lines apart without colour: lengths on and off, in points. Their number and that of the colours have no
// common divisor, so that the first 72 styles all differ.
var dashes = [][]vg.Length{
	nil,
	{7, 3},
	{2, 2},
	{8, 2.5, 2, 2.5},
	{4, 2},
	{12, 3},
	{8, 2, 2, 2, 2, 2},
	{1, 1.5},
	{12, 3, 4, 3},
}

// styles are the names of a figure's series in the order in which they get their styles.
type styles struct{ names []string }

// add takes up names that are new; series without a name are not in the legend.
func (l *styles) add(names ...string) {
	for _, n := range names {
		if n != "" && !slices.Contains(l.names, n) {
			l.names = append(l.names, n)
		}
	}
}

// line returns the style of a series; one without a name has the first.
func (l styles) line(name string) draw.LineStyle {
	i := max(slices.Index(l.names, name), 0)
	return draw.LineStyle{Color: palette[i%len(palette)], Width: 1.5, Dashes: dashes[i%len(dashes)]}
}

// band returns the fill around a series.
func (l styles) band(name string) color.NRGBA {
	c := palette[max(slices.Index(l.names, name), 0)%len(palette)]
	return color.NRGBA{c.R, c.G, c.B, 40}
}

// lettering returns how text of a size is written.
func lettering(size vg.Length, x letters.XAlignment, y letters.YAlignment) letters.Style {
	return letters.Style{
		Color: ink, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler,
	}
}

// drawing puts the data on a panel.
type drawing func(c draw.Canvas, p *plot.Plot)

// Plot puts the data on a panel.
func (d drawing) Plot(c draw.Canvas, p *plot.Plot) { d(c, p) }

// newPlot returns an empty panel with its words, and a grid under the data.
func newPlot(title, xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title // moved by the figure
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Color, a.Width = ink, 0.6
		a.Label.Padding = 5
		a.Tick.Color, a.Tick.Width, a.Tick.Length = ink, 0.6, 4
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = lettering(labelSize, 0, 0).Font, ink
		a.Tick.Label.Font, a.Tick.Label.Color = lettering(tickSize, 0, 0).Font, ink
		a.Tick.Marker = plot.TickerFunc(linearTicks)
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	grid.Vertical.Width, grid.Horizontal.Width = 0.5, 0.5
	p.Add(grid)
	return p
}
