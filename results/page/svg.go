package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/results/plot"
	"rollcall/results/stats"
)

// The size of a chart and of its margins, in CSS pixels. The browser scales the chart to the width of its column. The
// labels of the axes stand in the left margin and below.
const (
	chartWidth  = 440
	chartHeight = 260
	left        = 54
	right       = 12
	above       = 8
	below       = 42
	nameWidth   = 58 // of a mark: six hexadecimal digits, and a gap
	nameHeight  = 16
)

// Chart is one panel on a page.
type Chart struct {
	Title string
	SVG   template.HTML
}

// Mark is a vertical line in a line chart, with a name above the data.
type Mark struct {
	X     float64
	To    float64 // the chart is shaded from X to here; X: not at all
	Name  string
	Class string // of the style sheet
}

// place converts data to pixels of a chart.
type place struct {
	x, y                 plot.Axis
	width, height, above float64
}

// px returns the horizontal position of a value, in pixels from the left.
func (p place) px(v float64) float64 {
	return left + (v-p.x.Low)/(p.x.High-p.x.Low)*(p.width-left-right)
}

// py returns the vertical position of a value, in pixels from the top.
func (p place) py(v float64) float64 {
	v = min(max(v, p.y.Low), p.y.High) // bands may reach beyond the axis
	return p.height - below - (v-p.y.Low)/(p.y.High-p.y.Low)*(p.height-p.above-below)
}

// Draw returns a panel as SVG. Its colours are classes of the style sheet, a group marks the shapes of each method
// for the filter, and its label describes the data for readers who cannot see it.
func Draw(c plot.Chart, keys map[string]Key, marks ...Mark) (Chart, error) {
	title, x, y, err := plot.Frame(c)
	if err != nil {
		return Chart{}, err
	}
	p := place{x: x, y: y, width: chartWidth, height: chartHeight, above: above}
	var body strings.Builder
	var says string
	switch c := c.(type) {
	case plot.LineChart:
		names := ""
		if len(marks) > 0 {
			names = p.marks(&body, marks)
		}
		p.grid(&body)
		for _, s := range c.Series {
			p.series(&body, s, c.LogY, keys[s.Name])
		}
		body.WriteString(names)
		says = lineWords(c, keys)
	case plot.Histogram:
		p.grid(&body)
		body.WriteString(`<path class="bar" d="`)
		total := 0
		for _, b := range c.Bins {
			total += b.Count
			if b.Count > 0 {
				p.box(&body, b.Low, b.High, 0, float64(b.Count), 0.6)
			}
		}
		body.WriteString(`"/>`)
		says = fmt.Sprintf("Histogram of %d values.", total)
	case plot.Raster:
		title, _, _ = strings.Cut(title, " (dark") // the page has a legend of the colours instead
		if strings.HasPrefix(title, "dark") {
			title = ""
		}
		p.height = max(150, min(7*float64(len(c.Rows)), 620)+above+below)
		p.raster(&body, c)
		p.y.Ticks = spaced(p.y.Ticks, p)
		says = rasterWords(c)
	case plot.KeyedBars:
		p.grid(&body)
		var parts []string
		for i, bar := range c.Bars {
			k := keys[bar.Name]
			fmt.Fprintf(&body, `<g%s><path class="f%d" d="`, methodAttr(k.Method), k.Style)
			p.box(&body, float64(i)-0.38, float64(i)+0.38, 0, bar.Value, 0)
			body.WriteString(`"/></g>`)
			parts = append(parts, fmt.Sprintf("%s %.3g", k.Name, bar.Value))
		}
		says = "Bars: " + strings.Join(parts, ", ") + "."
	}
	var svg strings.Builder
	label := title + ". " + p.y.Label
	if p.x.Label != "" {
		label += " against " + p.x.Label
	}
	label = strings.TrimSpace(label + ". " + says)
	fmt.Fprintf(&svg, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s"%s>`,
		p.width, p.height, html.EscapeString(label), p.scale(c))
	svg.WriteString(body.String())
	p.words(&svg)
	svg.WriteString(`</svg>`)
	return Chart{title, template.HTML(svg.String())}, nil // every text in it is escaped
}

