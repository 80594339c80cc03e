package protocol

import (
	"math"
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
	nan := math.NaN()
	gap := accuracies(10, 0.1, 0.2, 0.3)
	gap[1].TestAcc = files.Optional{}
	for _, test := range []struct {
		name      string
		curves    [][]results.CurveRow
		every     int
		threshold float64
		want      files.Optional
	}{
		{"rises through it", [][]results.CurveRow{accuracies(10, 0.1, 0.2, 0.3, 0.4)}, 10, 0.25, files.Some(20)},
		{"equal is reached", [][]results.CurveRow{accuracies(10, 0.1, 0.2, 0.3)}, 10, 0.2, files.Some(10)},
		{"the initial model", [][]results.CurveRow{accuracies(10, 0.1, 0.2)}, 10, 0.1, files.Some(0)},
		{"never", [][]results.CurveRow{accuracies(10, 0.1, 0.2, 0.3)}, 10, 0.31, files.Optional{}},
		{
			"first, though it falls again",
			[][]results.CurveRow{accuracies(10, 0.1, 0.5, 0.2, 0.6)},
			10, 0.5,
			files.Some(10),
		},
		{"the mean, not the best seed", [][]results.CurveRow{
			accuracies(10, 0.1, 0.5, 0.6),
			accuracies(10, 0.1, 0.2, 0.5),
		}, 10, 0.5, files.Some(20)},
		{"the mean, not the worst seed", [][]results.CurveRow{
			accuracies(10, 0.1, 0.7, 0.7),
			accuracies(10, 0.1, 0.3, 0.3),
		}, 10, 0.5, files.Some(10)},
		{
			"rounds between are not looked at",
			[][]results.CurveRow{accuracies(5, 0.1, 0.9, 0.2, 0.9, 0.6)},
			10, 0.5,
			files.Some(20),
		},
		{"order of rows", [][]results.CurveRow{{
			{Round: 10, TestAcc: files.Some(0.4)},
			{Round: 0, TestAcc: files.Some(0.1)},
		}}, 10, 0.4, files.Some(10)},
		{
			"no multiple but 0 within reach",
			[][]results.CurveRow{accuracies(3, 0.1, 0.9, 0.9)},
			10, 0.5,
			files.Optional{},
		},
		{"mean of three short by rounding", [][]results.CurveRow{
			accuracies(10, 0.6), accuracies(10, 0.6), accuracies(10, 0.6),
		}, 10, 0.6, files.Some(0)},
		// 0.6000000000000001
		{"threshold above by rounding", [][]results.CurveRow{accuracies(10, 0.1, 0.6)}, 10, 0.8 * 0.75, files.Some(10)},
		{"short by more than rounding", [][]results.CurveRow{accuracies(10, 0.1, 0.599999)}, 10, 0.6, files.Optional{}},
		{"diverged reaches nothing", [][]results.CurveRow{
			accuracies(10, nan, 0.9), accuracies(10, 0.9, nan), accuracies(10, 0.9, 0.9),
		}, 10, 0.1, files.Optional{}},
		{"back after NaN", [][]results.CurveRow{accuracies(10, nan, 0.9)}, 10, 0.1, files.Some(10)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := FirstRound(test.curves, test.every, test.threshold, metrics.TestAcc)
			if err != nil || got != test.want {
				t.Errorf("threshold %v: got %+v, %v, want %+v", test.threshold, got, err, test.want)
			}
		})
	}
	for _, test := range []struct {
		name      string
		curves    [][]results.CurveRow
		every     int
		threshold float64
		metric    metrics.Metric
		want      string
	}{
		{
			"not measured",
			[][]results.CurveRow{gap},
			10, 0.5, metrics.TestAcc,
			"results: first round: run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20",
		},
		{
			"a gap after the answer",
			[][]results.CurveRow{gap},
			10, 0.1, metrics.TestAcc,
			"results: first round: run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20",
		},
		{
			"one run shorter",
			[][]results.CurveRow{accuracies(10, 0.1, 0.2), accuracies(10, 0.1)},
			10, 0.5,
			metrics.TestAcc, "results: first round: run 2 of 2: no test_acc in round 10, " +
				"want it every 10 rounds up to 10",
		},
		{
			"no rows",
			[][]results.CurveRow{nil},
			10, 0.5, metrics.TestAcc,
			"results: first round: run 1 of 1: no test_acc in round 0, want it every 10 rounds up to 0",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := FirstRound(test.curves, test.every, test.threshold, test.metric); err == nil ||
				err.Error() != test.want {
				t.Errorf("got %+v, %v, want %s", got, err, test.want)
			}
		})
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
