package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/longtest"
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

func trackNight(ctx context.Context, dir string, bench nightBench) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	flags := trackFlags{history: dir, rule: track.DefaultRule(), nights: 30, format: "text"}
	err = (&app{stdout: &out, stderr: &log}).trackRun(ctx, flags, bench)
	return out.String(), log.String(), err
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
		{"the fourth slow night", 3, 106, nil, StatusFailure, 41, "4 nights"},
		{"faster", 2, 94, nil, StatusOK, 41, "no regression"},
		{"the engine fails", 2, 106, errors.New("gpu: out of memory"), StatusUsage, 40, "gpu: out of memory"},
		{"interrupted", 2, 106, context.Canceled, StatusInterrupted, 40, "canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			resultstest.Nights(t, dir, fakeMachine, 40, test.slow, 1.05)
			said, _, err := trackNight(t.Context(), dir, &fakeBench{machine: fakeMachine, ms: test.ms, err: test.err})
			if got := statusOf(err); got != test.status {
				t.Errorf("status: got %d (%v), want %d", got, err, test.status)
			}
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
			stdout, stderr, err := trackNight(t.Context(), dir, &fakeBench{machine: fakeMachine, ms: 106})
			if statusOf(err) != StatusFailure || !strings.Contains(stdout, "OPEN since 2026-02-08") {
				t.Errorf("verdict: got %v and\n%s\nwant a regression", err, stdout)
			}
			all := stdout + stderr + err.Error()
			if test.want != "" && !strings.Contains(stderr, test.want) {
				t.Errorf("log: got %q, want %q", stderr, test.want)
			}
			if test.want == "" && (kind != "application/json" || len(got.Events) != 1 ||
				got.Events[0].Metrics[0].Metric != "round/cifar10" ||
				!strings.Contains(got.Text, "OPEN since 2026-02-08") ||
				!strings.Contains(got.Text, "3 nights")) {
				t.Errorf("posted: got %s %+v, want JSON with one open event, its state and its age", kind, got)
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

// tinySuite is a night of seconds.
func tinySuite() nightly.Suite {
	s := nightly.StandardSuite()
	s.Clients, s.Steps, s.Batch, s.Train, s.Test, s.Passes = 2, 1, 4, 64, 16, 2
	s.Samples = 10
	return s
}

// TestTrackSuite measures a small night on the CPU, whatever it is, in two precisions: each has a history of its own.
func TestTrackSuite(t *testing.T) {
	longtest.Only(t, "the whole suite of the night, in two precisions")
	if testing.Short() {
		t.Skip("some seconds of training, and -short is for the race detector")
	}
	dir := t.TempDir()
	for _, precision := range []string{"", "bf16"} {
		_, stderr, err := trackNight(t.Context(), dir, &nightly.Bench{
			Suite: tinySuite(), Stderr: t.Output(),
			Machine: run.Machine{Device: "cpu", Precision: precision, Threads: 2, Out: dir},
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		found, err := filepath.Glob(filepath.Join(dir, "*_"+cmp.Or(precision, "fp32")+"_*.csv"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%q, %v, want one history", found, err)
		}
		checkNight(t, found[0], cmp.Or(precision, "fp32"))
	}
	if all := must.Get(os.ReadDir(dir))(t); len(all) != 3 {
		t.Errorf("%q, want two histories and the lock", all)
	}
}

// checkNight checks the history of one small night on the CPU.
func checkNight(t *testing.T, path, precision string) {
	t.Helper()
	h, bad := track.Read(path)
	if len(bad) > 0 || len(h.Nights) != 1 {
		t.Fatalf("history: got %v, %v, want one night", h, bad)
	}
	want := strings.Fields(`
		round/cifar10 step/cifar10 eval/cifar10 server/combine server/norm
		round/svhn step/svhn eval/svhn round/cinic10 step/cinic10 eval/cinic10
		kernel/conv1_forward kernel/conv2_forward kernel/conv2_backward kernel/fc1_forward kernel/fc1_backward
		kernel/gather kernel/dropout kernel/softmax kernel/update`)
	// Where the processor counts, there are the counts of every metric as well.
	values := slices.DeleteFunc(h.Nights[0].Values, func(v track.Measurement) bool {
		counts := strings.HasPrefix(v.Metric, "instructions/") || strings.HasPrefix(v.Metric, "cycles/")
		if counts && (v.Unit != "count" || v.Processor != nil || v.Reference != nil) {
			t.Errorf("got %+v, want counts alone", v)
		}
		return counts
	})
	if len(values) != len(want) {
		t.Errorf("metrics: got %d, want %d", len(values), len(want))
	}
	for i, v := range values {
		if i < len(want) && v.Metric != want[i] || len(v.Wall) != 10 || len(v.Processor) != 10 ||
			len(v.Reference) != 10 {
			t.Errorf("metric %d: got %+v, want %s with 10 samples and references", i, v, want[min(i, len(want)-1)])
		}
	}
	if m := h.Machine; m.Suite != "N2-E1-B4-train64-test16/2" || m.Threads != 2 ||
		!strings.HasPrefix(m.Engine, "cpu-") || m.Precision != precision || m.Device == "" || m.CPUs < 1 {
		t.Errorf("machine: got %+v", m)
	}
}

// Ctrl-C in the middle of a night leaves the history as it was.
func TestTrackInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := trackNight(ctx, dir, &nightly.Bench{
		Suite: tinySuite(), Machine: run.Machine{Device: "cpu", Threads: 1, Out: dir},
		Stderr: cancelOn{"pass 1", cancel},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.csv")); len(files) != 0 {
		t.Errorf("history: got %v, want none", files)
	}
}

// cancelOn cancels when it is told something.
type cancelOn struct {
	word   string
	cancel func()
}

func (c cancelOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.word) {
		c.cancel()
	}
	return len(p), nil
}
