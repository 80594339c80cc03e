package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"rollcall/results"
)

// A run that diverged and could not be written has failed: it is no result to keep.
func TestIsDiverged(t *testing.T) {
	diverged := error(&divergedError{errors.New("loss NaN")})
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{diverged, true},
		{fmt.Errorf("seed 3: %w", diverged), true},
		{errors.Join(nil, errors.Join(diverged)), true},
		{errors.New("no space left on device"), false},
		{errors.Join(diverged, errors.New("no space left on device")), false},
		{fmt.Errorf("seed 3: %w", errors.Join(diverged, context.Canceled)), false},
	} {
		if got := IsDiverged(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}

	faster(t)
	x, ses, _ := tinyExperiment(t, "lr=1e30", "method=mifa")
	if _, err := do(t.Context(), x, ses, eachRound{silent(), func(int) {
		obstructed(t, filepath.Join(x.Dir, results.CurveFile))
	}}); err == nil || IsDiverged(err) {
		t.Errorf("%v, want a failure", err)
	}
	info, err := results.ReadRunInfo(filepath.Join(x.Dir, results.RunFile))
	if err != nil || info.Status != results.RunFailed {
		t.Errorf("%v: %s, want failed", err, info.Status)
	}
}
