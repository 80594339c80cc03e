package e2e

// Numbers of the pages that come from kept runs are those of results/replay.

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/power"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// replayed has the results that are kept.
const replayed = "../../results/replay"

// docsSays checks that a page has a row or a sentence, over however many lines it goes. If it has not, the error names
// the line in which the page begins to say something else.
func docsSays(t *testing.T, page, want string) {
	t.Helper()
	var words []string
	var lines []int // of the words
	for i, line := range strings.Split(contents(t, "../../"+page), "\n") {
		for word := range strings.FieldsSeq(line) {
			words, lines = append(words, word), append(lines, i+1)
		}
	}
	wanted, best, line := strings.Fields(want), -1, 0
	for i := range words {
		n := 0
		for n < len(wanted) && i+n < len(words) && strings.Trim(words[i+n], ",.;:") == strings.Trim(wanted[n], ",.;:") {
			n++
		}
		if n > best {
			best, line = n, lines[min(i+n, len(lines)-1)]
		}
	}
	if best < len(wanted) {
		t.Errorf("%s:%d: does not go on %q, as results/replay has it, want\n%s", page, line,
			strings.Join(wanted[best:], " "), want)
	}
}

// fedar2 returns the kept curves of FedAR's Table 2 at p_min = 0.1 by method, in the order of the seeds.
func fedar2(t *testing.T) map[string][][]results.CurveRow {
	t.Helper()
	runs, _ := must.Get2(results.FindRuns(t.Context(), filepath.Join(replayed, "fedar-2")))(t)
	curves := map[string][][]results.CurveRow{}
	for _, r := range runs {
		if r.Params.Get("p-min") == "" { // 0.1 by default
			curves[r.Method] = append(curves[r.Method], r.Curve)
		}
	}
	return curves
}

// What the page says of the rounds in which FedAR reaches what the paper's figure ends at.
func TestDocsFedAR(t *testing.T) {
	curves := fedar2(t)
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
	docsSays(t, "docs/reproduction/fedar.md", fmt.Sprintf("FedAR reaches the printed 44 %% in round %d and the "+
		"printed loss of 1.5 in round %d (means of %d seeds)",
		reached(func(accuracy, _ float64) bool { return accuracy >= 0.44 }),
		reached(func(_, loss float64) bool { return loss < 1.5 }), len(curves["fedar"])))
}

// The page's p-values of FedAR's Table 2 are those of the summary, with the lead and the independent pairs behind them.
func TestDocsPValues(t *testing.T) {
	rows := must.Get(results.ReadSummary(filepath.Join(replayed, "fedar-2", results.SummaryFile)))(t)
	words := map[string]string{} // by p_min, method and metric
	var worth []float64
	for _, r := range rows {
		words[r.Params.Get("p-min")+r.Method+string(r.Metric)] = r.Metric.Words(r.Mean, files.Optional{}, r.N)
		if r.Metric == metrics.PRoundsN && r.Mean.Valid {
			worth = append(worth, r.Mean.Value)
		}
	}
	docsSays(t, "docs/seeds.md", fmt.Sprintf("600 pairs are worth %.0f (against SCAFFOLD) to %.0f (against FedAvg(S))",
		slices.Min(worth), slices.Max(worth)))
	for _, pMin := range []string{"", "0.5"} { // 0.1 by default
		var want []string
		for _, method := range []string{"fedvarp", "mifa", "scaffold", "fedavg-s", "fedavg-is"} {
			of := func(m metrics.Metric) string { return strings.TrimSpace(words[pMin+method+string(m)]) }
			want = append(want, fmt.Sprintf("%s %s (%s; %s)", method, of(metrics.PRounds), of(metrics.PRoundsLead),
				of(metrics.PRoundsN)))
		}
		docsSays(t, "docs/reproduction/fedar.md", strings.Join(want, ", "))
	}
}

