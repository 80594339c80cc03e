package protocol

import (
	"math"
	"slices"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// accuracies has a row each `every` rounds from 0 on.
func accuracies(every int, acc ...float64) []results.CurveRow {
	var rows []results.CurveRow
	for i, a := range acc {
		rows = append(rows, results.CurveRow{Round: i * every, TestAcc: files.Some(a)})
	}
	return rows
}

// FedAWE, Table 8: the first round whose mean over the seeds reaches the target, looked at every 10 rounds.
func TestFirstRound(t *testing.T) {
	type curves = [][]results.CurveRow
	one := func(acc ...float64) curves { return curves{accuracies(10, acc...)} }
	nan, never := math.NaN(), files.Optional{}
	for _, test := range []struct {
		name      string
		curves    curves
		threshold float64
		want      files.Optional
	}{
		{"rises through it", one(0.1, 0.2, 0.3, 0.4), 0.25, files.Some(20)},
		{"equal is reached", one(0.1, 0.2, 0.3), 0.2, files.Some(10)},
		{"the initial model", one(0.1, 0.2), 0.1, files.Some(0)},
		{"never", one(0.1, 0.2, 0.3), 0.31, never},
		{"first, though it falls again", one(0.1, 0.5, 0.2, 0.6), 0.5, files.Some(10)},
		{
			"the mean, not the best seed",
			curves{accuracies(10, 0.1, 0.5, 0.6), accuracies(10, 0.1, 0.2, 0.5)},
			0.5, files.Some(20),
		},
		{
			"the mean, not the worst seed",
			curves{accuracies(10, 0.1, 0.7, 0.7), accuracies(10, 0.1, 0.3, 0.3)},
			0.5, files.Some(10),
		},
		{"rounds between", curves{accuracies(5, 0.1, 0.9, 0.2, 0.9, 0.6)}, 0.5, files.Some(20)},
		{
			"order of rows",
			curves{{{Round: 10, TestAcc: files.Some(0.4)}, {Round: 0, TestAcc: files.Some(0.1)}}},
			0.4, files.Some(10),
		},
		{"no multiple but 0 within reach", curves{accuracies(3, 0.1, 0.9, 0.9)}, 0.5, never},
		{"mean of three short by rounding", slices.Repeat(one(0.6), 3), 0.6, files.Some(0)},
		{"threshold above by rounding", one(0.1, 0.6), 0.8 * 0.75, files.Some(10)}, // 0.6000000000000001
		{"short by more than rounding", one(0.1, 0.599999), 0.6, never},
		{
			"diverged reaches nothing",
			curves{accuracies(10, nan, 0.9), accuracies(10, 0.9, nan), accuracies(10, 1, 1)},
			0.1, never,
		},
		{"back after NaN", one(nan, 0.9), 0.1, files.Some(10)},
	} {
		got, err := FirstRound(test.curves, 10, test.threshold, metrics.TestAcc)
		if err != nil || got != test.want {
			t.Errorf("%s: threshold %v: got %+v, %v, want %+v", test.name, test.threshold, got, err, test.want)
		}
	}
	gap := one(0.1, 0.2, 0.3)
	gap[0][1].TestAcc = files.Optional{}
	for _, test := range []struct {
		name      string
		curves    curves
		threshold float64
		want      string
	}{
		{"not measured", gap, 0.5, "run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20"},
		{"a gap after the answer", gap, 0.1, "run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20"},
		{
			"one run shorter",
			curves{accuracies(10, 0.1, 0.2), accuracies(10, 0.1)},
			0.5, "run 2 of 2: no test_acc in round 10, want it every 10 rounds up to 10",
		},
		{"no rows", curves{nil}, 0.5, "run 1 of 1: no test_acc in round 0, want it every 10 rounds up to 0"},
	} {
		got, err := FirstRound(test.curves, 10, test.threshold, metrics.TestAcc)
		if want := "results: first round: " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %+v, %v, want %s", test.name, got, err, want)
		}
	}
}

func TestMeanCurve(t *testing.T) {
	got := MeanCurve([][]results.CurveRow{accuracies(10, 1, 2, 3), accuracies(5, 3, 9, 6, 9)}, metrics.TestAcc)
	want := []RoundMean{ // round 5 and 15 are in the second run alone, round 20 in the first
		{0, stats.Estimate{Mean: 2, Std: files.Some(math.Sqrt2), N: 2}},
		{10, stats.Estimate{Mean: 4, Std: files.Some(2 * math.Sqrt2), N: 2}},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, g := range got {
		if g.Round != want[i].Round || g.N != want[i].N || !filestest.Near(g.Mean, want[i].Mean) ||
			!filestest.SameOptional(g.Std, want[i].Std) {
			t.Errorf("point %d: got %+v, want %+v", i, g, want[i])
		}
	}
	got = MeanCurve([][]results.CurveRow{accuracies(10, 1)}, metrics.TestAcc)
	if len(got) != 1 || got[0].Std.Valid {
		t.Errorf("one run: got %+v, want one point without std", got)
	}
}
