package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/nightly"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results/resultstest"
	"rollcall/results/track"
)

// fakeBench is a machine on which one metric takes what it is told to.
type fakeBench struct {
	machine track.Machine
	ms      float64
	err     error

	conditions track.Conditions
}

func (f *fakeBench) Identify() (track.Machine, error) { return f.machine, nil }

func (f *fakeBench) Conditions() track.Conditions { return f.conditions }

func (f *fakeBench) Measure(context.Context) ([]track.Measurement, error) {
	v := track.Measurement{Metric: "round/cifar10", Unit: "ms"}
	for i := range 10 {
		v.Wall = append(v.Wall, f.ms*(1+float64(i%7)/1000))
	}
	return []track.Measurement{v}, f.err
}

// statusOf runs the program's last step: what status an error ends it with.
func statusOf(err error) int {
	switch {
	case err == nil:
		return StatusOK
	case errors.Is(err, context.Canceled):
		return StatusInterrupted
	case settings.IsUsage(err):
		return StatusUsage
	}
	return StatusFailure
}

// TestTrackRunStatus runs a night on histories of all kinds.
func TestTrackRunStatus(t *testing.T) {
	for _, test := range []struct {
		name   string
		slow   int // nights before this one that were slow
		ms     float64
		err    error
		status int
		nights int // in the history afterwards
		want   string
	}{
		{"as ever", 0, 100.5, nil, StatusOK, 41, "no regression"},
		{"the third slow night", 2, 106, nil, StatusFailure, 41, "round/cifar10 +5."},
		{"the second slow night", 1, 106, nil, StatusOK, 41, "no regression"},
		{"faster", 2, 94, nil, StatusOK, 41, "no regression"},
		{"the engine fails", 2, 106, errors.New("gpu: out of memory"), StatusUsage, 40, "gpu: out of memory"},
		{"interrupted", 2, 106, context.Canceled, StatusInterrupted, 40, "canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			resultstest.Nights(t, dir, fakeMachine, 40, test.slow, 1.05)
			var stdout, stderr bytes.Buffer
			a := &app{&stdout, &stderr}
			flags := trackFlags{history: dir, rule: track.DefaultRule(), nights: 1, format: "text"}
			err := a.trackRun(t.Context(), flags, &fakeBench{machine: fakeMachine, ms: test.ms, err: test.err})
			if got := statusOf(err); got != test.status {
				t.Errorf("status: got %d (%v), want %d", got, err, test.status)
			}
			said := stdout.String()
			if err != nil {
				said += err.Error()
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("said %q, want %q in it", said, test.want)
			}
			h, bad := track.Read(filepath.Join(dir, fakeMachine.FileName()))
			if len(bad) > 0 || len(h.Nights) != test.nights {
				t.Errorf("history: got %d nights, %v, want %d", len(h.Nights), bad, test.nights)
			}
		})
	}
}

func TestTrackRunBusy(t *testing.T) {
	dir := t.TempDir()
	w := must.Get(track.NewWriter(dir))(t)
	defer w.Close()
	err := (&app{io.Discard, io.Discard}).trackRun(t.Context(), trackFlags{
		history: dir, rule: track.DefaultRule(), nights: 1, format: "text",
	}, &fakeBench{machine: fakeMachine, ms: 100})
	if !errors.Is(err, track.ErrBusy) || statusOf(err) != StatusUsage {
		t.Errorf("two nights at once: got %v, status %d, want %v, status 2", err, statusOf(err), track.ErrBusy)
	}
}

// TestTrackWebhook: the verdict arrives; whatever the other end does, the status and the output stay, and no message
// has a part of the address.
func TestTrackWebhook(t *testing.T) {
	var got track.Verdict
	var kind string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good-secret":
			kind = r.Header.Get("Content-Type")
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
		case "/elsewhere-secret":
			http.Redirect(w, r, "/good-secret", http.StatusFound)
		default:
			http.Error(w, "secret", http.StatusForbidden)
		}
	}))
	defer server.Close()
	for _, test := range []struct{ name, address, want string }{
		{"taken", server.URL + "/good-secret", ""},
		{"refused", server.URL + "/bad-secret", "track: webhook: status 403, want 2xx"},
		{"redirected", server.URL + "/elsewhere-secret", "track: webhook: status 302, want 2xx"},
		{"nobody there", "http://127.0.0.1:1/secret", "track: webhook: cannot be reached"},
		{
			"a wrong certificate", strings.Replace(server.URL, "http:", "https:", 1) + "/secret",
			"track: webhook: cannot be reached",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(nightly.WebhookVariable, test.address)
			got, kind = track.Verdict{}, ""
			dir := t.TempDir()
			resultstest.Nights(t, dir, fakeMachine, 40, 2, 1.05)
			var stdout, stderr bytes.Buffer
			err := (&app{&stdout, &stderr}).trackRun(t.Context(), trackFlags{
				history: dir, rule: track.DefaultRule(), nights: 1, format: "text",
			}, &fakeBench{machine: fakeMachine, ms: 106})
			if statusOf(err) != StatusFailure || !strings.Contains(stdout.String(), "SLOWER") {
				t.Errorf("verdict: got %v and\n%s\nwant a regression", err, stdout.String())
			}
			all := stdout.String() + stderr.String() + err.Error()
			if test.want != "" && !strings.Contains(stderr.String(), test.want) {
				t.Errorf("log: got %q, want %q", stderr.String(), test.want)
			}
			if test.want == "" && (kind != "application/json" || len(got.Regressions) != 1 ||
				got.Regressions[0].Metric != "round/cifar10" || !strings.Contains(got.Text, "1 regression")) {
				t.Errorf("posted: got %s %+v, want JSON with one regression", kind, got)
			}
			if strings.Contains(all, "secret") || strings.Contains(all, "127.0.0.1") {
				t.Errorf("the address was logged:\n%s", all)
			}
		})
	}
	for _, address := range []string{"secret", "ftp://secret", "http://", "http://sec ret\x7f"} {
		if err := nightly.CheckWebhook(address); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: got %v, want an error without it", address, err)
		}
	}
}

var fakeMachine = track.Machine{Suite: "test/1", Engine: "cpu-avx2", Device: "Some CPU", Precision: "fp32"}
