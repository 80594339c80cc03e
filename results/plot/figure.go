package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	letters "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"rollcall/internal/files"
)

// The widths of a figure in a paper of two columns, in inches: over the page, and over one column. They are those of
// the styles of NeurIPS, ICML and IEEE, or a little less.
const (
	PageWidth   = 6.8
	ColumnWidth = 3.3
)

// PanelHeight is the default height of a row of panels, in pixels (96 to the inch).
const PanelHeight = 250

// Figure is a grid of charts with one title and one legend. The legend is above the panels, where it hides no data.
// Series of the same name look the same in all panels.
type Figure struct {
	Title       string
	Panels      [][]Chart // rows of panels, all of the same length; a nil chart leaves a gap
	PanelHeight int       // of each row, with its axes, in pixels; 0: [PanelHeight]

	// Keys say how names stand in the legend, and in which style. A name that is missing stands as it is, in the first
	// style that no key and no name before it has.
	Keys map[string]Key
}

// Key is a name in the legend of a [Figure].
type Key struct {
	Label string
	Style int // from 0: a colour and a dash, see [Colours]
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
	keyLine   = vg.Length(26) // line sample in the legend
	keyText   = vg.Length(5)  // between a sample and its name
	keyGap    = vg.Length(12) // between entries
	keyHeight = vg.Length(13)
	headline  = vg.Length(16) // height of a line of the figure's title
	caption   = vg.Length(16) // height of a line of the titles of a row of panels
	panelLine = vg.Length(11) // from line to line of such a title
	slack     = 1.15          // leaves space for names in a wider font than the one that was measured
)

// pixels converts CSS pixels to points.
func pixels(n int) vg.Length { return vg.Length(n) * 72 / 96 }

// pngDPI gives a PNG two pixels for each CSS pixel, for screens of high resolution and for slides.
const pngDPI = 2 * 96

// Width is a width in which [WriteFigure] writes every figure.
type Width struct {
	Inches float64
	Ending string // of the name, before the kind
}

// Widths are the widths of files, and Kinds the kinds: their names are path + Ending + "." + kind.
var (
	Widths = []Width{{PageWidth, ""}, {ColumnWidth, "-column"}}
	Kinds  = []string{"svg", "png", "pdf"}
)

// Endings are the ends of the names of the files that [WriteFigure] writes, in the order in which it writes them.
func Endings() (endings []string) {
	for _, width := range Widths {
		for _, kind := range Kinds {
			endings = append(endings, width.Ending+"."+kind)
		}
	}
	return endings
}

// FileOf returns the kind and the width in inches of a file that its name asks for, as [Endings] has them: one that
// ends in -column.svg is as wide as a column.
func FileOf(path string) (kind string, inches float64, err error) {
	kind = strings.TrimPrefix(filepath.Ext(path), ".")
	if !slices.Contains(Kinds, kind) {
		return "", 0, fmt.Errorf("%q, want a name that ends in .svg, .png or .pdf", path)
	}
	if strings.HasSuffix(path, "-column."+kind) {
		return kind, ColumnWidth, nil
	}
	return kind, PageWidth, nil
}

// Write writes the figure as one of [Kinds].
func (f Figure) Write(w io.Writer, kind string, inches float64) error {
	i := slices.Index(Kinds, kind)
	if i < 0 {
		return fmt.Errorf("plot: %q: unknown kind of file, want one of %s", kind, strings.Join(Kinds, ", "))
	}
	return writers[i](f, w, inches)
}

var writers = []func(f Figure, w io.Writer, inches float64) error{Figure.writeSVG, Figure.writePNG, Figure.writePDF}

