package run

import (
	"path/filepath"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/results"
)

// A run that stops on the way is no finished run to others, is kept by whoever stops there or before, and goes on to
// the bytes of a run that never stopped.
func TestStopAt(t *testing.T) {
	whole, ses, _ := resumable(t)
	want := completed(t, whole, ses)
	rounds := whole.Settings.Rounds
	x, ses, _ := resumable(t)
	for _, stop := range []int{1, 1, 3} {
		x.StopAt = &stop
		rows, err := do(t.Context(), x, ses, silent())
		info, bad := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
		if err != nil || bad != nil || info.Status != results.RunInterrupted || info.Rounds != stop ||
			rows[len(rows)-1].Round != stop {
			t.Fatalf("stop at %d: %v; %v, %s after %d rounds, row of round %d", stop, err, bad, info.Status,
				info.Rounds, rows[len(rows)-1].Round)
		}
		if at, err := checkpoint.Rounds(x.Dir); err != nil || len(at) == 0 || at[0] != stop {
			t.Errorf("stop at %d: checkpoints of %v, %v, want one of that round", stop, at, err)
		}
	}
	for _, c := range []struct {
		stop *int
		kept bool
	}{{new(1), true}, {new(3), true}, {new(4), false}, {nil, false}} {
		x.StopAt = c.stop
		_, d, _, err := x.decide(t.Context(), ses, Keep{}, folder.Policy{}, false)
		if _, kept := d.(folder.Keep); err != nil || kept != c.kept {
			t.Errorf("want %+v: %T, %v, of a run that stopped at 3 of %d rounds", c, d, err, rounds)
		}
	}
	// Beyond its rounds, a run is complete.
	x.StopAt = new(rounds + 1)
	sameOutcome(t, "after two stops", completed(t, x, ses), want)
}
