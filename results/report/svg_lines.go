package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/results/plot"
	"rollcall/results/stats"
)

// series draws the band of a series and the line over it, in a group for its method.
func (p place) series(b *strings.Builder, s plot.Series, logY bool, l *styles) {
	style := l.of(s.Name)
	fmt.Fprintf(b, `<g%s>`, methodAttr(l.method(s.Name)))
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
func lineWords(c plot.LineChart) string {
	var parts []string
	for _, s := range c.Series {
		for _, y := range slices.Backward(s.Y) {
			if stats.Finite(y) {
				parts = append(parts, fmt.Sprintf("%s ends at %.4g", cmp.Or(s.Name, "line"), y))
				break
			}
		}
	}
	if len(parts) == 0 {
		return "No data."
	}
	return strings.Join(parts, ", ") + "."
}
