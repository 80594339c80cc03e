package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/results/plot"
)

// A chart of the page, in CSS pixels at its natural size; it scales with its column. Its colours are the page's, so that
// they follow the reader's light or dark.
const (
	chartWidth  = 440
	chartHeight = 260
	left        = 54
	right       = 12
	above       = 8
	below       = 42
)

// chart is one panel as the page has it.
type chart struct {
	Title string
	SVG   template.HTML
}

// key is one entry of a legend.
type key struct {
	Name, Method string
	Look         int
	Class        string // of a colour alone, without a line
}

// looks gives names their looks: methods have the same one all over the page.
type looks struct {
	methods []string
	others  []string // names of the figure that are none, in order
	from    int      // look of the first of others
}

// newLooks returns the looks of a figure's names. Names that are no method's come after the methods where there are any.
func newLooks(methods, names []string) *looks {
	l := &looks{methods: methods}
	for _, name := range names {
		if !slices.Contains(methods, name) {
			l.others = append(l.others, name)
		}
		if l.method(name) != "" {
			l.from = len(methods)
		}
	}
	return l
}

func (l *looks) of(name string) int {
	if i := slices.Index(l.methods, name); i >= 0 {
		return i
	}
	return l.from + max(slices.Index(l.others, name), 0)
}

// method returns the method a name is of, empty if of none.
func (l *looks) method(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if slices.Contains(l.methods, word) {
		return word
	}
	return ""
}

// place turns data into places on a chart.
type place struct {
	x, y          plot.Axis
	width, height float64
}

func (p place) px(v float64) float64 {
	return left + (v-p.x.Low)/(p.x.High-p.x.Low)*(p.width-left-right)
}

func (p place) py(v float64) float64 {
	v = min(max(v, p.y.Low), p.y.High) // bands may reach beyond the axis
	return p.height - below - (v-p.y.Low)/(p.y.High-p.y.Low)*(p.height-above-below)
}

// drawChart returns a panel as SVG.
func drawChart(c plot.Chart, l *looks) (chart, error) {
	x, y, err := plot.Axes(c)
	if err != nil {
		return chart{}, err
	}
	p := place{x: x, y: y, width: chartWidth, height: chartHeight}
	var body strings.Builder
	var out chart
	var says string
	switch c := c.(type) {
	case plot.LineChart:
		out.Title = c.Title
		p.grid(&body)
		for _, s := range c.Series {
			p.series(&body, s, c.LogY, l)
		}
		says = lineWords(c)
	case plot.Histogram:
		out.Title = c.Title
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
		out.Title, _, _ = strings.Cut(c.Title, " (dark") // the colours are the page's, which has a legend of them
		if strings.HasPrefix(out.Title, "dark") {
			out.Title = ""
		}
		p.height = max(150, min(7*float64(len(c.Rows)), 620)+above+below)
		p.raster(&body, c)
		p.y.Ticks = spaced(p.y.Ticks, p)
		says = rasterWords(c)
	case plot.KeyedBars:
		out.Title = c.Title
		p.x.Ticks = nil
		p.grid(&body)
		var parts []string
		for i, bar := range c.Bars {
			fmt.Fprintf(&body, `<g%s><path class="f%d" d="`, methodAttr(l.method(bar.Name)), l.of(bar.Name))
			p.box(&body, float64(i)-0.38, float64(i)+0.38, 0, bar.Value, 0)
			body.WriteString(`"/></g>`)
			parts = append(parts, fmt.Sprintf("%s %.3g", bar.Name, bar.Value))
		}
		says = "Bars: " + strings.Join(parts, ", ") + "."
	default:
		return chart{}, fmt.Errorf("report: chart of type %T, want one that the page can draw", c)
	}
	var svg strings.Builder
	label := strings.TrimSpace(out.Title + ". " + p.y.Label + " against " + p.x.Label + ". " + says)
	if p.x.Label == "" {
		label = strings.TrimSpace(out.Title + ". " + p.y.Label + ". " + says)
	}
	fmt.Fprintf(&svg, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, p.width, p.height, html.EscapeString(label))
	svg.WriteString(body.String())
	p.words(&svg)
	svg.WriteString(`</svg>`)
	out.SVG = template.HTML(svg.String()) //nolint:gosec // every text in it is escaped
	return out, nil
}

