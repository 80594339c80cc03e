package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"rollcall/results/resultstest"
)

// Small numbers are said as people say them.
func TestSmallNumbersInWords(t *testing.T) {
	out := t.TempDir()
	pass(t, "run", "--data", "leaf", "--clients", "1", "--rounds", "1", "--device", "cpu", "--out", out)
	said := pass(t, "report", out).stdout
	said += pass(t, "availability", "--data", "leaf", "--clients", "1", "--rounds", "1",
		"--csv", filepath.Join(out, "a.csv")).stdout
	history := filepath.Join(out, "history")
	resultstest.Nights(t, history, oldMachine, 1, 0, 1)
	said += pass(t, "track", "compare", "--history", history).stdout
	for _, want := range []string{
		"1 run, ", "figures, less than 0.1 MB\n", ": 1 round of 1 client, ",
		".csv, 1 night, last run", "compared, 1 night of ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q, want %q in it", said, want)
		}
	}
}
