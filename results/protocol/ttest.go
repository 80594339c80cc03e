package protocol

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// RoundsTTest returns the p-value of FedAR's Table 2, a [stats.PairedTTest] of the test accuracies of two methods. The
// pairs are the rounds after the initial model that both methods evaluated, of all seeds together; ours[k] and
// others[k] have the same seed. Accuracies of neighbouring rounds are not independent, so these p-values are far too
// small: [SeedsTTest] is sounder.
func RoundsTTest(ours, others [][]results.CurveRow) (files.Optional, error) {
	var a, b []float64
	for k := range ours {
		at := map[int]float64{}
		for _, r := range others[k] {
			if r.TestAcc.Valid {
				at[r.Round] = r.TestAcc.Value
			}
		}
		for _, r := range ours[k] {
			if v, ok := at[r.Round]; ok && r.TestAcc.Valid && r.Round > 0 {
				a, b = append(a, r.TestAcc.Value), append(b, v)
			}
		}
	}
	return stats.PairedTTest(a, b)
}

// SeedsTTest returns the p-value of a [stats.PairedTTest] of two methods, where each seed is one pair: the mean test
// accuracies over the last n rounds of both runs. It is missing for fewer than two seeds.
func SeedsTTest(ours, others [][]results.CurveRow, n int) (files.Optional, error) {
	var x [2][]float64
	for m, runs := range [][][]results.CurveRow{ours, others} {
		for _, rows := range runs {
			v := LastRounds(rows, n, metrics.TestAcc)
			if !v.Valid {
				return files.Optional{},
					fmt.Errorf("results: paired t-test: no test accuracy in the last %d rounds, want one at least", n)
			}
			x[m] = append(x[m], v.Value)
		}
	}
	return stats.PairedTTest(x[0], x[1])
}
