// Package page holds what the HTML pages of the suite share: the head, the style sheet, the script, and charts as SVG.
package page

import (
	_ "embed" // for the parts of a page
	"fmt"
	"html/template"
	"strings"

	"rollcall/results/plot"
)

var (
	//go:embed head.html.tmpl
	headHTML string
	//go:embed style.css
	styleCSS string
	//go:embed script.js
	scriptJS string
)

// Head is the data of the template "head", which begins a page. A page loads no other file.
type Head struct {
	Title, Version string        // of the page, of rollcall
	Style          template.HTML // see [Style]
}

// Template parses the template of a page. It may use the template "head"; "link" for a link to the part of the page
// that the link is in; "keys" for a legend; and the function script for the script as an element. It panics on a
// mistake, which cannot stay unnoticed if the program parses its templates when it starts.
func Template(name, text string, funcs template.FuncMap) *template.Template {
	t := template.New(name).Funcs(funcs).Funcs(template.FuncMap{
		"join":   strings.Join,
		"script": func() template.HTML { return template.HTML("<script>" + scriptJS + "</script>") }, // our own file
	})
	return template.Must(template.Must(t.Parse(headHTML)).Parse(text))
}

// Style returns the style sheet as an element, with n styles of lines (.l0, …), bands (.b0, …) and bars (.f0, …) in the
// colours and dashes of package plot; style.css has lighter colours for a dark page.
func Style(n int) template.HTML {
	var b strings.Builder
	b.WriteString("<style>:root{")
	for c := range plot.Colours {
		fmt.Fprintf(&b, "--c%d:%s;", c, plot.Colour(c))
	}
	b.WriteString("}")
	for i := range max(n, 1) {
		c := i % plot.Colours
		fmt.Fprintf(&b, ".l%d{stroke:var(--c%d)", i, c)
		if dash := plot.Dash(i); dash != "" {
			fmt.Fprintf(&b, ";stroke-dasharray:%s", dash)
		}
		fmt.Fprintf(&b, "}.b%d,.f%d{fill:var(--c%d)}", i, i, c)
	}
	b.WriteString("path[class^=l]{fill:none;stroke-width:1.8;stroke-linejoin:round}")
	b.WriteString("path[class^=b]:not(.bar){opacity:.16}")
	return template.HTML(b.String() + styleCSS + "</style>") // our own file
}
