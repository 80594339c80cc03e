package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

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
	cmd := exec.CommandContext(t.Context(), path, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
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
		_ = in.Close()
		_ = cmd.Process.Kill() // our own child
		_ = cmd.Wait()
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

// load opens a page.
func (b *browser) load(path string) {
	b.t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.call("Page.navigate", map[string]any{"url": "file://" + abs}, nil)
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
