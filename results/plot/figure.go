package plot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"rollcall/internal/files"
)

// FigureWidth is the width of every figure, in pixels (96 to the inch).
const FigureWidth = 800

// PanelHeight is the default height of a row of panels, in pixels.
const PanelHeight = 320

// Figure is a grid of charts with one title and one legend. The legend is above the panels, where it hides no data.
// Series of the same name look the same in all panels.
type Figure struct {
	Title       string
	Panels      [][]Chart // rows of panels, all of the same length; a nil chart leaves a gap
	PanelHeight int       // of each row, with its axes, in pixels; 0: [PanelHeight]
}

// InPairs returns rows of two charts, with a gap after the last of an odd number. A single chart fills its row.
func InPairs(charts []Chart) [][]Chart {
	if len(charts) > 1 && len(charts)%2 == 1 {
		charts = append(charts, nil)
	}
	return slices.Collect(slices.Chunk(charts, 2))
}

// Chart is one panel of a figure: [LineChart], [Histogram], [Raster], [KeyedBars], [HeatMap] or [Bubbles].
type Chart interface {
	// plot draws the chart without its legend.
	plot(styles) (*plot.Plot, error)
	// keys returns the names that the chart adds to the legend.
	keys() []string
}

// Sizes of the parts around the panels.
const (
	edge      = vg.Length(8) // margin of the figure, in points like all lengths here
	panelGap  = vg.Length(14)
	keyLine   = vg.Length(30) // line sample in the legend
	keyText   = vg.Length(5)  // between a sample and its name
	keyGap    = vg.Length(16) // between entries
	keyHeight = vg.Length(15)
	headline  = vg.Length(22) // height of the figure's title
	caption   = vg.Length(16) // height of the titles of a row of panels
	slack     = 1.15          // leaves space for names in a wider font than the one that was measured
)

// pixels converts CSS pixels to points.
func pixels(n int) vg.Length { return vg.Length(n) * 72 / 96 }

// pngDPI gives a PNG two pixels for each CSS pixel, for screens of high resolution and for slides.
const pngDPI = 2 * 96

// WriteFigure writes a figure as SVG, atomically. The same figure gives the same bytes.
func WriteFigure(path string, f Figure) error { return files.WriteFile(path, f.WriteSVG) }

// WriteFigurePNG writes a figure as PNG, atomically. The picture is twice [FigureWidth] wide.
func WriteFigurePNG(path string, f Figure) error {
	return files.WriteFile(path, func(w io.Writer) error {
		return f.write(w, func(width, height vg.Length) vg.CanvasWriterTo {
			return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
		})
	})
}

// WriteSVG writes the figure as SVG.
func (f Figure) WriteSVG(w io.Writer) error {
	var svg bytes.Buffer
	err := f.write(&svg, func(width, height vg.Length) vg.CanvasWriterTo { return vgsvg.New(width, height) })
	if err != nil {
		return err
	}
	_, err = files.Printed(w).Write(withFallbackFonts(svg.Bytes()))
	return err
}

// write draws the figure on a canvas, which sized makes for a width and a height, and writes the canvas.
func (f Figure) write(w io.Writer, sized func(width, height vg.Length) vg.CanvasWriterTo) error {
	l := f.styles()
	plots, err := f.plots(l)
	if err != nil {
		return err
	}
	// From top to bottom: title, legend, panels. The legend is laid out first, as it decides the height.
	width := pixels(FigureWidth)
	legend := flow(l, width-2*edge)
	head := edge
	if f.Title != "" {
		head += headline
	}
	head += vg.Length(len(legend)) * keyHeight
	height := head + vg.Length(len(plots))*pixels(cmp.Or(f.PanelHeight, PanelHeight))

	canvas := sized(width, height)
	page := draw.New(canvas)
	page.SetColor(white)
	page.Fill(page.Path())
	top := height - edge
	if f.Title != "" {
		page.FillText(lettering(titleSize, draw.XLeft, draw.YTop), vg.Point{X: edge, Y: top}, f.Title)
		top -= headline
	}
	for _, line := range legend {
		drawKeys(page, l, line, top)
		top -= keyHeight
	}
	page.Max.Y = top
	drawPanels(page, plots)
	_, err = canvas.WriteTo(w)
	return err
}

