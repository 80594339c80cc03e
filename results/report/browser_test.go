package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	t.Run("values", func(t *testing.T) {
		// The pointer is over the last round of the first chart of curves, whose label says where its lines end.
		var label, tip, first, moved string
		b.eval(`(() => {
			window.svg = document.querySelector("#curves .chart svg[data-x]");
			const box = svg.getBoundingClientRect();
			svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.right - 5, clientY: box.top + 50}));
			return svg.getAttribute("aria-label");
		})()`, &label)
		b.eval(`svg.parentElement.querySelector(".tip").innerText`, &tip)
		lines := strings.Split(tip, "\n")
		for _, line := range lines[1:] {
			last := strings.LastIndex(line, " ")
			name, value := line[:max(last, 0)], line[last+1:]
			if _, says, has := strings.Cut(label, name+" ends at "); !has || !strings.HasPrefix(says, value[:3]) {
				t.Errorf("the values say %q, and the label %q", line, label)
			}
		}
		if len(lines) < 4 || lines[0] != "round 400" {
			t.Errorf("values %q, want those of round 400, a line for each method", lines)
		}
		key := func(name string) string {
			return fmt.Sprintf(`svg.parentElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q})),
				svg.parentElement.querySelector(".tip").innerText`, name)
		}
		b.eval(key("ArrowLeft"), &moved)
		if before, _, _ := strings.Cut(moved, "\n"); before != "round 390" {
			t.Errorf("after the arrow key the values are of %q, want round 390", before)
		}
		b.eval(key("Escape"), &first)
		if first != "" { // a hidden element has no inner text that is shown
			b.eval(`String(svg.parentElement.querySelector(".tip").hidden)`, &first)
			if first != "true" {
				t.Errorf("after Escape the values are still shown")
			}
		}
	})
	t.Run("sort", func(t *testing.T) {
		order := func(n int) (values []float64) {
			if n > 0 {
				b.eval(`document.querySelectorAll("table.numbers .sort")[1].click()`, nil)
			}
			b.eval(`[...document.querySelector("table.numbers").tBodies[0].rows].map(r => +r.cells[1].dataset.value)`, &values)
			return values
		}
		before := order(0)
		down, up, again := order(1), order(1), order(1)
		falls := func(x []float64) bool {
			return slices.IsSortedFunc(x, func(a, b float64) int { return cmp.Compare(b, a) })
		}
		slices.Reverse(up)
		if !falls(down) || !falls(up) || falls(before) || !slices.Equal(again, before) {
			t.Errorf("%v sorted: %v, then reversed %v, then %v, want falling, rising, as before", before, down, up, again)
		}
	})
	t.Run("links", func(t *testing.T) {
		var command string
		b.eval(`new Promise(done => {
			document.querySelector("table.numbers td a").click();
			setTimeout(() => done(document.querySelector("tr:target details[open] code").textContent), 50)
		})`, &command)
		if !strings.Contains(command, "rollcall run --id ") || !strings.Contains(command, "--method ") {
			t.Errorf("command %q, want the one that repeats the runs", command)
		}
		// The address has the filter, so that a link shows the same.
		var left int
		b.eval(`document.querySelector('input[name="data"][value="svhn"]').click()`, nil)
		var address string
		b.eval(`location.href`, &address)
		b.load(written.Page)
		b.navigate(address)
		b.eval(`[...document.querySelectorAll('main figure[data-data="svhn"]')].filter(f => !f.hidden).length`, &left)
		if !strings.Contains(address, "?data=cifar10") || left != 0 {
			t.Errorf("address %s: %d figures of svhn are shown after a reload, want none", address, left)
		}
		b.load(written.Page)
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
		var more, less string
		b.eval(`document.querySelector(".wide:has(table.numbers)").className`, &more)
		b.eval(`new Promise(done => {
			const s = document.querySelector(".wide:has(table.numbers) .scroll");
			s.scrollLeft = 1e6;
			setTimeout(() => done(s.parentElement.className), 100)
		})`, &less)
		if more != "wide more cut" || less != "wide cut" {
			t.Errorf("a cut table is %q, and %q at its right end, want it to fade until there", more, less)
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

// browser is a headless Chromium, spoken to in its DevTools protocol over a pipe: JSON messages, each ended by a zero
// byte.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    <-chan message
	next    int
	session string
	events  []message
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// open starts a browser with one page; the test is skipped where there is none.
func open(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine: the page is not opened in a browser")
	}
	toBrowser, in := must.Get2(os.Pipe())(t)
	out, fromBrowser := must.Get2(os.Pipe())(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, "--headless=new", "--no-sandbox",
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Skipf("Chromium does not start: %v", err)
	}
	messages := make(chan message, 1000)
	go func() {
		defer close(messages)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			text, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(text[:len(text)-1], &m) == nil {
				messages <- m
			}
		}
	}()
	b := &browser{t: t, to: in, from: messages}
	t.Cleanup(func() {
		// A browser whose pipe closes ends its processes, which write into the folder until then.
		_ = in.Close()
		late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		_ = toBrowser.Close()
		_ = fromBrowser.Close()
		_ = out.Close()
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call calls a method and waits for its answer; events that come before are kept.
func (b *browser) call(method string, params any, result any) {
	b.t.Helper()
	b.next++
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
		Session string `json:"sessionId,omitempty"`
	}{b.next, method, params, b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("browser: %s: %v", method, err)
	}
	b.wait(method, func(m message) bool {
		if m.ID != b.next {
			return false
		}
		if m.Error != nil {
			b.t.Fatalf("browser: %s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("browser: %s: %v", method, err)
			}
		}
		return true
	})
}

// wait reads messages until one is done; the others are kept as events.
func (b *browser) wait(what string, done func(m message) bool) {
	b.t.Helper()
	late := time.After(60 * time.Second)
	for {
		select {
		case m, ok := <-b.from:
			if !ok {
				b.t.Fatalf("browser: it ended while waiting for %s", what)
			}
			if done(m) {
				return
			}
			b.events = append(b.events, m)
		case <-late:
			b.t.Fatalf("browser: no %s within a minute", what)
		}
	}
}

func (b *browser) load(path string) {
	b.t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.navigate("file://" + abs)
}

// navigate goes to an address, and waits until the page is loaded.
func (b *browser) navigate(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	for i, m := range b.events {
		if m.Method == "Page.loadEventFired" {
			b.events = append(b.events[:i], b.events[i+1:]...)
			return
		}
	}
	b.wait("load", func(m message) bool { return m.Method == "Page.loadEventFired" })
}

// eval evaluates JavaScript, a promise included, and decodes its value.
func (b *browser) eval(script string, into any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r)
	if r.Exception != nil {
		b.t.Fatalf("browser: %s %s", r.Exception.Text, r.Exception.Exception.Description)
	}
	if into != nil {
		if err := json.Unmarshal(r.Result.Value, into); err != nil {
			b.t.Fatalf("browser: %s: %v in %s", script, err, r.Result.Value)
		}
	}
}

// look sets light or dark, and the width of the window.
func (b *browser) look(scheme string, width, height int) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{
		"name":  "prefers-color-scheme",
		"value": scheme,
	}}}, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
}

// press presses the tab key.
func (b *browser) pressTab() {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{
			"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9,
		}, nil)
	}
}

// complaints returns errors, warnings and exceptions of the page so far, and what it asked the network for.
func (b *browser) complaints() (list []string) {
	for _, m := range b.events {
		text := string(m.Params)
		switch m.Method {
		case "Runtime.exceptionThrown":
			list = append(list, "exception: "+text)
		case "Log.entryAdded":
			list = append(list, "log: "+text)
		case "Runtime.consoleAPICalled":
			list = append(list, "console: "+text)
		case "Network.requestWillBeSent":
			var r struct {
				Request struct{ URL string }
			}
			if json.Unmarshal(m.Params, &r) == nil && !strings.HasPrefix(r.Request.URL, "file:") &&
				!strings.HasPrefix(r.Request.URL, "data:") {
				list = append(list, fmt.Sprintf("request: %s", r.Request.URL))
			}
		}
	}
	return list
}
