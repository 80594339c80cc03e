package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results/resultstest"
	"rollcall/results/track"
)

func TestTrackCompare(t *testing.T) {
	dir := t.TempDir()
	other := oldMachine
	other.Engine = "cpu-avx512"
	resultstest.Nights(t, dir, oldMachine, 60, 3, 1.05)
	resultstest.Nights(t, dir, other, 60, 20, 1.05) // told 17 nights ago
	o := rollcall(t, "track", "compare", "--history", dir)
	if o.status != statusFailure || strings.Count(o.stdout, "SLOWER") != 1 ||
		strings.Count(o.stdout, "earlier") != 1 || !strings.Contains(o.stderr, "track: slower: round/cifar10 +5.") {
		t.Errorf("compare: got status %d\n%s%s\nwant 1, one slower, one earlier", o.status, o.stdout, o.stderr)
	}
	o = pass(t, "track", "compare", "--history", dir, "--fingerprint", other.Fingerprint()[:6], "--format", "json")
	var verdicts []track.Verdict
	if err := json.Unmarshal([]byte(o.stdout), &verdicts); err != nil || len(verdicts) != 1 ||
		verdicts[0].Fingerprint != other.Fingerprint() || len(verdicts[0].Earlier) != 1 {
		t.Errorf("one machine as JSON: got %v, %v, want the other's verdict", o.stdout, err)
	}
	if o = rollcall(t, "track", "compare", "--history", dir, "--fingerprint", other.Fingerprint(),
		"--nights", "30"); o.status != statusFailure {
		t.Errorf("--nights 30: got status %d, want 1", o.status)
	}
	junk := filepath.Join(dir, "junk.csv")
	must.OK(t, os.WriteFile(junk, []byte("a,b\n"), 0o600))
	o = rollcall(t, "track", "compare", "--history", dir, "--fingerprint", other.Fingerprint())
	if o.status != statusOK || !strings.Contains(o.stderr, junk+": line 1: ") {
		t.Errorf("a foreign file: got status %d, %q, want 0 and the file named", o.status, o.stderr)
	}
	one := t.TempDir()
	resultstest.Nights(t, one, oldMachine, 1, 0, 1)
	o = pass(t, "track", "compare", "--history", one)
	for _, want := range []string{".csv, 1 night, last run", "compared, 1 night of "} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("one night: %q, want %q in it", o.stdout, want)
		}
	}
	oneLineError(t, rollcall(t, "track", "compare", "--history", one, "--fingerprint", "xyz"), statusUsage, "xyz")
	oneLineError(t, rollcall(t, "track", "plot", "--history", one, "round/cifar1"), statusUsage, "round/cifar1")
}

func TestTrackPlot(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	resultstest.Nights(t, dir, oldMachine, 60, 10, 1.05)
	o := pass(t, "track", "plot", "--history", dir, "--out", out)
	path := strings.TrimSpace(o.stdout)
	svg, err := os.ReadFile(path)
	if err != nil || path != filepath.Join(out, "track", strings.TrimSuffix(oldMachine.FileName(), ".csv")+".svg") {
		t.Fatalf("plot: got %q, %v, want a file in %s", path, err, out)
	}
	for _, want := range []string{
		"first slower night", "round/cifar10: +5.0 % on 2026-02-20", "days since 2026-01-01",
	} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("SVG: no %q in it", want)
		}
	}
	if o = pass(t, "track", "plot", "--history", dir, "--out", out,
		"round/cifar10"); !strings.HasSuffix(strings.TrimSpace(o.stdout), "_round-cifar10.svg") {
		t.Errorf("one metric: got %q, want a file of its own", o.stdout)
	}
}

var oldMachine = track.Machine{Suite: "test/1", Engine: "cpu-avx2", Device: "Some CPU", Precision: "fp32"}
