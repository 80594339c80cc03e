package e2e

import (
	"slices"
	"strings"
	"testing"

	"rollcall/results/papers"
)

// A flag that makes no difference to a figure is refused by its name, of all figures and all flags; the others are
// tested in package run, and no flag is in neither test.
func TestFiguresRefuseFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	refused := func(line, want string) {
		t.Helper()
		oneLineError(t, rollcall(t, strings.Fields("figure "+line)...), statusUsage, want)
	}
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
			if !slices.Contains(taken, flag) {
				refused(f.ID+" --"+flag+"="+values[flag], "--"+flag+": of no use with figure "+f.ID)
			}
		}
		if f.OneSeed {
			refused(f.ID+" --seeds 1,2", "--seeds: 2 seeds, want one: figure "+f.ID+" shows a single run")
		}
	}
	if left := filesBelow(t, "."); len(left) > 0 {
		t.Errorf("left %q, want nothing", left)
	}
}
