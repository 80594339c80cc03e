package results

import (
	"math"
	"testing"

	"rollcall/internal/files"
)

func TestEvaluatedAfter(t *testing.T) {
	for _, rounds := range []int{1, 2, 49, 50, 51, 120} {
		for every := 1; every <= 130; every += 3 {
			for last := range 60 {
				for round := range rounds {
					want := round + 1
					for !Evaluated(want, rounds, every, last) {
						want++
					}
					if got := evaluatedAfter(round, rounds, every, last); got != want {
						t.Fatalf("after %d of %d, every %d, at last every %d: got %d, want %d",
							round, rounds, every, last, got, want)
					}
				}
			}
		}
	}
}

// A run of 2³¹ − 1 rounds that are not evaluated is looked at as fast as any.
func TestCheckRoundsWithoutRows(t *testing.T) {
	settings := map[string]any{"rounds": mostRounds, "eval-every": mostRounds}
	r := Run{Curve: []CurveRow{{}}, Info: &RunInfo{Status: RunComplete, Rounds: mostRounds, Settings: settings}}
	if err := r.checkRounds(); err == nil {
		t.Error("no error, want the last round missed")
	}
	settings["rounds"] = int64(1) << 62
	if err := r.checkRounds(); err == nil {
		t.Error("no error, want rounds refused")
	}
}

// Two seeds with the same numbers are a copy, unless there is nothing in which they could differ.
func TestRefuseTwins(t *testing.T) {
	curve := func(losses ...float64) (rows []CurveRow) {
		for round, loss := range losses {
			rows = append(rows, CurveRow{Round: round, TestLoss: files.Some(loss), TestAcc: files.Some(0)})
		}
		return rows
	}
	for _, c := range []struct {
		name  string
		curve []CurveRow
		twins bool
	}{
		{"trained", curve(2, 1), true},
		{"diverged after a round", curve(2, 3, math.NaN()), true},
		{"nobody was there", curve(2, 2), false},
		{"diverged at once", curve(2, math.NaN()), false},
		{"infinite at once", curve(2, math.Inf(1)), false},
		{"one row", curve(2), false},
	} {
		runs := []Run{{Seed: 3, Curve: c.curve}, {Seed: 4, Curve: c.curve}}
		if bad := RefuseTwins(runs); len(bad) > 0 != c.twins || runs[0].Damaged != c.twins ||
			runs[1].Damaged != c.twins {
			t.Errorf("%s: %v, want twins: %t", c.name, bad, c.twins)
		}
	}
}
