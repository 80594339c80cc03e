package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rollcall/results/plot"
	"rollcall/results/stats"
)

// series draws a band and the line over it.
func (p place) series(b *strings.Builder, s plot.Series, logY bool, l *styles) {
	value := func(v float64) float64 {
		if logY {
			return math.Log10(v) // not finite where it has no place
		}
		return v
	}
	style := l.of(s.Name)
	fmt.Fprintf(b, `<g%s>`, methodAttr(l.method(s.Name)))
	if len(s.Low) > 0 {
		var band strings.Builder
		plot.Stretches(len(s.X), func(i int) bool { return stats.Finite(s.X[i], value(s.Low[i]), value(s.High[i])) },
			func(from, to int) {
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
			fmt.Fprintf(b, `<path class="b%d" d="%s"/>`, style, band.String())
		}
	}
	fmt.Fprintf(b, `<path class="l%d" d="`, style)
	plot.Stretches(len(s.X), func(i int) bool { return stats.Finite(s.X[i], value(s.Y[i])) }, func(from, to int) {
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

// trail writes a path in steps of a tenth of a pixel, each from the one before: that is short, and errors do not add
// up.
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
	text := strconv.FormatFloat(float64(n)/10, 'f', -1, 64)
	if n > -10 && n < 10 {
		text = strings.Replace(text, "0.", ".", 1)
	}
	return text
}

// num prints a place to a tenth of a pixel.
func num(v float64) string { return tenths(int(math.Round(10 * v))) }

// lineWords says where the lines end, for those who do not see them.
func lineWords(c plot.LineChart) string {
	var parts []string
	for _, s := range c.Series {
		last := -1
		for i := range s.Y {
			if stats.Finite(s.Y[i]) {
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