// What docs/presets.md says of two memories, and of MIFA and FedVARP at half the rate.
func TestDocsMemory(t *testing.T) {
	late := func(pattern string) string {
		path := only(t, replayed, pattern+"/seed-3/"+results.CurveFile)
		return lateMean(t, []results.Run{{Curve: must.Get(results.ReadCurve(path))(t)}}, 300)
	}
	curves := fedar2(t)
	full := func(method string) string { return lateMean(t, []results.Run{{Curve: curves[method][0]}}, 300) }
	rate, raw := "memory/fedar-memory-rate/", "memory/fedar-memory-raw/"
	for _, want := range []string{
		fmt.Sprintf("MIFA has %s %% with `rate` and %s %% with `raw`, FedVARP %s and %s, FedAR %s,",
			late(rate+"mifa_*"), late(raw+"mifa_*"), late(rate+"fedvarp_*"), late(raw+"fedvarp_*"),
			late(rate+"fedar_*")),
		fmt.Sprintf("MIFA has %s %% in rounds 255 to 300 at 0.1 and %s %% at 0.05, FedVARP %s and %s %%, FedAR at 0.1 "+
			"%s %%", full("mifa"), late(rate+"mifa_*"), full("fedvarp"), late(rate+"fedvarp_*"),
			full("fedar")),
	} {
		docsSays(t, "docs/presets.md", want)
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

// printedRounds are the rounds of FedAWE's table 8 (CIFAR-10, sine) within our runs, at the targets 15, 30 and 45 %.
var printedRounds = map[string][]int{"fedavg-known": {10, 20, 140}, "fedavg-all": {20, 60}}

// The rows of docs/rates.md on the rates of FedAvg over all clients and with known p are those of the committed
// curves, and so is the verdict by the rule that the page states.
func TestDocsRates(t *testing.T) {
	paths, err := filepath.Glob(replayed + "/rates/run/*/seed-*/" + results.CurveFile)
	if err != nil || len(paths) != 12 {
		t.Fatalf("%d curves (%v), want 12", len(paths), err)
	}
	cells := map[string][][]results.CurveRow{}
	for _, path := range paths {
		rows := must.Get(results.ReadCurve(path))(t)
		cells[cellOfRates(rows[0])] = append(cells[cellOfRates(rows[0])], rows)
	}
	sums := map[string]float64{}
	for cell, curves := range cells {
		method, rate, _ := strings.Cut(cell, " ")
		ours, printed, sum := firstRounds(t, curves, printedRounds[method])
		var last []float64
		for _, rows := range curves {
			last = append(last, 100*rows[len(rows)-1].TestAcc.Value)
		}
		sums[cell] = sum
		docsSays(t, "docs/rates.md", fmt.Sprintf("| %s | %s | %s | %s | %.2f | %.1f ± %.1f |", method, rate, ours,
			printed, sum, stats.Mean(last).Value, stats.SampleStd(last).Value))
	}
	header := sums["fedavg-known 0.1"] + sums["fedavg-all 0.05"]
	tables := sums["fedavg-known 0.05"] + sums["fedavg-all 0.1"]
	docsSays(t, "docs/rates.md",
		fmt.Sprintf("As in the header the sum is %.2f, as in the tables %.2f.", header, tables))
	if math.Abs(header-tables) > math.Log(1.5) {
		t.Errorf("docs/rates.md: the sums %.2f and %.2f decide, want the page to say so", header, tables)
	}
}

// cellOfRates names the method and its first learning rate, which params has where it is not the method's own.
func cellOfRates(row results.CurveRow) string {
	for param := range strings.SplitSeq(string(row.Params), ";") {
		if rate, ok := strings.CutPrefix(param, "lr="); ok {
			return row.Method + " " + rate
		}
	}
	return row.Method + " " + map[string]string{"fedavg-known": "0.1", "fedavg-all": "0.05"}[row.Method]
}

// firstRounds returns the rounds in which the mean over the seeds reaches 15, 30 … %, those printed, and the sum of
// |log(ours/printed)|. A target that is not reached counts as reached ten rounds after the last.
func firstRounds(t *testing.T, curves [][]results.CurveRow, printed []int) (ours, paper string, sum float64) {
	t.Helper()
	for i, want := range printed {
		got := must.Get(protocol.FirstRound(curves, 10, 0.15*float64(i+1), metrics.TestAcc))(t)
		if !got.Valid {
			got.Value = float64(curves[0][len(curves[0])-1].Round + 10)
		}
		sum += math.Abs(math.Log(got.Value / float64(want)))
		ours += fmt.Sprintf(", %v", got.Value)
		paper += fmt.Sprintf(", %d", want)
	}
	return strings.TrimPrefix(ours, ", "), strings.TrimPrefix(paper, ", "), sum
}

// releasedFolder has runs of FedAWE's released code, as it writes them, and ours beside them, in run.
var releasedFolder = filepath.Join(replayed, "released")

// What the page says of FedAWE's released code and of ours beside it is what the kept files have.
func TestDocsReleased(t *testing.T) {
	runs, bad, err := results.FindRuns(t.Context(), filepath.Join(releasedFolder, "run"))
	if err != nil || bad != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v, %v", len(runs), bad, err)
	}
	ours := map[int][]float64{} // by round
	for _, r := range runs {
		if r.Method == "fedawe" && r.Params.Get("draws") == "numpy" {
			for _, row := range r.Curve {
				ours[row.Round] = append(ours[row.Round], 100*row.TestAcc.Value)
			}
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for round, code := range readReleased(t, "fedawe-sine-torch-2.15.csv")["test"] {
		if round == 0 {
			continue
		}
		if len(code) != 3 || len(ours[round]) != 3 {
			t.Fatalf("round %d: %d and %d seeds, want 3", round, len(code), len(ours[round]))
		}
		d := stats.Mean(ours[round]).Value - stats.Mean(code).Value
		least, most = min(least, d), max(most, d)
	}
	docsSays(t, "docs/reproduction/fedawe.md",
		fmt.Sprintf("in rounds 10 to 50 our test accuracy is %+.1f to %+.1f points from its", least, most))
}

// readReleased returns the accuracies in percent that the released code has in a round, one a seed.
func readReleased(t *testing.T, name string) map[string]map[int][]float64 {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(releasedFolder, name)))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.TrimLeadingSpace = true
	rows := must.Get(r.ReadAll())(t)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[strings.TrimSpace(name)] = i
	}
	read := map[string]map[int][]float64{"train": {}, "test": {}}
	for _, row := range rows[1:] {
		round := must.Get(strconv.Atoi(row[column["rounds"]]))(t)
		for what, of := range read {
			accuracy := must.Get(strconv.ParseFloat(row[column[what+"_accuracy"]], 64))(t)
			of[round] = append(of[round], 100*accuracy)
		}
	}
	return read
}

