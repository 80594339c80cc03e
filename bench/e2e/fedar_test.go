package e2e

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/longtest"
)

// Figure 1 on real pictures, small: the Shapley values of every level sum to what the last round of all is worth.
func TestFedARFigure1(t *testing.T) {
	longtest.Only(t, "seven rounds, after each the whole test set for every coalition: two minutes")
	data, out := cifar10(t), t.TempDir()
	o := pass(t, "figure", "fedar-f1", "--rounds", "7", "--clients", "2", "--seeds", "3", "--data-dir", data,
		"--device", "cpu", "--out", out)
	_, rows := table(t, contents(t, filepath.Join(out, "fedar-f1", "fedar-f1.csv")))
	if len(rows) != 7*2 {
		t.Fatalf("%d rows, want 7 levels of 2 clients", len(rows))
	}
	for i := 0; i < len(rows); i += 2 {
		sum := number(t, rows[i]["shapley"]) + number(t, rows[i+1]["shapley"])
		want := number(t, rows[i]["test_acc_all"]) - number(t, rows[i]["test_acc_none"])
		if math.Abs(sum-want) > 1e-12 {
			t.Errorf("stale %s: Shapley values sum to %g, want %g", rows[i]["stale"], sum, want)
		}
	}
	if !strings.Contains(o.stdout, "stale 6: ") ||
		!strings.Contains(contents(t, filepath.Join(out, "fedar-f1", "fedar-f1.svg")), "<svg") {
		t.Errorf("stdout %q, want the shares, and a drawing", o.stdout)
	}
}
