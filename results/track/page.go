package track

import (
	"cmp"
	_ "embed" // for the template
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results/page"
)

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = page.Template("track", pageHTML, template.FuncMap{
	"percent": percent, "chart": chartID, "count": files.Count, "part": part, "number": number,
})

// lastNights is how many nights the page gives the conditions of.
const lastNights = 14

type pageData struct {
	Verdict
	Head              page.Head
	Name, Word, Class string   // of the machine; the verdict in a word or two, and its CSS class
	Odd               []string // what is odd in the history or in its last night
	Events            []Finding
	Groups            []string // of metrics, for the filter
	Charts            []chartData
	Keys              []page.Key
	Last              []Night // the newest first
	CardUsers         bool    // some of them have any
}

type chartData struct {
	page.Chart
	ID, Group string
	Events    []Finding // those of the metric, in the order of the page

	metric, unit string
}

// WritePage writes the page of a machine: its verdict, its events, and a chart of each metric. The verdict is that of
// [Rule.Judge] on the history.
func WritePage(w io.Writer, h *History, v Verdict) error {
	h = h.first(v.Nights)
	m := h.Machine
	d := pageData{
		Head:    page.Head{Version: v.Version, Style: page.Style(max(nightStyle, levelStyle) + 1)},
		Verdict: v, Name: cmp.Or(m.Name, strings.Join([]string{m.Device, m.Engine, m.Precision}, ", ")),
		Events: slices.Clone(v.Events), Keys: chartKeys,
	}
	for _, line := range v.Warnings() {
		d.Odd = append(d.Odd, strings.TrimPrefix(line, "track: "+v.File+": "))
	}
	if missing := v.Incomplete(); missing != "" {
		d.Odd = append(d.Odd, "not judged in the last night: "+missing)
	}
	if len(v.New) > 0 {
		d.Odd = append(d.Odd, "new in the last night: "+strings.Join(v.New, ", "))
	}
	switch open := len(v.Open()); {
	case open > 0:
		d.Word, d.Class = "OPEN: "+files.Count(open, "regression"), "open"
	case v.Incomplete() != "":
		d.Word, d.Class = "Not known", "unknown"
	case v.Compared == 0:
		d.Word, d.Class = "Too early", "unknown"
	case len(v.waits)+len(v.New) > 0:
		d.Word, d.Class = "Too early for some metrics", "unknown"
	default:
		d.Word, d.Class = "No regression", "good"
	}
	d.Head.Title = d.Word + ": " + d.Name
	slices.SortStableFunc(d.Events, func(f, g Finding) int { // open ones first, then the newest
		if f.State.IsOpen() != g.State.IsOpen() {
			return map[bool]int{true: -1, false: 1}[f.State.IsOpen()]
		}
		return cmp.Compare(g.first, f.first)
	})
	for _, t := range v.trends {
		if len(t.Nights) == 0 {
			continue
		}
		c := chartData{ID: chartID(t.Metric, t.Unit), metric: t.Metric, unit: t.Unit}
		c.Group, _, _ = strings.Cut(t.Metric, "/")
		for _, f := range d.Events {
			if f.of(t.Metric, t.Unit) != nil {
				c.Events = append(c.Events, f)
			}
		}
		var err error
		if c.Chart, err = page.Draw(chart(h, t), keysByName, marks(h, c.Events)...); err != nil {
			return fmt.Errorf("track: %s: chart of %s: %w", h.Path, t.Metric, err)
		}
		d.Charts, d.Groups = append(d.Charts, c), append(d.Groups, c.Group)
	}
	place := func(c chartData) int { // that of its first event on the page
		if len(c.Events) == 0 {
			return len(d.Events)
		}
		return slices.IndexFunc(d.Events, func(f Finding) bool { return f.ID == c.Events[0].ID })
	}
	slices.SortStableFunc(d.Charts, func(a, b chartData) int { return cmp.Compare(place(a), place(b)) })
	d.Groups = files.SortedSet(d.Groups)
	d.Last = slices.Clone(h.Nights[max(0, len(h.Nights)-lastNights):])
	slices.Reverse(d.Last)
	d.CardUsers = slices.ContainsFunc(d.Last, func(n Night) bool { return n.CardUsers.Valid })
	return pageTemplate.Execute(files.Printed(w), &d)
}

// of returns what an event did to a metric; nil if nothing.
func (f Finding) of(metric, unit string) *Change {
	if i := slices.IndexFunc(f.Metrics, func(c Change) bool { return c.Metric == metric && c.Unit == unit }); i >= 0 {
		return &f.Metrics[i]
	}
	return nil
}

// ChangeOf returns the change of a chart's metric; the template calls it.
func (c chartData) ChangeOf(f Finding) float64 { return f.of(c.metric, c.unit).Change }

// Word returns the state as the page has it.
func (s State) Word() string {
	if s.IsOpen() {
		return "OPEN"
	}
	return string(s)
}

// chartID returns the anchor of the chart of a metric.
func chartID(metric, unit string) string { return "chart-" + url.QueryEscape(metric+" "+unit) }

// part writes a share of the processors as people read it.
func part(x files.Optional) string {
	if !x.Valid {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*x.Value)
}
