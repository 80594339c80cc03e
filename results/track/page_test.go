package track

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// pageOf returns the page of a history, and the verdict on it.
func pageOf(t *testing.T, h *History, now time.Time, accepted ...Acceptance) (string, Verdict) {
	t.Helper()
	v := DefaultRule().Judge(h, now, accepted)
	var b strings.Builder
	must.OK(t, WritePage(&b, h, v))
	return b.String(), v
}

// partOf returns the text from a beginning to the next end.
func partOf(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

var (
	idOf     = regexp.MustCompile(` id="([^"]*)"`)
	linkOf   = regexp.MustCompile(` href="([^"]*)"`)
	figureOf = regexp.MustCompile(`(?s)<figure id="([^"]*)"(.*?)</figure>`)
)

// checkLinks checks that the ids of a page differ, and that each of its links leads to one of them.
func checkLinks(t *testing.T, page string) {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range idOf.FindAllStringSubmatch(page, -1) {
		id := html.UnescapeString(m[1])
		if ids[id] {
			t.Errorf("id %q twice, want it once", id)
		}
		ids[id] = true
	}
	for _, m := range linkOf.FindAllStringSubmatch(page, -1) {
		link := html.UnescapeString(m[1])
		if link == "data:," { // no icon
			continue
		}
		to, local := strings.CutPrefix(link, "#")
		if to = must.Get(url.PathUnescape(to))(t); !local || !ids[to] {
			t.Errorf("link to %q, want one to a part of the page", link)
		}
	}
}

// A page has each event with its metrics, whose charts name it, the open events first and with the command that accepts
// them. It loads nothing, and the texts of a history cannot become elements of it.
func TestPage(t *testing.T) {
	const bad = `<script>alert("1")</script>&amp;`
	states := map[State]int{}
	for seed := range uint64(6) {
		for _, kind := range []string{"two causes", "a fix", "metrics vanish"} {
			h, _ := drawHistory(seed, kind)
			h.Machine.Name = bad
			for i := range h.Nights {
				n := &h.Nights[i]
				n.Version, n.Host, n.Go = n.Version+bad, bad, bad
				for j := range n.Values {
					n.Values[j].Metric += " " + bad
				}
			}
			end := h.Nights[len(h.Nights)-1].Time
			first := DefaultRule().Judge(h, end, nil)
			var accepted []Acceptance
			if open := first.Open(); len(open) > 1 || len(open) == 1 && seed%2 == 0 {
				accepted = append(accepted, Acceptance{Time: open[0].FirstTime, ID: open[0].ID, Because: bad})
			}
			page, v := pageOf(t, h, end, accepted...)
			checkLinks(t, page)
			if strings.Contains(page, "<script>alert") || strings.Contains(page, "://") {
				t.Errorf("%s %d: a text of the history is an element of the page, or the page has an address",
					kind, seed)
			}
			figures := map[string]string{}
			for _, m := range figureOf.FindAllStringSubmatch(page, -1) {
				figures[html.UnescapeString(m[1])] = m[2]
			}
			closed := false
			for _, m := range regexp.MustCompile(`<article class="event (\w+)"`).FindAllStringSubmatch(page, -1) {
				open := State(m[1]).IsOpen()
				if closed && open {
					t.Errorf("%s %d: an open event below a closed one", kind, seed)
				}
				closed = !open
			}
			for _, f := range v.Events {
				states[f.State]++
				event := partOf(page, fmt.Sprintf(`class="event %s" id="event-%s">`, f.State, f.ID), "</article>")
				if n := strings.Count(event, `<tr><th scope="row">`); n != len(f.Metrics) {
					t.Errorf("%s %d: event %s has %d metrics on the page, want %d", kind, seed, f.ID, n, len(f.Metrics))
				}
				if has := strings.Contains(event, "rollcall track accept "+f.ID); has != f.State.IsOpen() {
					t.Errorf("%s %d: event %s is %s: has the command that accepts it: %t",
						kind, seed, f.ID, f.State, has)
				}
				if f.State == Accepted && !strings.Contains(event, html.EscapeString("&amp;")) {
					t.Errorf("%s %d: event %s does not say why it was accepted", kind, seed, f.ID)
				}
				for _, c := range f.Metrics {
					figure := figures[chartID(c.Metric, c.Unit)]
					for _, want := range []string{
						`<a href="#event-` + f.ID + `">` + f.ID + "</a> " + f.State.Word(), // in the caption
						`<g class="mark ` + string(f.State) + `">`, ">" + f.ID + "</text>", // in the chart
						fmt.Sprintf(`<path class="l%d" d="M`, nightStyle),
					} {
						if !strings.Contains(figure, want) {
							t.Errorf("%s %d: chart of %s: no %s", kind, seed, c.Metric, want)
						}
					}
				}
			}
		}
	}
	if states[Confirmed] == 0 || states[Fixed] == 0 || states[Accepted] == 0 {
		t.Errorf("events %v, want some of each state", states)
	}
}

// Nights that are later than now change nothing on the page but a line that names them.
func TestPageOfNow(t *testing.T) {
	h, _ := drawHistory(1, "two causes")
	now := h.Nights[len(h.Nights)-8].Time
	page, v := pageOf(t, h, now)
	want, _ := pageOf(t, h.first(len(h.Nights)-7), now)
	if !strings.Contains(page, v.Later[0]) {
		t.Errorf("no word of run %s, which is later than now", v.Later[0])
	}
	_, page, _ = strings.Cut(page, `<section id="events"`)
	if _, want, _ = strings.Cut(want, `<section id="events"`); page != want || page == "" {
		t.Error("later nights change the events or the charts")
	}
}

// Few nights, none of them comparable, are a page too; and a year of 20 metrics stays small.
func TestPageSize(t *testing.T) {
	for _, nights := range []int{1, 2, 365} {
		h := synthetic(5, noise{sample: 0.01, metric: 0.005, samples: 20, passes: 1}, nights, 20,
			func(night, metric int) float64 {
				if night%100 > 80 && metric%3 == 0 {
					return 1.1
				}
				return 1
			})
		begin := time.Now()
		page, v := pageOf(t, h, h.Nights[nights-1].Time)
		t.Logf("%d nights: %d bytes in %s", nights, len(page), time.Since(begin))
		checkLinks(t, page)
		if n := strings.Count(page, "<figure"); n != 20 {
			t.Errorf("%d nights: %d charts, want 20", nights, n)
		}
		if nights == 365 && len(v.Events) < 3 {
			t.Errorf("%d events, want 3 at least", len(v.Events))
		}
		// Measured for the year: 210 kB in half a second, most of it the verdict.
		if len(page) > 3<<20 || strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%d nights: %d bytes, want at most 3 MiB, and every number finite", nights, len(page))
		}
	}
}
