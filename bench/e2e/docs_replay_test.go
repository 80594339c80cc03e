package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// The tables of docs/reproduction.md that follow the methods through the rounds are those of the kept curves: the test
// accuracy in percent, the mean over the evaluations of the last 50 rounds up to each of these.
func TestDocsReplay(t *testing.T) {
	page := contents(t, "../../docs/reproduction.md")
	for _, c := range []struct {
		folder, availability string
		rounds               []int
	}{
		{"fedawe-2/numpy", "sine", []int{100, 500, 1000, 2000}},
		{"fedar-2", "uniform", []int{100, 250, 500, 1000}},
	} {
		runs, bad, err := results.FindRuns(t.Context(), filepath.Join("../..", "results/replay", c.folder))
		if err != nil || bad != nil || len(runs) == 0 {
			t.Fatalf("%s: %d runs, %v, %v", c.folder, len(runs), bad, err)
		}
		for _, cell := range results.Cells(runs, false) {
			of := cell.Runs[0]
			if of.Availability != c.availability {
				continue
			}
			row := "| " + of.Method
			if p := of.Params.Get("p-min"); p != "" {
				row += ", p_min = " + p
			}
			for _, last := range c.rounds {
				row += " | " + lateMean(t, cell.Runs, last)
			}
			if !strings.Contains(page, row+" |\n") {
				t.Errorf("docs/reproduction.md lacks the row of %s:\n%s |", c.folder, row)
			}
		}
	}
}

// docs/reproduction.md counts the runs that are kept.
func TestDocsKept(t *testing.T) {
	page := contents(t, "../../docs/reproduction.md")
	for row, pattern := range map[string]string{
		"FedAWE, Tables 2 and 8, CIFAR-10, sine | %d of 24":                  "fedawe-2/numpy/*_cifar10_sine_*/seed-*",
		"FedAR, Table 2, Figure 2, CIFAR-10, p_min = 0.1 | %d of 18":         "fedar-2/*/seed-*",
		"FedAR, Table 3, Figure 3: FedAvg with full participation | %d of 3": "fedar-3/fedavg-active_*/seed-*",
		"CA-Fed, ToN, Figure 1c | %d of 50":                                  "cafed-f1c/paper/*/seed-*",
	} {
		kept := must.Get(filepath.Glob(filepath.Join("../..", "results/replay", pattern, results.RunFile)))(t)
		if want := fmt.Sprintf("| "+row+" ", len(kept)); !strings.Contains(page, want) {
			t.Errorf("docs/reproduction.md lacks: %s", want)
		}
	}
}

// What docs/reproduction.md says of the rounds in which FedAR reaches what the paper's figure ends at, and of its lead.
func TestDocsFedAR(t *testing.T) {
	page := strings.Join(strings.Fields(contents(t, "../../docs/reproduction.md")), " ")
	runs, _ := must.Get2(results.FindRuns(t.Context(), filepath.Join("../..", "results/replay", "fedar-2")))(t)
	curves := map[string][][]results.CurveRow{}
	for _, r := range runs {
		curves[r.Method] = append(curves[r.Method], r.Curve) // in the order of the seeds
	}
	reached := func(enough func(accuracy, loss float64) bool) int {
		for i := range curves["fedar"][0] {
			var accuracies, losses []float64
			for _, curve := range curves["fedar"] {
				accuracies = append(accuracies, curve[i].TestAcc.Value)
				losses = append(losses, curve[i].TrainLoss.Value)
			}
			if enough(stats.Mean(accuracies).Value, stats.Mean(losses).Value) {
				return curves["fedar"][0][i].Round
			}
		}
		return 0
	}
	want := []string{fmt.Sprintf("Ours is at 44 %% in round %d, and the loss is below 1.5 in round %d (means of %d "+
		"seeds).", reached(func(accuracy, _ float64) bool { return accuracy >= 0.44 }),
		reached(func(_, loss float64) bool { return loss < 1.5 }), len(curves["fedar"]))}
	for _, method := range []string{"fedvarp", "mifa", "scaffold", "fedavg-s", "fedavg-is"} {
		row := []string{"| " + method}
		for _, last := range []int{250, 1000} {
			var lead []float64
			for i, other := range curves[method] {
				lead = append(lead, 100*(late(t, curves["fedar"][i:i+1], last).Mean-
					late(t, [][]results.CurveRow{other}, last).Mean))
			}
			row = append(row, fmt.Sprintf("%+.1f ± %.1f", stats.Mean(lead).Value, stats.SampleStd(lead).Value))
		}
		want = append(want, strings.Join(row, " | ")+" |")
	}
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("docs/reproduction.md lacks: %s", text)
		}
	}
}

// What docs/reproduction.md says of two memories, and of MIFA and FedVARP at half the rate.
func TestDocsMemory(t *testing.T) {
	page := strings.Join(strings.Fields(contents(t, "../../docs/reproduction.md")), " ")
	late := func(pattern string) string {
		path := only(t, filepath.Join("../..", "results/replay"), pattern+"/seed-3/"+results.CurveFile)
		curve := must.Get(results.ReadCurve(path))(t)
		return lateMean(t, []results.Run{{Dir: path, Curve: curve}}, 300)
	}
	rate, raw := "memory/fedar-memory-rate/", "memory/fedar-memory-raw/"
	for _, want := range []string{
		fmt.Sprintf("MIFA has %s %% with `rate` and %s %% with `raw`, FedVARP %s and %s, FedAR %s.",
			late(rate+"mifa_*"), late(raw+"mifa_*"), late(rate+"fedvarp_*"), late(raw+"fedvarp_*"),
			late(rate+"fedar_*")),
		fmt.Sprintf("MIFA has %s %% in rounds 255 to 300 at 0.1 and %s %% at 0.05, FedVARP %s and %s %%, FedAR at 0.1 "+
			"%s %%", late("fedar-2/mifa_*"), late(rate+"mifa_*"), late("fedar-2/fedvarp_*"), late(rate+"fedvarp_*"),
			late("fedar-2/fedar_*")),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/reproduction.md lacks: %s", want)
		}
	}
}

// lateMean returns the test accuracy of runs that end in round last, in percent, as a table would have it.
func lateMean(t *testing.T, runs []results.Run, last int) string {
	t.Helper()
	var curves [][]results.CurveRow
	for _, r := range runs {
		curves = append(curves, r.Curve)
	}
	mean := late(t, curves, last)
	text := fmt.Sprintf("%.1f", 100*mean.Mean)
	if mean.Std.Valid {
		text += fmt.Sprintf(" ± %.1f", 100*mean.Std.Value)
	}
	return text
}

// late returns the test accuracy of curves of several seeds that end in round last.
func late(t *testing.T, curves [][]results.CurveRow, last int) stats.Estimate {
	t.Helper()
	var cut [][]results.CurveRow
	for _, curve := range curves {
		end := slices.IndexFunc(curve, func(row results.CurveRow) bool { return row.Round == last })
		if end < 0 {
			t.Fatalf("a curve of %s: round %d was not evaluated", curve[0].Method, last)
		}
		cut = append(cut, curve[:end+1])
	}
	mean := must.Get(protocol.OverSeeds(cut, results.ProtocolRounds, metrics.TestAcc))(t)
	return mean
}
