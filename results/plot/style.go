package plot

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	letters "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Font sizes, in points.
const (
	titleSize = 10.5
	panelSize = 9
	labelSize = 8.5
	tickSize  = 8
	keySize   = 8.5
)

// The colours outside of the palette.
var (
	white   = color.RGBA{255, 255, 255, 255}
	ink     = color.RGBA{32, 32, 32, 255}
	faint   = color.RGBA{222, 222, 222, 255}
	solid   = color.RGBA{0, 114, 178, 255} // bars and active clients
	empty   = color.RGBA{236, 236, 236, 255}
	out     = color.RGBA{213, 94, 0, 255}    // active clients that are excluded
	outPale = color.RGBA{250, 219, 200, 255} // absent clients that are excluded
)

// palette has the colours of M. Okabe and K. Ito (Color Universal Design, 2008), which people of every colour vision
// can tell apart, some of them darker: each has a contrast of 3 to white, and in print without colour they are from
// black to a middle grey. A grey replaces their yellow.
var palette = []color.RGBA{
	{28, 31, 36, 255},    // black
	{213, 94, 0, 255},    // vermilion
	{0, 84, 150, 255},    // blue
	{0, 140, 100, 255},   // bluish green
	{158, 66, 118, 255},  // reddish purple
	{191, 131, 0, 255},   // orange
	{61, 155, 211, 255},  // sky blue
	{128, 128, 128, 255}, // grey
}

// Colours is the number of colours. The style s has the colour s mod Colours and the dash s mod 9. The numbers have no
// common divisor, so that the first 72 styles all differ.
var Colours = len(palette)

// Colour returns a colour as CSS has it: #d55e00.
func Colour(i int) string {
	c := palette[i%len(palette)]
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// dashes tell lines apart in print without colour: lengths on and off, in points.
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

// marks tell lines apart where dashes run into each other, one shape for each colour.
var marks = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.SquareGlyph{},
	draw.PyramidGlyph{},
	draw.PlusGlyph{},
	draw.BoxGlyph{},
	draw.CrossGlyph{},
	draw.RingGlyph{},
	draw.TriangleGlyph{},
}

// Dash returns the dash of a style as CSS and SVG have it, "7 3"; empty for a whole line.
func Dash(style int) string {
	return strings.Trim(fmt.Sprint(dashes[style%len(dashes)]), "[]")
}

// styles are the names of a figure's legend, with their keys.
type styles struct {
	names []string
	keys  map[string]Key
}

// add appends the names that are new; empty names are not in the legend.
func (l *styles) add(names ...string) {
	for _, n := range names {
		if n != "" && !slices.Contains(l.names, n) {
			l.names = append(l.names, n)
		}
	}
}

// label returns a name as the legend shows it.
func (l styles) label(name string) string {
	if k, has := l.keys[name]; has {
		return k.Label
	}
	return name
}

// style returns the style of a series. A series without a name has the first style.
func (l styles) style(name string) int {
	if k, has := l.keys[name]; has {
		return k.Style
	}
	taken := map[int]bool{}
	for _, k := range l.keys {
		taken[k.Style] = true
	}
	free := 0
	for _, n := range l.names {
		if _, has := l.keys[n]; has {
			continue
		}
		for taken[free] {
			free++
		}
		if n == name {
			break
		}
		free++
	}
	return free
}

// mark returns the mark of a series.
func (l styles) mark(name string) draw.GlyphStyle {
	i := l.style(name)
	return draw.GlyphStyle{Color: palette[i%len(palette)], Radius: 2.4, Shape: marks[i%len(marks)]}
}

// line returns the line of a series.
func (l styles) line(name string) draw.LineStyle {
	i := l.style(name)
	return draw.LineStyle{Color: palette[i%len(palette)], Width: 1.4, Dashes: dashes[i%len(dashes)]}
}

// band returns the colour of the band around a series, its line's colour made transparent.
func (l styles) band(name string) color.NRGBA {
	c := palette[l.style(name)%len(palette)]
	return color.NRGBA{c.R, c.G, c.B, 32}
}

// lettering returns the style of text of a size, aligned to the point at which it is drawn.
func lettering(size vg.Length, x letters.XAlignment, y letters.YAlignment) letters.Style {
	return letters.Style{
		Color: ink, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler,
	}
}

// drawing is a function that draws the data of a chart; it is a plot.Plotter.
type drawing func(c draw.Canvas, p *plot.Plot)

// Plot calls the function.
func (d drawing) Plot(c draw.Canvas, p *plot.Plot) { d(c, p) }

// margined is a drawing that also draws right of the data area, where it keeps a width free.
type margined struct {
	width vg.Length
	draw  drawing
}

// Plot calls the drawing.
func (m margined) Plot(c draw.Canvas, p *plot.Plot) { m.draw(c, p) }

// GlyphBoxes implements [plot.GlyphBoxer], which says how much space is taken.
func (m margined) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: m.width}}}}
}

// newPlot returns an empty plot with title, labels and a grid, in the style of all our charts.
func newPlot(title, xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title // drawPanels draws it
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
