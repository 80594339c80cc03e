package report

import (
	"fmt"
	"slices"
	"strings"
)

// key is one entry of a legend.
type key struct {
	Name, Method string
	Style        int
	Class        string // CSS class of a box of colour; empty: a line of the given Style
}

// styles assigns a style to each name in a figure: the number of a rule in the style sheet. A method has the same style
// in all figures of the page, so that readers learn it once.
type styles struct {
	methods []string
	rest    []string // the other names of the figure, in order
	from    int      // style of the first name in rest
}

// newStyles returns the styles for the names of a figure. Names that are not methods get the styles after the methods'
// if the figure has methods too.
func newStyles(methods, names []string) *styles {
	l := &styles{methods: methods}
	// A line named "fedawe lr=0.1" may stand beside lines of methods, and must not have the style of another method.
	for _, name := range names {
		if !slices.Contains(methods, name) {
			l.rest = append(l.rest, name)
		}
		if l.method(name) != "" {
			l.from = len(methods)
		}
	}
	return l
}

// of returns the style of a name.
func (l *styles) of(name string) int {
	if i := slices.Index(l.methods, name); i >= 0 {
		return i
	}
	return l.from + max(slices.Index(l.rest, name), 0)
}

// method returns the method with which a name begins, so that the filter finds its line; empty if there is none.
func (l *styles) method(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if slices.Contains(l.methods, word) {
		return word
	}
	return ""
}

// dashes tell lines apart without colour: lengths on and off, in CSS pixels. Nine dashes and eight colours, numbers
// without a common divisor, give 72 different styles, as in package plot.
var dashes = []string{"", "7 3", "2 2", "9 3 2 3", "4 2", "12 3", "9 2 2 2 2 2", "1 2", "12 3 4 3"}

// colours is the number of colours in style.css, --c0 to --c7.
const colours = 8

// styleRules returns the CSS rules for n styles of lines (.l0, …), bands (.b0, …) and filled bars (.f0, …).
func styleRules(n int) string {
	var b strings.Builder
	for i := range max(n, 1) {
		c := i % colours
		fmt.Fprintf(&b, ".l%d{stroke:var(--c%d)", i, c)
		if dash := dashes[i%len(dashes)]; dash != "" {
			fmt.Fprintf(&b, ";stroke-dasharray:%s", dash)
		}
		fmt.Fprintf(&b, "}.b%d,.f%d{fill:var(--c%d)}", i, i, c)
	}
	b.WriteString("path[class^=l]{fill:none;stroke-width:1.8;stroke-linejoin:round}")
	b.WriteString("path[class^=b]:not(.bar){opacity:.16}")
	return b.String()
}
