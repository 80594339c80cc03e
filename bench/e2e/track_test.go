package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results/resultstest"
	"rollcall/results/track"
)

// Two machines: an event of the last three nights, and one of the last twenty, which stays open.
func TestTrackStatus(t *testing.T) {
	dir := t.TempDir()
	other := oldMachine
	other.Engine = "cpu-avx512"
	resultstest.Nights(t, dir, oldMachine, 60, 3, 1.05)
	resultstest.Nights(t, dir, other, 60, 20, 1.05)
	o := rollcall(t, "track", "status", "--history", dir)
	if o.status != statusFailure || strings.Count(o.stdout, "verdict   rollcall v1 on ") != 2 ||
		!strings.Contains(o.stdout, "OPEN since 2026-02-27, v1 as before: round/cifar10 +5.1 %; 3 nights") ||
		!strings.Contains(o.stderr, "OPEN since 2026-02-10, v1 as before: round/cifar10 +5.0 %; 20 nights") {
		t.Errorf("status: got status %d\n%s%s\nwant 1, and two events that are open", o.status, o.stdout, o.stderr)
	}
	// The name that the command had before.
	o = rollcall(t, "track", "compare", "--history", dir, "--machine", other.Fingerprint()[:6], "--format", "json")
	var verdicts []track.Verdict
	if err := json.Unmarshal([]byte(o.stdout), &verdicts); err != nil || len(verdicts) != 1 ||
		o.status != statusFailure || verdicts[0].Fingerprint != other.Fingerprint() || len(verdicts[0].Events) != 1 {
		t.Fatalf("one machine as JSON: got status %d, %v, %v, want the other's verdict", o.status, o.stdout, err)
	}

	id := verdicts[0].Events[0].ID
	oneLineError(t, rollcall(t, "track", "accept", "--history", dir, id), statusUsage, "no reason")
	oneLineError(t, rollcall(t, "track", "accept", "--history", dir, "abcdef", "--because", "x"), statusUsage, id)
	o = pass(t, "track", "accept", "--history", dir, id, "--because", "the new loss")
	if !strings.HasPrefix(o.stdout, id+"  accepted: OPEN since 2026-02-10") {
		t.Errorf("accept: got %q", o.stdout)
	}
	o = pass(t, "track", "status", "--history", dir, "--machine", other.Fingerprint())
	if !strings.Contains(o.stdout, ": no regression") ||
		!strings.Contains(o.stdout, id+"  accepted since 2026-02-10") ||
		!strings.Contains(o.stdout, ": the new loss\n") {
		t.Errorf("accepted: got\n%s", o.stdout)
	}
	oneLineError(t, rollcall(t, "track", "accept", "--history", dir, "--machine", other.Fingerprint(), id,
		"--because", "x"), statusUsage, "no event is open")

	junk := filepath.Join(dir, "junk.csv")
	must.OK(t, os.WriteFile(junk, []byte("a,b\n"), 0o600))
	o = rollcall(t, "track", "status", "--history", dir, "--machine", other.Fingerprint())
	if o.status != statusOK || !strings.Contains(o.stderr, junk+": line 1: ") {
		t.Errorf("a foreign file: got status %d, %q, want 0 and the file named", o.status, o.stderr)
	}
	oneLineError(t, rollcall(t, "track", "status", "--history", dir+"/none"), statusUsage, "no history")
}

// A night that cannot be judged is neither 0 nor "no regression".
func TestTrackIncomplete(t *testing.T) {
	dir := t.TempDir()
	resultstest.Nights(t, dir, oldMachine, 1, 0, 1)
	o := pass(t, "track", "status", "--history", dir)
	if !strings.Contains(o.stdout, ".csv, 1 night, last run") ||
		!strings.Contains(o.stdout, "too early: 1 of 13 nights") {
		t.Errorf("one night: got\n%s", o.stdout)
	}
	oneLineError(t, rollcall(t, "track", "status", "--history", dir, "--machine", "xyz"), statusUsage, "xyz")

	w := must.Get(track.NewWriter(dir))(t)
	at := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)
	must.OK(t, w.Append(oldMachine, track.Night{
		Run: track.RunName(at), Time: at, Version: "v1",
		Values: []track.Measurement{{Metric: "step/cifar10", Unit: "ms", Wall: []float64{1}}},
	}))
	must.OK(t, w.Close())
	o = rollcall(t, "track", "status", "--history", dir)
	if o.status != statusUsage || strings.Contains(o.stdout, "no regression") ||
		!strings.Contains(o.stderr, "not judged: ") ||
		!strings.Contains(o.stderr, "gone: round/cifar10; damaged: step/cifar10: 1 sample") {
		t.Errorf("a metric gone: got status %d\n%s%s\nwant 2, and the metrics named", o.status, o.stdout, o.stderr)
	}
}

