package e2e

import (
	"slices"
	"testing"

	"rollcall/results/papers"
)

// A flag that makes no difference to a figure is refused by its name, of all figures and all flags; the others are
// tested in package run, and no flag is in neither test.
func TestFiguresRefuseFlags(t *testing.T) {
	values := map[string]string{
		"data": "cifar10", "methods": "ca-fed", "seeds": "5", "preset": "code", "rounds": "5", "clients": "5",
		"eval-every": "2", "ema": "0.5", "loss-as-coded": "true",
	}
	known := slices.Clone(papers.FigureFlags())
	for _, f := range papers.Figures() {
		for _, o := range f.Options {
			known = append(known, o.Name)
		}
	}
	for _, f := range papers.Figures() {
		taken := f.Measure.Takes()
		for _, o := range f.Options {
			taken = append(taken, o.Name)
		}
		for _, flag := range known {
			if slices.Contains(taken, flag) {
				continue
			}
			o := rollcall(t, "figure", f.ID, "--"+flag+"="+values[flag], "--out", t.TempDir())
			oneLineError(t, o, statusUsage, "--"+flag+": of no use with figure "+f.ID)
		}
		if f.OneSeed {
			o := rollcall(t, "figure", f.ID, "--seeds", "1,2", "--out", t.TempDir())
			oneLineError(t, o, statusUsage, "--seeds: 2 seeds, want one: figure "+f.ID+" shows a single run")
		}
	}
}