// scale returns the attributes of a line chart by which the page's script finds the values under the pointer: the
// pixels and the values at the two ends of each axis, and whether the values of y are logarithms, and those of
// x dates. Other charts have
// none.
func (p place) scale(c plot.Chart) string {
	lines, is := c.(plot.LineChart)
	if !is {
		return ""
	}
	kind := "linear"
	if lines.LogY {
		kind = "log"
	}
	dates := ""
	if lines.Dates {
		dates = " data-dates"
	}
	return fmt.Sprintf(` data-x="%d %g %g %g" data-y="%g %g %g %g" data-scale="%s" data-of="%s"%s`,
		left, p.width-right, p.x.Low, p.x.High, p.height-below, p.above, p.y.Low, p.y.High, kind,
		html.EscapeString(p.x.Label), dates)
}

// marks shades the parts of marks, and returns their lines and names, which are above the data. It makes the chart
// higher by the lines of names: a name stands in the first line in which the one before leaves it space.
func (p *place) marks(b *strings.Builder, marks []Mark) (over string) {
	var lines []float64 // where the last name of each ends
	at := make([]int, len(marks))
	middle := func(m Mark) float64 { return min(max(p.px(m.X), left), p.width-nameWidth/2) }
	for i, m := range marks {
		for at[i] < len(lines) && lines[at[i]] > middle(m)-nameWidth/2 {
			at[i]++
		}
		if at[i] == len(lines) {
			lines = append(lines, 0)
		}
		lines[at[i]] = middle(m) + nameWidth/2
	}
	p.above += nameHeight * float64(len(lines))
	p.height += nameHeight * float64(len(lines))
	var out strings.Builder
	b.WriteString(`<g class="spans">`)
	for i, m := range marks {
		class, foot := html.EscapeString(m.Class), p.height-below
		if m.To > m.X {
			fmt.Fprintf(b, `<path class="%s" d="M%s %gV%gH%sV%gz"/>`, class, num(p.px(m.X)), p.above, foot,
				num(p.px(m.To)), p.above)
		}
		top := p.above - 4 - nameHeight*float64(at[i])
		fmt.Fprintf(&out, `<g class="mark %s"><path d="M%s %gV%g"/><text x="%s" y="%g">%s</text></g>`, class,
			num(p.px(m.X)), p.above, foot, num(middle(m)), top, html.EscapeString(m.Name))
	}
	b.WriteString(`</g>`)
	return out.String()
}

// grid draws the lines behind the data.
func (p place) grid(b *strings.Builder) {
	b.WriteString(`<path class="grid" d="`)
	for _, t := range p.y.Ticks {
		fmt.Fprintf(b, "M%d %sH%g", left, num(p.py(t.Value)), p.width-right)
	}
	for _, t := range p.x.Ticks {
		fmt.Fprintf(b, "M%s %gV%g", num(p.px(t.Value)), p.above, p.height-below)
	}
	b.WriteString(`"/>`)
}

// words writes the labels of the ticks and of the axes.
func (p place) words(b *strings.Builder) {
	b.WriteString(`<g class="tick">`)
	for i, t := range p.x.Ticks {
		anchor := ""
		// Anchor the last label at its end, or it would leave the chart.
		if i > 0 && p.px(t.Value) > p.width-24 {
			anchor = ` class="end"`
		}
		at := num(min(p.px(t.Value), p.width-2))
		fmt.Fprintf(b, `<text x="%s" y="%g"%s>%s</text>`, at, p.height-below+16, anchor, html.EscapeString(t.Label))
	}
	b.WriteString(`</g><g class="tick y">`)
	for _, t := range p.y.Ticks {
		fmt.Fprintf(b, `<text x="%d" y="%s">%s</text>`, left-6, num(p.py(t.Value)+4), html.EscapeString(t.Label))
	}
	b.WriteString(`</g>`)
	if p.x.Label != "" {
		fmt.Fprintf(b, `<text class="axis" x="%g" y="%g">%s</text>`, (left+p.width-right)/2, p.height-6,
			html.EscapeString(p.x.Label))
	}
	if p.y.Label != "" {
		middle := (p.above + p.height - below) / 2
		fmt.Fprintf(b, `<text class="axis" transform="rotate(-90 12 %g)" x="12" y="%g">%s</text>`, middle, middle,
			html.EscapeString(p.y.Label))
	}
}