// grid draws the lines behind the data.
func (p place) grid(b *strings.Builder) {
	b.WriteString(`<path class="grid" d="`)
	for _, t := range p.y.Ticks {
		fmt.Fprintf(b, "M%d %sH%g", left, num(p.py(t.At)), p.width-right)
	}
	for _, t := range p.x.Ticks {
		fmt.Fprintf(b, "M%s %dV%g", num(p.px(t.At)), above, p.height-below)
	}
	b.WriteString(`"/>`)
}

// words writes the labels of the axes.
func (p place) words(b *strings.Builder) {
	b.WriteString(`<g class="tick">`)
	for i, t := range p.x.Ticks {
		anchor := ""
		if i > 0 && p.px(t.At) > p.width-24 {
			anchor = ` class="end"`
		}
		fmt.Fprintf(b, `<text x="%s" y="%g"%s>%s</text>`, num(min(p.px(t.At), p.width-2)), p.height-below+16, anchor, html.EscapeString(t.Label))
	}
	b.WriteString(`</g><g class="tick y">`)
	for _, t := range p.y.Ticks {
		fmt.Fprintf(b, `<text x="%d" y="%s">%s</text>`, left-6, num(p.py(t.At)+4), html.EscapeString(t.Label))
	}
	b.WriteString(`</g>`)
	if p.x.Label != "" {
		fmt.Fprintf(b, `<text class="axis" x="%g" y="%g">%s</text>`, (left+p.width-right)/2, p.height-6, html.EscapeString(p.x.Label))
	}
	if p.y.Label != "" {
		middle := (above + p.height - below) / 2
		fmt.Fprintf(b, `<text class="axis" transform="rotate(-90 12 %g)" x="12" y="%g">%s</text>`, middle, middle, html.EscapeString(p.y.Label))
	}
}

// box adds a rectangle between data to a path; gap is left free at its sides.
func (p place) box(b *strings.Builder, x0, x1, y0, y1, gap float64) {
	a, c, top, foot := p.px(x0)+gap, p.px(x1)-gap, p.py(max(y0, y1)), p.py(min(y0, y1))
	fmt.Fprintf(b, "M%s %sH%sV%sH%sz", num(a), num(foot), num(c), num(top), num(a))
}

func methodAttr(method string) string {
	if method == "" {
		return ""
	}
	return ` data-method="` + html.EscapeString(method) + `"`
}

// series draws a band and the line over it.
func (p place) series(b *strings.Builder, s plot.Series, logY bool, l *looks) {
	value := func(v float64) float64 {
		if logY {
			return math.Log10(v) // not finite where it has no place
		}
		return v
	}
	look := l.of(s.Name)
	fmt.Fprintf(b, `<g%s>`, methodAttr(l.method(s.Name)))
	if len(s.Low) > 0 {
		var band strings.Builder
		runs(len(s.X), func(i int) bool { return isFinite(s.X[i], value(s.Low[i]), value(s.High[i])) }, func(from, to int) {
			if to-from < 2 {
				return
			}
			t := newTrail(&band)
			for i := from; i < to; i++ {
				t.to(p.px(s.X[i]), p.py(value(s.High[i])))
			}
			for i := to - 1; i >= from; i-- {
				t.to(p.px(s.X[i]), p.py(value(s.Low[i])))
			}
			band.WriteByte('z')
		})
		if band.Len() > 0 {
			fmt.Fprintf(b, `<path class="b%d" d="%s"/>`, look, band.String())
		}
	}
	fmt.Fprintf(b, `<path class="l%d" d="`, look)
	runs(len(s.X), func(i int) bool { return isFinite(s.X[i], value(s.Y[i])) }, func(from, to int) {
		t := newTrail(b)
		if to-from == 1 {
			t.to(p.px(s.X[from])-2, p.py(value(s.Y[from])))
			t.to(p.px(s.X[from])+2, p.py(value(s.Y[from])))
			return
		}
		for i := from; i < to; i++ {
			if s.Step && i > from {
				t.to(p.px(s.X[i]), p.py(value(s.Y[i-1])))
			}
			t.to(p.px(s.X[i]), p.py(value(s.Y[i])))
		}
	})
	b.WriteString(`"/></g>`)
}

// spaced leaves the labels of a y axis that do not run into each other.
func spaced(ticks []plot.AxisTick, p place) (kept []plot.AxisTick) {
	last := math.Inf(1)
	for _, t := range ticks {
		if at := p.py(t.At); math.Abs(last-at) >= 13 {
			kept, last = append(kept, t), at
		}
	}
	return kept
}

