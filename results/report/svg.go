package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"rollcall/results/plot"
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
)

// chart is one panel on the page.
type chart struct {
	Title string
	SVG   template.HTML
}

// place converts data to pixels of a chart.
type place struct {
	x, y          plot.Axis
	width, height float64
}

// px returns the horizontal position of a value, in pixels from the left.
func (p place) px(v float64) float64 {
	return left + (v-p.x.Low)/(p.x.High-p.x.Low)*(p.width-left-right)
}

// py returns the vertical position of a value, in pixels from the top.
func (p place) py(v float64) float64 {
	v = min(max(v, p.y.Low), p.y.High) // bands may reach beyond the axis
	return p.height - below - (v-p.y.Low)/(p.y.High-p.y.Low)*(p.height-above-below)
}

// drawChart returns a panel as SVG. Its colours are classes of the style sheet, a group marks the shapes of each method
// for the filter, and its label describes the data for readers who cannot see it.
func drawChart(c plot.Chart, l *styles) (chart, error) {
	title, x, y, err := plot.Frame(c)
	if err != nil {
		return chart{}, err
	}
	p := place{x: x, y: y, width: chartWidth, height: chartHeight}
	var body strings.Builder
	var says string
	// Each kind of chart draws its shapes, and says in words what they show.
	switch c := c.(type) {
	case plot.LineChart:
		p.grid(&body)
		for _, s := range c.Series {
			p.series(&body, s, c.LogY, l)
		}
		says = lineWords(c)
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
			fmt.Fprintf(&body, `<g%s><path class="f%d" d="`, methodAttr(l.method(bar.Name)), l.of(bar.Name))
			p.box(&body, float64(i)-0.38, float64(i)+0.38, 0, bar.Value, 0)
			body.WriteString(`"/></g>`)
			parts = append(parts, fmt.Sprintf("%s %.3g", bar.Name, bar.Value))
		}
		says = "Bars: " + strings.Join(parts, ", ") + "."
	}
	var svg strings.Builder
	label := title + ". " + p.y.Label
	if p.x.Label != "" {
		label += " against " + p.x.Label
	}
	label = strings.TrimSpace(label + ". " + says)
	fmt.Fprintf(&svg, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		p.width, p.height, html.EscapeString(label))
	svg.WriteString(body.String())
	p.words(&svg)
	svg.WriteString(`</svg>`)
	return chart{title, template.HTML(svg.String())}, nil // every text in it is escaped
}

// grid draws the lines behind the data.
func (p place) grid(b *strings.Builder) {
	b.WriteString(`<path class="grid" d="`)
	for _, t := range p.y.Ticks {
		fmt.Fprintf(b, "M%d %sH%g", left, num(p.py(t.Value)), p.width-right)
	}
	for _, t := range p.x.Ticks {
		fmt.Fprintf(b, "M%s %dV%g", num(p.px(t.Value)), above, p.height-below)
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
		middle := (above + p.height - below) / 2
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
