package track

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Nights of one machine in several precisions are several histories: a night in bf16, which takes half the time, is
// neither a shift of fp32's history nor a row of its file.
func TestPrecisionsApart(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{}
	for _, p := range []string{"fp32", "bf16", "bf16x3"} {
		h := small(12)
		h.Machine.Precision = p
		if p != "fp32" {
			for _, n := range h.Nights {
				for _, v := range n.Values {
					for i := range v.Wall {
						v.Wall[i] /= 2
					}
				}
			}
		}
		paths[p] = written(t, dir, h)
		if want := "_" + p + "_" + h.Machine.Fingerprint() + ".csv"; !strings.HasSuffix(paths[p], want) {
			t.Errorf("%s: file %s, want …%s", p, filepath.Base(paths[p]), want)
		}
	}
	all, bad := ReadFolder(dir)
	if len(all) != 3 || len(bad) > 0 {
		t.Fatalf("%d histories, %v, want 3", len(all), bad)
	}
	for _, h := range all {
		if len(h.Nights) != 12 {
			t.Errorf("%s: %d nights, want 12", h.Machine.Precision, len(h.Nights))
		}
		for _, trend := range DefaultRule().Trends(h) {
			if len(trend.Shifts) > 0 {
				t.Errorf("%s: %s has shifts %v, want none", h.Machine.Precision, trend.Metric, trend.Shifts)
			}
		}
	}

	// Rows that somebody copies from one file into another are named and left out.
	text := must.Get(os.ReadFile(paths["fp32"]))(t)
	faster := must.Get(os.ReadFile(paths["bf16"]))(t)
	_, rows, _ := strings.Cut(string(faster), "\n")
	h, bad := read(string(text)+rows, "f.csv")
	if len(bad) != strings.Count(rows, "\n") || !strings.Contains(bad[0].Error(), "one file is one machine") ||
		h.Machine.Precision != "fp32" || len(h.Nights) != 12 {
		t.Errorf("%s, %d nights, errors %v, want fp32's 12 nights and every row of bf16 named",
			h.Machine.Precision, len(h.Nights), bad)
	}
}