// WriteFigure writes a figure as SVG, PNG and PDF, each over a page and over a column: path.svg, path-column.svg and so
// on, see [Endings]. Each file is written atomically, and the same figure gives the same bytes.
func WriteFigure(path string, f Figure) error {
	for _, width := range Widths {
		for _, kind := range Kinds {
			err := files.WriteFile(path+width.Ending+"."+kind, func(w io.Writer) error {
				return f.Write(w, kind, width.Inches)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteSVG writes the figure as SVG, as wide as a page.
func (f Figure) WriteSVG(w io.Writer) error { return f.writeSVG(w, PageWidth) }

func (f Figure) writePNG(w io.Writer, inches float64) error {
	return f.write(w, inches, func(width, height vg.Length) vg.CanvasWriterTo {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	})
}

func (f Figure) writePDF(w io.Writer, inches float64) error { return f.write(w, inches, newPDF) }

// write draws the figure on a canvas, which sized makes for a width and a height, and writes the canvas.
func (f Figure) write(
	w io.Writer, inches float64, sized func(width, height vg.Length) vg.CanvasWriterTo,
) error {
	width := vg.Length(inches) * vg.Inch
	if inches < PageWidth {
		f.Panels = narrow(f.Panels)
	}
	l := f.styles()
	plots, err := f.plots(l)
	if err != nil {
		return err
	}
	// From top to bottom: title, legend, panels. The first two are laid out first, as they decide the height.
	title := lettering(titleSize, draw.XLeft, draw.YTop)
	titles := wrapped(f.Title, title, width-2*edge)
	legend := flow(l, width-2*edge)
	head := edge + vg.Length(len(titles))*headline + vg.Length(len(legend))*keyHeight
	height := head + vg.Length(len(plots))*pixels(cmp.Or(f.PanelHeight, PanelHeight))

	canvas := sized(width, height)
	page := draw.New(canvas)
	page.SetColor(white)
	page.Fill(page.Path())
	top := height - edge
	for _, line := range titles {
		page.FillText(title, vg.Point{X: edge, Y: top}, line)
		top -= headline
	}
	marks := slices.ContainsFunc(slices.Concat(f.Panels...), func(c Chart) bool {
		lines, is := c.(LineChart)
		return is && lines.hasMarks()
	})
	for _, line := range legend {
		drawKeys(page, l, line, marks, top)
		top -= keyHeight
	}
	page.Max.Y = top
	drawPanels(page, plots)
	_, err = canvas.WriteTo(w)
	return err
}

// narrow returns the panels of a row below each other, for a column; more than three in two columns, unless one is a
// heat map, whose scale needs the width.
func narrow(panels [][]Chart) [][]Chart {
	all := slices.DeleteFunc(slices.Concat(panels...), func(c Chart) bool { return c == nil })
	if len(all) > 3 && !slices.ContainsFunc(all, func(c Chart) bool { _, is := c.(HeatMap); return is }) {
		return InPairs(all)
	}
	return slices.Collect(slices.Chunk(all, 1))
}

// wrapped breaks a text at spaces into lines of at most the given width.
func wrapped(text string, style letters.Style, width vg.Length) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && slack*style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// drawPanels draws the plots in a grid, with the data areas aligned in rows and columns. It also draws the titles, each
// right above its data, as the plots themselves would put them at different heights.
func drawPanels(page draw.Canvas, plots [][]*plot.Plot) {
	// Titles are removed from the plots, and remembered, before gonum aligns the plots.
	style := lettering(panelSize, draw.XCenter, draw.YBottom)
	width := (page.Max.X-page.Min.X)/vg.Length(len(plots[0])) - panelGap
	titles := make([][][]string, len(plots))
	most := 0 // lines of a title
	for j, row := range plots {
		titles[j] = make([][]string, len(row))
		for i, p := range row {
			if p != nil {
				titles[j][i], p.Title.Text = wrapped(p.Title.Text, style, width), ""
			}
			most = max(most, len(titles[j][i]))
		}
	}
	above := vg.Length(most) * caption
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
			lines := titles[j][i]
			for k, line := range lines { // in the middle of the panel and its labels, so that it fits
				page.FillText(style, vg.Point{
					X: min(data.Center().X, cell.Max.X-slack*style.Width(line)/2),
					Y: data.Max.Y + 7 + vg.Length(len(lines)-1-k)*panelLine,
				}, line)
			}
		}
	}
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

// styles returns the names of the legend in the order of the panels.
func (f Figure) styles() styles {
	l := styles{keys: f.Keys}
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
		w := keyWidth(l.label(name))
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
func drawKeys(page draw.Canvas, l styles, names []string, marks bool, top vg.Length) {
	x, y := edge, top-keyHeight/2
	for _, name := range names {
		page.StrokeLine2(l.line(name), x, y, x+keyLine, y)
		if marks {
			page.DrawGlyph(l.mark(name), vg.Point{X: x + keyLine/2, Y: y})
		}
		label := l.label(name)
		page.FillText(lettering(keySize, draw.XLeft, draw.YCenter), vg.Point{X: x + keyLine + keyText, Y: y}, label)
		x += keyWidth(label)
	}
}