// The table of docs/seeds.md is what `rollcall results power` wrote about the runs that the page names.
func TestDocsSeeds(t *testing.T) {
	rows := must.Get(files.ReadCSVFile[power.Spread](replayed+"/power/power.csv", files.MostTable))(t)
	var parts []string
	cells := map[string]string{} // by part, one behind the other
	for _, r := range rows {
		if r.Metric != metrics.TestAcc || r.Runs != 121 {
			t.Fatalf("%s of %d runs, want the accuracy of 121", r.Metric, r.Runs)
		}
		if !slices.Contains(parts, r.Part) {
			parts = append(parts, r.Part)
		}
		cells[r.Part] += fmt.Sprintf(" %.2f (%.2f … %.2f), %.0f %% |",
			100*r.Std, 100*r.StdLow, 100*r.StdHigh, 100*r.Share)
		if r.Part == "all" {
			n := func(n files.Optional) string { return fmt.Sprintf("%.0f", n.Value) }
			cells["different seeds"] += fmt.Sprintf(" %s (%s … %s) |", n(r.Apart), n(r.ApartLow), n(r.ApartHigh))
			if r.Minus != "" {
				cells["the same seeds"] += fmt.Sprintf(" | | %s (%s … %s) |", n(r.Pairs), n(r.PairsLow), n(r.PairsHigh))
			}
		}
	}
	if len(rows) != 3*len(parts) || len(parts) != 7 {
		t.Fatalf("%d rows of %d parts, want 7 of two methods and of their difference", len(rows), len(parts))
	}
	for _, part := range append(parts, "different seeds", "the same seeds") {
		docsSays(t, "docs/seeds.md", "| "+part+" |"+cells[part])
	}
}

// The components of results/replay/power are those of the accuracies of its runs.
func TestDocsSeedsComponents(t *testing.T) {
	rows := must.Get(files.ReadCSVFile[power.Spread](replayed+"/power/power.csv", files.MostTable))(t)
	runs := must.Get(files.ReadCSVFile[results.SummaryRow](replayed+"/power/"+results.SummaryFile, files.MostTable))(t)
	for _, method := range []string{"fedavg-active", "mifa"} {
		var accuracies []float64
		levels := make([][]int, len(power.Seeds)) // of every part, by run: its seeds are 3 … 13
		for _, r := range runs {
			if r.Method != method || r.Metric != metrics.TestAcc {
				continue
			}
			accuracies = append(accuracies, r.Mean.Value)
			for i, name := range power.Seeds {
				levels[i] = append(levels[i], must.Get(strconv.Atoi(r.Params.Get(name)))(t)-3)
			}
		}
		c := must.Get(stats.CrossedComponents(accuracies, levels, 0.95))(t)
		want := map[string]float64{"interactions": c.Rest.Variance, "all": c.Sum.Variance}
		for i, name := range power.Seeds {
			want[strings.TrimPrefix(name, "seed-")] = c.Factors[i].Variance
		}
		for _, r := range rows {
			// The sums of squares are near 100, each rounded by 10⁻¹⁴.
			if r.Method == method && r.Minus == "" && math.Abs(r.Variance-want[r.Part]) > 1e-12 {
				t.Errorf("%s, %s: variance %g, want %g ± 10⁻¹²", method, r.Part, r.Variance, want[r.Part])
			}
		}
	}
}
