package protocol_test

import (
	"math"
	"testing"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/resultstest"
)

func TestOverTime(t *testing.T) {
	// Rounds 1 … 4: maxima 0.5 and 0.9 (the initial model counts), means 0.35 and 0.4; the second half is rounds 3 and
	// 4: 0.4 and 0.5 have the standard deviation 0.1/√2, 0.4 and 0.4 none.
	runs := [][]results.CurveRow{
		resultstest.Accuracies(0.1, 0.2, 0.3, 0.4, 0.5),
		resultstest.Accuracies(0.9, 0.4, 0.4, 0.4, 0.4),
	}
	half := 0.1 / math.Sqrt2
	for _, c := range []struct {
		m         metrics.Metric
		mean, std float64
	}{{metrics.TestAccMax, 0.7, 0.4 / math.Sqrt2}, {metrics.TestAccMean, 0.375, 0.05 / math.Sqrt2}, {
		metrics.TestAccStd, half / 2, half / math.Sqrt2,
	}} {
		got, err := protocol.OverTime(runs, c.m)
		// A few roundings of numbers below 1.
		if err != nil || got.N != 2 || math.Abs(got.Mean-c.mean) > 1e-15 || math.Abs(got.Std.Value-c.std) > 1e-15 {
			t.Errorf("%s: %+v, %v, want %g ± %g of 2", c.m, got, err, c.mean, c.std)
		}
	}
	for _, runs := range [][][]results.CurveRow{nil, {resultstest.Accuracies(0.1, 0.2)}} {
		if _, err := protocol.OverTime(runs, metrics.TestAccStd); err == nil {
			t.Errorf("%d runs of at most one round: no error, want one", len(runs))
		}
	}
	if got := protocol.RunningMean(resultstest.Accuracies(0.1, 0.25, 0.75, 0.5)); got[0].TestAcc.Value != 0.1 ||
		got[1].TestAcc.Value != 0.25 || got[2].TestAcc.Value != 0.5 || got[3].TestAcc.Value != 0.5 {
		t.Errorf("running means %v, want 0.1 0.25 0.5 0.5", got)
	}
}
