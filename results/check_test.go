package results

import "testing"

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
