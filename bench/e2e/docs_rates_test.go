package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// printedRounds are the rounds of FedAWE's table 8 (CIFAR-10, sine) within our runs, at the targets 15, 30 and 45 %.
var printedRounds = map[string][]int{"fedavg-known": {10, 20, 140}, "fedavg-all": {20, 60}}

// The rows of docs/reproduction.md on the rates of FedAvg over all clients and with known p are those of the committed
// curves, and so is the verdict by the rule that the page states.
func TestDocsRates(t *testing.T) {
	page := contents(t, "../../docs/reproduction.md")
	paths, err := filepath.Glob("../../results/replay/rates/run/*/seed-*/" + results.CurveFile)
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
		row := fmt.Sprintf("| %s | %s | %s | %s | %.2f | %.1f ± %.1f |", method, rate, ours, printed, sum,
			stats.Mean(last).Value, stats.SampleStd(last).Value)
		if !strings.Contains(page, row) {
			t.Errorf("docs/reproduction.md lacks the row of results/replay/rates:\n%s", row)
		}
	}
	header := sums["fedavg-known 0.1"] + sums["fedavg-all 0.05"]
	tables := sums["fedavg-known 0.05"] + sums["fedavg-all 0.1"]
	verdict := fmt.Sprintf("As in the header the sum is %.2f, as in the tables %.2f.", header, tables)
	if !strings.Contains(page, verdict) || math.Abs(header-tables) > math.Log(1.5) {
		t.Errorf("docs/reproduction.md: want %q, and a difference that leaves the question undecided", verdict)
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
