package e2e

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/stats"
)

// releasedFolder has runs of FedAWE's released code, as it writes them, and ours beside them, in run.
var releasedFolder = filepath.Join("../..", "results/replay", "released")

// The rows of docs/reproduction.md beside FedAWE's released code are those of the kept files.
func TestDocsReleased(t *testing.T) {
	page := contents(t, "../../docs/reproduction.md")
	runs, bad, err := results.FindRuns(t.Context(), filepath.Join(releasedFolder, "run"))
	if err != nil || bad != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v, %v", len(runs), bad, err)
	}
	for _, c := range []struct {
		method, draws string
		seeds         []uint32
		code          string
		rounds        []int
	}{
		{"fedawe", "numpy", []uint32{3, 4, 6}, "fedawe-sine-torch-2.15.csv", []int{10, 20, 30, 40, 50}},
		{"fedavg-active", "numpy", []uint32{3, 4, 6}, "fedavg-active-stationary-torch-1.13.csv", []int{5, 10, 15, 20}},
		{"fedawe", "numpy", []uint32{3, 4, 6}, "fedawe-sine-torch-1.13.csv", []int{5, 10, 15, 20}},
		{"fedavg-active", "", []uint32{3, 4, 6}, "fedavg-active-stationary-torch-1.13.csv", []int{5, 10, 15, 20}},
		{"fedawe", "", []uint32{3, 4, 6}, "fedawe-sine-torch-1.13.csv", []int{5, 10, 15, 20}},
		{"fedawe", "", []uint32{146, 172, 195}, "fedawe-sine-torch-1.13.csv", []int{5, 10, 15, 20}},
	} {
		var curves [][]results.CurveRow
		for _, r := range runs {
			if r.Method == c.method && r.Params.Get("draws") == c.draws && slices.Contains(c.seeds, r.Seed) {
				curves = append(curves, r.Curve)
			}
		}
		if len(curves) != len(c.seeds) {
			t.Fatalf("%s, draws %q, seeds %v: %d runs", c.method, c.draws, c.seeds, len(curves))
		}
		code := readReleased(t, c.code)
		for _, round := range c.rounds {
			var train, test []float64
			for _, curve := range curves {
				i := slices.IndexFunc(curve, func(row results.CurveRow) bool { return row.Round == round })
				train = append(train, 100*curve[i].TrainAcc.Value)
				test = append(test, 100*curve[i].TestAcc.Value)
			}
			for what, ours := range map[string][]float64{"train": train, "test": test} {
				row := releasedRow(ours, code[what][round])
				row = fmt.Sprintf("| %s | %d | %s | %s |\n", c.method, round, what, row)
				if !strings.Contains(page, row) {
					t.Errorf("docs/reproduction.md lacks the row of %s, draws %q, seeds %v:\n%s", c.code, c.draws,
						c.seeds, row)
				}
			}
		}
	}
}

// What docs/reproduction.md says of the rounds in which FedAWE's released code and ours reach what Table 8 has.
func TestDocsReleasedRounds(t *testing.T) {
	page := strings.Join(strings.Fields(contents(t, "../../docs/reproduction.md")), " ")
	runs, _ := must.Get2(results.FindRuns(t.Context(), filepath.Join(releasedFolder, "run")))(t)
	code, ours := readReleased(t, "fedawe-sine-torch-2.15.csv")["test"], map[int][]float64{}
	for _, r := range runs {
		if r.Method == "fedawe" && r.Params.Get("draws") == "numpy" {
			for _, row := range r.Curve {
				ours[row.Round] = append(ours[row.Round], 100*row.TestAcc.Value)
			}
		}
	}
	first := func(of map[int][]float64, level float64) int {
		for round := 10; ; round += 10 {
			if values := of[round]; len(values) != 3 || stats.Mean(values).Value >= level {
				return round
			}
		}
	}
	want := fmt.Sprintf("the released code's mean first reaches 15 and 30 %% in rounds %d and %d, and ours in "+
		"rounds %d and %d", first(code, 15), first(code, 30), first(ours, 15), first(ours, 30))
	if !strings.Contains(page, want) {
		t.Errorf("docs/reproduction.md lacks: %s", want)
	}
}

// releasedRow compares accuracies of ours, one a seed, with the released code's.
func releasedRow(ours, code []float64) string {
	a, b := stats.EstimateOf(ours), stats.EstimateOf(code)
	difference, margin, verdict := stats.Compare(a, b)
	return fmt.Sprintf("%.1f ± %.1f | %.1f ± %.1f | %+.1f | %.1f | %s", a.Mean, a.Std.Value, b.Mean, b.Std.Value,
		difference, margin.Value, verdict)
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
