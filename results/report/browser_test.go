package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// The page in a real browser: it opens from a file without a word on the console and without a request, shows every
// figure, filters, can be walked through with the tab key, and fits a phone. ROLLCALL_AXE names axe-core's axe.min.js,
// with which accessibility is checked as well.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is not for -short")
	}
	b := open(t)
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"stationary", "sine"}, data: []string{"cifar10", "svhn"}, rounds: 400, every: 10,
	})
	synthDecisions(t, filepath.Join(out, "fedawe-2"), 30, 60)
	in := input(t, out)
	in.Bad = append(in.Bad, fmt.Errorf("results: out/fedawe-2/x/seed-3/curve.csv: line 7: 12 columns, want 21"))
	written := must.Get(Write(t.Context(), filepath.Join(out, "report"), in))(t)
	b.look("light", 1280, 900)
	b.load(written.Page)

	t.Run("figures", func(t *testing.T) {
		var figures, charts, empty int
		b.eval(`document.querySelectorAll("main figure").length`, &figures)
		b.eval(`document.querySelectorAll("main figure .chart svg").length`, &charts)
		b.eval(`[...document.querySelectorAll("main figure .chart svg")].filter(s =>
			s.getBoundingClientRect().width < 100 || s.querySelectorAll("path").length < 2).length`, &empty)
		if figures != written.Figures || charts < figures || empty != 0 {
			t.Errorf("%d figures, %d charts, %d of them empty, want %d figures, as many charts at least, none empty",
				figures, charts, empty, written.Figures)
		}
	})
	t.Run("filter", func(t *testing.T) {
		visible := func(selector string) (n int) {
			b.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.getClientRects().length > 0).length`,
				selector), &n)
			return n
		}
		box := func(kind, name string) {
			b.eval(fmt.Sprintf(`document.querySelector('input[name=%q][value=%q]').click()`, kind, name), nil)
		}
		all := visible("main figure")
		for _, c := range []struct{ kind, name, selector string }{
			{"method", "mifa", `main figure g[data-method="mifa"]`},
			{"method", "mifa", `main tr[data-method="mifa"]`},
			{"method", "mifa", `main li[data-method="mifa"]`},
			{"data", "svhn", `main figure[data-data="svhn"]`},
			{"data", "svhn", `main td[data-data="svhn"]`},
			{"availability", "sine", `main [data-availability="sine"]`},
		} {
			if before := visible(c.selector); before == 0 {
				t.Errorf("%s: nothing to hide", c.selector)
			}
			box(c.kind, c.name)
			if after := visible(c.selector); after != 0 {
				t.Errorf("without %s: %d of %s are shown, want none", c.name, after, c.selector)
			}
			if other := visible(`main figure g[data-method="fedau"]`); other == 0 {
				t.Errorf("without %s: fedau is hidden too", c.name)
			}
			box(c.kind, c.name)
		}
		box("data", "svhn")
		var said string
		b.eval(`document.getElementById("shown").textContent`, &said)
		if want := fmt.Sprintf("%d of %d figures shown", visible("main figure"), all); said != want {
			t.Errorf("status %q, want %q", said, want)
		}
		b.eval(`new Promise(done => {
			document.querySelector("button[type=reset]").click();
			setTimeout(() => done(1), 20)
		})`, nil)
		if again := visible("main figure"); again != all {
			t.Errorf("after Show all: %d figures, want %d", again, all)
		}
	})
	t.Run("keyboard", func(t *testing.T) {
		b.eval(`document.activeElement.blur(); window.scrollTo(0, 0)`, nil)
		b.pressTab()
		var at string
		b.eval(`document.activeElement.className + " " + getComputedStyle(document.activeElement).outlineStyle`, &at)
		if at != "skip solid" {
			t.Errorf("the first tab goes to %q, want the skip link, outlined", at)
		}
		seen := map[string]bool{}
		for range 40 {
			b.pressTab()
			b.eval(`document.activeElement.tagName + (document.activeElement.type || "")`, &at)
			seen[at] = true
		}
		for _, want := range []string{"A", "INPUTcheckbox", "BUTTONreset", "DIV"} {
			if !seen[want] {
				t.Errorf("40 tabs never reach %s; they reach %v", want, seen)
			}
		}
	})
	t.Run("phone", func(t *testing.T) {
		b.look("light", 390, 844)
		var width int
		b.eval(`document.documentElement.scrollWidth`, &width)
		if width > 390 {
			t.Errorf("the page is %d pixels wide on a window of 390, want no more: tables scroll on their own", width)
		}
	})
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1280, 390} {
			b.look(scheme, width, 900)
			t.Run(fmt.Sprintf("axe %s %d", scheme, width), func(t *testing.T) { axe(t, b) })
		}
	}
	t.Run("no script", func(t *testing.T) {
		b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
		b.load(written.Page)
		b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		var shown bool
		b.eval(`document.getElementById("filter").getClientRects().length > 0`, &shown)
		if shown {
			t.Error("the filter is shown without its script, want it hidden")
		}
	})
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// axe runs axe-core on the page.
func axe(t *testing.T, b *browser) {
	path := os.Getenv("ROLLCALL_AXE")
	if path == "" {
		t.Skip("ROLLCALL_AXE does not name axe.min.js: accessibility is not checked")
	}
	script := must.Get(os.ReadFile(path))(t)
	b.eval(string(script)+"; 1", nil)
	var found []string
	b.eval(`axe.run(document, {resultTypes: ["violations", "incomplete"]}).then(r => r.violations.map(v =>
		v.id + " (" + v.impact + "): " + v.nodes.length + " nodes, first " + v.nodes[0].html.slice(0, 200) + " " +
		(v.nodes[0].failureSummary || "")))`, &found)
	if len(found) > 0 {
		t.Errorf("%d violations:\n%s", len(found), strings.Join(found, "\n"))
	}
}