// box adds a rectangle to a path, from (x0, y0) to (x1, y1) in data units, with a gap of pixels free on the left and on
// the right.
func (p place) box(b *strings.Builder, x0, x1, y0, y1, gap float64) {
	a, c, top, foot := p.px(x0)+gap, p.px(x1)-gap, p.py(max(y0, y1)), p.py(min(y0, y1))
	fmt.Fprintf(b, "M%s %sH%sV%sH%sz", num(a), num(foot), num(c), num(top), num(a))
}

// methodAttr returns the attribute by which the page's script finds the shapes of a method.
func methodAttr(method string) string {
	if method == "" {
		return ""
	}
	return ` data-method="` + html.EscapeString(method) + `"`
}

// spaced returns the labels of a y axis that do not overlap, from the bottom up. style.css sets labels of 12 pixels.
func spaced(ticks []plot.AxisTick, p place) (kept []plot.AxisTick) {
	last := math.Inf(1)
	for _, t := range ticks {
		if at := p.py(t.Value); math.Abs(last-at) >= 13 {
			kept, last = append(kept, t), at
		}
	}
	return kept
}

// series draws the band of a series and the line over it, in a group for its method.
func (p place) series(b *strings.Builder, s plot.Series, logY bool, k Key) {
	style := k.Style
	fmt.Fprintf(b, `<g data-name="%s"%s>`, html.EscapeString(k.Name), methodAttr(k.Method))
	bands, lines := s.Paths(logY)
	// The bands of a series are one path, drawn before its line, so that the line is on top.
	var outlines strings.Builder
	for _, band := range bands {
		if len(band) > 2 { // more than one point of the series
			trail(&outlines, p.onPage(band))
			outlines.WriteByte('z')
		}
	}
	if outlines.Len() > 0 {
		fmt.Fprintf(b, `<path class="b%d" d="%s"/>`, style, outlines.String())
	}
	fmt.Fprintf(b, `<path class="l%d" d="`, style)
	for _, line := range lines {
		points := p.onPage(line)
		if len(points) == 1 { // a single point between gaps would be invisible
			at := points[0]
			points = []plot.Place{{X: at.X - 2, Y: at.Y}, {X: at.X + 2, Y: at.Y}}
		}
		trail(b, points)
	}
	b.WriteString(`"/></g>`)
}

// onPage converts points from data units to pixels.
func (p place) onPage(path []plot.Place) []plot.Place {
	points := make([]plot.Place, len(path))
	for i, at := range path {
		points[i] = plot.Place{X: p.px(at.X), Y: p.py(at.Y)}
	}
	return points
}

// trail writes a path as steps from point to point, in whole tenths of a pixel. Steps take fewer bytes than positions,
// and as positions are rounded before they are subtracted, rounding errors do not add up.
func trail(b *strings.Builder, points []plot.Place) {
	var x, y int // the point before, in tenths of a pixel
	for k, at := range points {
		i, j := int(math.Round(10*at.X)), int(math.Round(10*at.Y))
		if k == 0 {
			fmt.Fprintf(b, "M%s %sl", tenths(i), tenths(j))
		} else {
			dx, dy := tenths(i-x), tenths(j-y)
			// A minus sign separates two numbers; otherwise a space is needed.
			if k > 1 && dx[0] != '-' {
				dx = " " + dx
			}
			if dy[0] != '-' {
				dy = " " + dy
			}
			b.WriteString(dx + dy)
		}
		x, y = i, j
	}
}