// drawPanels draws the plots in a grid, with the data areas aligned in rows and columns. It also draws the titles, each
// right above its data, as the plots themselves would put them at different heights.
func drawPanels(page draw.Canvas, plots [][]*plot.Plot) {
	// Titles are removed from the plots, and remembered, before gonum aligns the plots.
	titles := make([][]string, len(plots))
	above := vg.Length(0)
	for j, row := range plots {
		titles[j] = make([]string, len(row))
		for i, p := range row {
			if p != nil {
				titles[j][i], p.Title.Text = p.Title.Text, ""
			}
			if titles[j][i] != "" {
				above = caption
			}
		}
	}
	tiles := draw.Tiles{
		Rows: len(plots), Cols: len(plots[0]), PadX: panelGap, PadY: panelGap + above,
		PadLeft: edge, PadRight: edge + panelGap/2, PadTop: edge + above, PadBottom: edge,
	}
	for j, cells := range plot.Align(plots, tiles, page) {
		for i, cell := range cells {
			p := plots[j][i]
			if p == nil {
				continue
			}
			p.Draw(cell)
			data := p.DataCanvas(cell)
			page.FillText(lettering(panelSize, draw.XCenter, draw.YBottom), vg.Point{
				X: data.Center().X,
				Y: data.Max.Y + 7,
			}, titles[j][i])
		}
	}
}

// withFallbackFonts adds fonts of the same widths to an SVG, for viewers without the font that was measured.
func withFallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
}

// plots returns the plot of every chart, nil for a gap.
func (f Figure) plots(l styles) (plots [][]*plot.Plot, err error) {
	if len(f.Panels) == 0 || len(f.Panels[0]) == 0 {
		return nil, errors.New("no panel, want one at least")
	}
	plots = make([][]*plot.Plot, len(f.Panels))
	for j, row := range f.Panels {
		plots[j] = make([]*plot.Plot, len(row))
		for i, chart := range row {
			if chart == nil {
				continue
			}
			if plots[j][i], err = chart.plot(l); err != nil {
				return nil, fmt.Errorf("panel %d of row %d: %w", i+1, j+1, err)
			}
		}
	}
	return plots, nil
}

// styles returns the names of the legend in the order of the panels; the order decides their styles.
func (f Figure) styles() styles {
	var l styles
	for _, row := range f.Panels {
		for _, chart := range row {
			if chart != nil {
				l.add(chart.keys()...)
			}
		}
	}
	return l
}

// flow breaks the names of the legend into lines of at most the given width.
func flow(l styles, width vg.Length) [][]string {
	var lines [][]string
	used := vg.Length(0)
	for _, name := range l.names {
		w := keyWidth(name)
		if len(lines) == 0 || used+w > width {
			lines, used = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], name)
		used += w
	}
	return lines
}

// keyWidth returns the width of an entry of the legend, with the gap after it.
func keyWidth(name string) vg.Length {
	return keyLine + keyText + slack*lettering(keySize, draw.XLeft, draw.YCenter).Width(name) + keyGap
}

// drawKeys draws one line of the legend below top.
func drawKeys(page draw.Canvas, l styles, names []string, top vg.Length) {
	x, y := edge, top-keyHeight/2
	for _, name := range names {
		page.StrokeLine2(l.line(name), x, y, x+keyLine, y)
		page.FillText(lettering(keySize, draw.XLeft, draw.YCenter), vg.Point{X: x + keyLine + keyText, Y: y}, name)
		x += keyWidth(name)
	}
}
