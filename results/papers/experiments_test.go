package papers

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The experiments of every table and figure. The file was checked against the papers: FedAWE section 7 and appendix J;
// CA-Fed section V, ToN's table II and the released scripts (paper_experiments/*/full_experiment.sh); FedAR section 6.
// -update rewrites it, and then what has changed has to be checked again.
const experimentsFile = "testdata/experiments.txt"

var update = flag.Bool("update", false, "rewrite "+experimentsFile)

// sorted returns the settings by name, of a name that is there twice the later value.
func sorted(p results.Params) (q results.Params) {
	values := maps.Collect(p.All())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q = q.And(results.Params(name + "=" + values[name]))
	}
	return q
}

// writeExperiments writes the settings of every run in every preset of its column: first those that all runs share,
// then the rest, with the lines of the table or figure that have them.
func writeExperiments(w io.Writer, runs []Training) {
	type place struct {
		data, availability string
		x                  float64
		rest               results.Params
	}
	for _, preset := range []string{"code", noMomentum, "paper"} {
		in := slices.DeleteFunc(slices.Clone(runs), func(r Training) bool {
			return !slices.Contains(r.Presets(), preset)
		})
		settings := func(r Training) results.Params { return sorted(r.Settings(r.Method, preset)) }
		common := results.CommonParams(in, settings)
		if len(in) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", preset, common)
		}
		places, lines := results.Grouped(in, func(r Training) place {
			return place{r.Data, r.Availability, r.X, settings(r).Minus(common)}
		})
		for _, p := range places {
			var names []string
			for _, r := range lines[p] {
				names = append(names, strings.TrimSuffix(r.Method+" as "+r.Series, " as "+r.Method))
			}
			fmt.Fprintf(w, "    %s, %s, x %g: %s: %s\n", p.data, p.availability, p.x, strings.Join(names, ", "), p.rest)
		}
	}
}

func TestExperiments(t *testing.T) {
	var b strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&b, "%s: %d rounds, seeds %v, reference %q, preset %q\n",
			table.ID, table.Rounds, table.Seeds, table.Reference, table.Preset)
		for _, e := range table.Entries {
			fmt.Fprintf(&b, "  %s\n", e.Metric)
		}
		writeExperiments(&b, runsIn(table.Columns, table.Methods...))
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "%s: %d rounds, seeds %v, preset %q, measures %T %+v\n",
			f.ID, f.Rounds, f.Seeds, f.Preset, f.Measure, f.Measure)
		writeExperiments(&b, f.Runs)
	}
	b.WriteString("outside of the tables and figures\n")
	type trained struct{ method, preset, data, net string }
	var all []trained
	methods := []string{"a-method-of-no-paper"}
	for _, table := range tables {
		methods = append(methods, table.Methods...)
	}
	slices.Sort(methods)
	for _, method := range slices.Compact(methods) {
		fmt.Fprintf(&b, "  %s: presets %s\n", method, strings.Join(Presets(method), ", "))
		for _, preset := range []string{"code", noMomentum, "paper"} {
			for _, net := range []string{"linear-leaf", "linear-mnist", "cnn-mnist", "cnn-svhn", "cnn-cinic10"} {
				_, data, _ := strings.Cut(net, "-")
				all = append(all, trained{method, preset, data, net})
			}
		}
	}
	settings, who := results.Grouped(all, func(c trained) results.Params {
		return sorted(TrainsAs(c.method, c.preset, c.data, c.net))
	})
	for _, p := range settings {
		fmt.Fprintf(&b, "  %s\n", p)
		methods, presets := results.Grouped(who[p], func(c trained) string { return c.method + ", " + c.net })
		for _, m := range methods {
			fmt.Fprintf(&b, "    %s:", m)
			for _, c := range presets[m] {
				fmt.Fprintf(&b, " %s", c.preset)
			}
			b.WriteString("\n")
		}
	}
	if *update {
		must.OK(t, os.WriteFile(experimentsFile, []byte(b.String()), 0o666))
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(string(must.Get(os.ReadFile(experimentsFile))(t)), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d:\n%s, want\n%s", i+1, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}