// tenths returns n/10 in as few characters as SVG allows: 12.5, 3, .4, -.1.
func tenths(n int) string {
	text := strconv.FormatFloat(float64(n)/10, 'f', -1, 64)
	if n > -10 && n < 10 {
		text = strings.Replace(text, "0.", ".", 1)
	}
	return text
}

// num returns a position rounded to a tenth of a pixel.
func num(v float64) string { return tenths(int(math.Round(10 * v))) }

// lineWords says at which values the lines end, for readers who cannot see the chart.
func lineWords(c plot.LineChart, keys map[string]Key) string {
	var parts []string
	for _, s := range c.Series {
		for _, y := range slices.Backward(s.Y) {
			if stats.Finite(y) {
				parts = append(parts, fmt.Sprintf("%s ends at %.4g", cmp.Or(keys[s.Name].Name, "line"), y))
				break
			}
		}
	}
	if len(parts) == 0 {
		return "No data."
	}
	return strings.Join(parts, ", ") + "."
}

// RasterKeys returns the entries of a raster's legend.
func RasterKeys(c plot.Raster) []Key {
	keys := []Key{{Name: "active", Class: "bar"}, {Name: "absent", Class: "away"}}
	for _, row := range c.Rows {
		if len(row.Out) > 0 {
			return []Key{
				{Name: "active and included", Class: "bar"},
				{Name: "active and left out", Class: "out"},
				{Name: "absent", Class: "away"},
				{Name: "absent and left out", Class: "gone"},
			}
		}
	}
	return keys
}

// raster draws the activity of clients, with a bar of rounds for each client, as one path for each colour.
func (p place) raster(b *strings.Builder, c plot.Raster) {
	half := 0.34
	if len(c.Rows) > 20 {
		half = 0.5 // so many bars have no space for gaps
	}
	// Drawn one over the other: absent over the whole length, then the rounds of each other colour. So each colour is
	// one path, however often a client comes and goes.
	left := func(row plot.RasterRow, i int) bool { return i < len(row.Out) && row.Out[i] }
	for _, colour := range []struct {
		class string
		has   func(row plot.RasterRow, i int) bool
	}{
		{"away", func(plot.RasterRow, int) bool { return true }},
		{"bar", func(row plot.RasterRow, i int) bool { return row.On[i] && !left(row, i) }},
		{"out", func(row plot.RasterRow, i int) bool { return row.On[i] && left(row, i) }},
		{"gone", func(row plot.RasterRow, i int) bool { return !row.On[i] && left(row, i) }},
	} {
		var path strings.Builder
		for i, row := range c.Rows {
			y := float64(len(c.Rows) - 1 - i)
			plot.Stretches(len(row.On), func(round int) bool { return colour.has(row, round) }, func(from, to int) {
				p.box(&path, float64(from), float64(to), y-half, y+half, 0)
			})
		}
		if path.Len() > 0 {
			fmt.Fprintf(b, `<path class="%s" d="%s"/>`, colour.class, path.String())
		}
	}
}

// rasterWords says how often the clients are active, for readers who cannot see the chart.
func rasterWords(c plot.Raster) string {
	rounds, on, out := 0, 0, 0
	for _, row := range c.Rows {
		rounds += len(row.On)
		for i, here := range row.On {
			if here {
				on++
				if i < len(row.Out) && row.Out[i] {
					out++
				}
			}
		}
	}
	text := fmt.Sprintf("%d clients, active in %.0f %% of the rounds", len(c.Rows),
		100*float64(on)/float64(max(rounds, 1)))
	if out > 0 {
		text += fmt.Sprintf(", of these left out in %.0f %%", 100*float64(out)/float64(on))
	}
	return text + "."
}

// Key is an entry of a legend.
type Key struct {
	Name, Method string // as it is shown; the method for the filter, or empty
	Style        int
	Class        string // CSS class of a box of colour; empty: a line of the given Style
}
