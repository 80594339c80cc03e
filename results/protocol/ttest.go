package protocol

import (
	"fmt"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// RoundsTTest is [stats.PairedTTest] of the test accuracies of two methods round by round, as FedAR's Table 2 has it:
// of each seed the rounds after the initial model in which both were evaluated, all seeds together. Accuracies of one
// run lean on each other from round to round, so that the test's p-values are far too small: [SeedsTTest] is the
// sounder one.
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

// SeedsTTest is [stats.PairedTTest] of two methods across the seeds, of each run's mean test accuracy in its last n
// rounds. Missing for fewer than two seeds.
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