// rasterKeys are the colours of activity.
func rasterKeys(c plot.Raster) []key {
	keys := []key{{Name: "there", Class: "bar"}, {Name: "absent", Class: "away"}}
	for _, row := range c.Rows {
		if len(row.Out) > 0 {
			return []key{{Name: "there and taken", Class: "bar"}, {Name: "there and left out", Class: "out"}, {Name: "absent", Class: "away"}, {Name: "absent and left out", Class: "gone"}}
		}
	}
	return keys
}

// raster draws activity: a bar of rounds for each client.
func (p place) raster(b *strings.Builder, c plot.Raster) {
	half := 0.34
	if len(c.Rows) > 20 {
		half = 0.5 // as many lines have no room for gaps
	}
	var there, on, out, gone strings.Builder
	for i, row := range c.Rows {
		y := float64(len(c.Rows) - 1 - i)
		p.box(&there, 0, float64(len(row.On)), y-half, y+half, 0)
		left := func(i int) bool { return i < len(row.Out) && row.Out[i] }
		for _, of := range []struct {
			has  func(i int) bool
			into *strings.Builder
		}{
			{func(i int) bool { return row.On[i] && !left(i) }, &on},
			{func(i int) bool { return row.On[i] && left(i) }, &out},
			{func(i int) bool { return !row.On[i] && left(i) }, &gone},
		} {
			runs(len(row.On), of.has, func(from, to int) {
				p.box(of.into, float64(from), float64(to), y-half, y+half, 0)
			})
		}
	}
	for _, of := range []struct{ class, path string }{{"away", there.String()}, {"bar", on.String()}, {"out", out.String()}, {"gone", gone.String()}} {
		if of.path != "" {
			fmt.Fprintf(b, `<path class="%s" d="%s"/>`, of.class, of.path)
		}
	}
}

// runs calls f for each longest run of indices below n that ok.
func runs(n int, ok func(i int) bool, f func(from, to int)) {
	for from := 0; from < n; {
		to := from
		for to < n && ok(to) {
			to++
		}
		if to > from {
			f(from, to)
		}
		from = max(to, from+1)
	}
}

func isFinite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// trail writes a path in steps of a tenth of a pixel, each from the one before: that is short, and errors do not add up.
type trail struct {
	b            *strings.Builder
	x, y         int
	begun, moved bool
}

func newTrail(b *strings.Builder) *trail { return &trail{b: b} }

func (t *trail) to(x, y float64) {
	i, j := int(math.Round(10*x)), int(math.Round(10*y))
	if !t.begun {
		fmt.Fprintf(t.b, "M%s %sl", tenths(i), tenths(j))
		t.x, t.y, t.begun = i, j, true
		return
	}
	dx, dy := tenths(i-t.x), tenths(j-t.y)
	if t.moved && dx[0] != '-' {
		t.b.WriteByte(' ')
	}
	t.moved = true
	t.b.WriteString(dx)
	if dy[0] != '-' {
		t.b.WriteByte(' ')
	}
	t.b.WriteString(dy)
	t.x, t.y = i, j
}

// tenths prints n/10 without what is not needed: 12.5, 3, .4, -.1.
func tenths(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	switch {
	case n == 0:
		return "0"
	case n%10 == 0:
		return sign + strconv.Itoa(n/10)
	case n < 10:
		return sign + "." + strconv.Itoa(n)
	}
	return sign + strconv.Itoa(n/10) + "." + strconv.Itoa(n%10)
}

// num prints a place to a tenth of a pixel.
func num(v float64) string { return tenths(int(math.Round(10 * v))) }

// lineWords says where the lines end, for those who do not see them.
func lineWords(c plot.LineChart) string {
	var parts []string
	for _, s := range c.Series {
		last := -1
		for i := range s.Y {
			if isFinite(s.Y[i]) {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		name := s.Name
		if name == "" {
			name = "line"
		}
		parts = append(parts, fmt.Sprintf("%s ends at %.4g", name, s.Y[last]))
	}
	if len(parts) == 0 {
		return "No data."
	}
	return strings.Join(parts, ", ") + "."
}

// rasterWords says how often the clients are there.
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
	text := fmt.Sprintf("%d clients, there in %.0f %% of the rounds", len(c.Rows), 100*float64(on)/float64(max(rounds, 1)))
	if out > 0 {
		text += fmt.Sprintf(", of these left out in %.0f %%", 100*float64(out)/float64(on))
	}
	return text + "."
}
