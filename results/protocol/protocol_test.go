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

// ramp has a row each `every` rounds up to t, test accuracy = round.
func ramp(t, every int) []results.CurveRow {
	var rows []results.CurveRow
	for r := 0; r <= t; r += every {
		rows = append(rows, results.CurveRow{Round: r, TestAcc: files.Some(float64(r))})
	}
	return rows
}

// FedAWE, Table 2: an entry is the mean over the last 50 rounds.
func TestLastRounds(t *testing.T) {
	gap := ramp(100, 10)
	gap[len(gap)-1].TestAcc = files.Optional{} // round 100 not evaluated, but still the last
	diverged := ramp(100, 10)
	diverged[9].TestAcc = files.Some(math.NaN())
	for _, test := range []struct {
		name string
		rows []results.CurveRow
		n    int
		want files.Optional
	}{
		{"every round: 51…100", ramp(100, 1), 50, files.Some(75.5)},
		{"every second: 52…100", ramp(100, 2), 50, files.Some(76)},
		{"every tenth: 60…100", ramp(100, 10), 50, files.Some(80)},
		{"fewer rounds than 50, without the initial model", ramp(5, 1), 50, files.Some(3)},
		{"the last alone", ramp(100, 10), 1, files.Some(100)},
		{"missing is not zero", gap, 50, files.Some(75)},
		{"diverged stays", diverged, 50, files.Some(math.NaN())},
		{"initial model alone", ramp(0, 1), 50, files.Optional{}},
		{"no rows", nil, 50, files.Optional{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := LastRounds(test.rows, test.n, metrics.TestAcc); !filestest.SameOptional(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// FedAWE, appendix J: an entry is the mean over the last 50 rounds.
func TestProtocolRounds(t *testing.T) {
	if results.ProtocolRounds != 50 {
		t.Errorf("entries are means over the last %d rounds, want 50", results.ProtocolRounds)
	}
}

func TestOverSeeds(t *testing.T) {
	// means 3, 5, 4
	got, err := OverSeeds([][]results.CurveRow{ramp(5, 1), ramp(9, 1), ramp(7, 1)}, 50, metrics.TestAcc)
	if err != nil || !filestest.Near(got.Mean, 4) || !filestest.SameOptional(got.Std, files.Some(1)) || got.N != 3 {
		t.Errorf("three seeds: got %+v, %v, want 4 ± 1, n=3", got, err)
	}
	got, err = OverSeeds([][]results.CurveRow{ramp(5, 1)}, 50, metrics.TestAcc)
	if err != nil || got != (stats.Estimate{Mean: 3, N: 1}) {
		t.Errorf("one seed: got %+v, %v, want 3 without std, n=1", got, err)
	}
	if _, err := OverSeeds(nil, 50, metrics.TestAcc); err == nil {
		t.Error("no seed: got no error, want one")
	}
	_, err = OverSeeds([][]results.CurveRow{ramp(5, 1), ramp(0, 1)}, 50, metrics.TestAcc)
	if want := "results: run 2 of 2: no test_acc in its last 50 rounds, want one at least"; err == nil ||
		err.Error() != want {
		t.Errorf("run without rounds: got %v, want %s", err, want)
	}
}

// Round by round all pairs count, seed by seed the means of the last rounds do; the initial model never.
func TestCurveTTests(t *testing.T) {
	curve := func(acc ...float64) (rows []results.CurveRow) {
		for round, v := range acc {
			rows = append(rows, results.CurveRow{Round: round, TestAcc: files.Some(v)})
		}
		return rows
	}
	ours := [][]results.CurveRow{curve(0.9, 0.2, 0.4), curve(0.9, 0.3, 0.5)}
	others := [][]results.CurveRow{curve(0.1, 0.1, 0.2), curve(0.1, 0.2, 0.2)}
	p, err := RoundsTTest(ours, others)
	want, _ := stats.PairedTTest([]float64{0.2, 0.4, 0.3, 0.5}, []float64{0.1, 0.2, 0.2, 0.2})
	if err != nil || p != want {
		t.Errorf("rounds: %v, %v, want %v", p, err, want)
	}
	p, err = SeedsTTest(ours, others, 1)
	want, _ = stats.PairedTTest([]float64{0.4, 0.5}, []float64{0.2, 0.2})
	if err != nil || p != want {
		t.Errorf("seeds: %v, %v, want %v", p, err, want)
	}
	if p, err = SeedsTTest(ours[:1], others[:1], 1); err != nil || p.Valid {
		t.Errorf("one seed: %v, %v, want none", p, err)
	}
}
