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
	Class        string // of a colour alone, without a line
}

// styles gives names their styles, numbers of rules in the style sheet: methods have the same one all over the page.
type styles struct {
	methods []string
	rest    []string // names of the figure that are no method's, in order
	from    int      // style of the first of rest
}

// newStyles returns the styles of a figure's names. Names that are no method's come after the methods where there are
// any.
func newStyles(methods, names []string) *styles {
	l := &styles{methods: methods}
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

func (l *styles) of(name string) int {
	if i := slices.Index(l.methods, name); i >= 0 {
		return i
	}
	return l.from + max(slices.Index(l.rest, name), 0)
}

// method returns the method a name is of, empty if of none.
func (l *styles) method(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if slices.Contains(l.methods, word) {
		return word
	}
	return ""
}

// dashes tell lines apart without colour. Their number and that of the colours have no common divisor.
var dashes = []string{"", "7 3", "2 2", "9 3 2 3", "4 2", "12 3", "9 2 2 2 2 2", "1 2", "12 3 4 3"}

// colours is how many there are in the style sheet.
const colours = 8

// styleRules are the style rules of lines (l), bands (b) and fills (f).
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
	b.WriteString("path[class^=l]{fill:none;stroke-width:1.8;stroke-linejoin:round}path[class^=b]:not(.bar){opacity:.16}")
	return b.String()
}