// TestTrackPublish: the verdict as GitHub and Prometheus read it, and as a page.
func TestTrackPublish(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	resultstest.Nights(t, dir, oldMachine, 60, 10, 1.05)
	oneLineError(t, rollcall(t, "track", "status", "--history", dir, "--github"),
		statusUsage, "$GITHUB_STEP_SUMMARY is not set")
	summary, metrics := filepath.Join(out, "summary.md"), filepath.Join(out, "rollcall.prom")
	must.OK(t, os.WriteFile(summary, []byte("before\n"), 0o600))
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	o := rollcall(t, "track", "status", "--history", dir, "--github", "--openmetrics", metrics)
	if o.status != statusFailure || !strings.Contains(o.stdout, "\n::error title=rollcall is slower::") {
		t.Errorf("--github: got status %d\n%s", o.status, o.stdout)
	}
	if text := contents(t, summary); !strings.HasPrefix(text, "before\n## Speed\n") ||
		!strings.Contains(text, "| round/cifar10 | +5.1 % |") {
		t.Errorf("summary: got\n%s", text)
	}
	if text := contents(t, metrics); !strings.Contains(text, "\nrollcall_open_regressions{") ||
		!strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("metrics: got\n%s", text)
	}
	o = pass(t, "track", "report", "--history", dir, "--out", out)
	path := strings.TrimSpace(o.stdout)
	if path != filepath.Join(out, "track", strings.TrimSuffix(oldMachine.FileName(), ".csv")+".html") ||
		!strings.Contains(contents(t, path), "OPEN since 2026-02-20") {
		t.Errorf("report: got %q, want a page in %s", path, out)
	}
}

// Prometheus's own parser reads the file.
func TestTrackOpenMetrics(t *testing.T) {
	python := os.Getenv(trackersPython)
	if python == "" {
		t.Skip(trackersPython + " is not set, want a Python with what .ci/trackers.txt names")
	}
	dir := t.TempDir()
	resultstest.Nights(t, dir, oldMachine, 60, 10, 1.05)
	metrics := filepath.Join(dir, "rollcall.prom")
	rollcall(t, "track", "status", "--history", dir, "--openmetrics", metrics)
	const read = `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1]).read()):
    for s in family.samples:
        print(s.name, s.labels.get("metric", "-"), s.value)
`
	said := must.Get(exec.Command(python, "-c", read, metrics).CombinedOutput())(t)
	for _, want := range []string{"rollcall_open_regressions - 1", "rollcall_regression_ratio round/cifar10 0.05"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("got\n%s\nwant %q in it", said, want)
		}
	}
}

// TestTrackJudge names the shift of a series of somebody else's.
func TestTrackJudge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series.csv")
	var text strings.Builder
	text.WriteString("commit,seconds\n")
	for i := range 40 {
		seconds := 10 + float64(i*7%11)/100
		if i >= 30 {
			seconds *= 1.1
		}
		fmt.Fprintf(&text, "c%d,%g\n", i, seconds)
	}
	must.OK(t, os.WriteFile(path, []byte(text.String()), 0o600))
	o := rollcall(t, "track", "judge", path)
	if o.status != statusFailure ||
		!strings.Contains(o.stdout, "OPEN since c30: seconds +10 %; 10 rows (1 of 1 metrics compared, 40 rows)") {
		t.Errorf("got status %d\n%s%s\nwant 1 and the shift at c30", o.status, o.stdout, o.stderr)
	}
	o = pass(t, "track", "judge", path, "--better", "higher")
	if !strings.Contains(o.stdout, "improved since c30: seconds +10 %") {
		t.Errorf("--better higher: got\n%s", o.stdout)
	}
	oneLineError(t, rollcall(t, "track", "judge", path, "--better", "more"), statusUsage, "--better")
	oneLineError(t, rollcall(t, "track", "judge", path+".none"), statusUsage, "no such file")
}

var oldMachine = track.Machine{Suite: "test/1", Engine: "cpu-avx2", Device: "Some CPU", Precision: "fp32"}
