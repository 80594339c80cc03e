package run

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/must"
)

// unlike are the settings whose second value makes no other curve, and why.
var unlike = map[string]string{
	"trace-sample":      "of a file of four devices it takes the four; see TestSample in package availability",
	"eval-train-rounds": "the run with more evaluations is taken, see TestTrainRounds",
}

// Every setting is of use: a run with another value of it has another curve.
func TestEverySettingMatters(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred runs are not for -short")
	}
	files := t.TempDir()
	settingstest.WriteFiles(t, files)
	saveWeights(t, filepath.Join(files, "W"), "lenet5")
	session := &Session{
		Machine: Machine{Device: "cpu", Threads: runtime.GOMAXPROCS(0), Out: t.TempDir()}, Stderr: io.Discard,
	}
	defer session.Close() // the runs' errors are looked at
	curveOf := func(given map[string]string) (string, error) {
		return tinyCurve(t.Context(), session, given, files, 3)
	}
	for _, r := range settings.Rows() {
		t.Run(r.Name, func(t *testing.T) {
			if why, ok := unlike[r.Name]; ok {
				t.Skip(why)
			}
			base := settingstest.Context(&r)
			first := must.Get(curveOf(base))(t)
			var tried []string
			for _, value := range settingstest.SecondValues(&r, base) {
				base[r.Name] = value
				second, err := curveOf(base)
				if err != nil {
					t.Fatalf("--%s %s: %v", r.Name, value, err)
				}
				if second != first {
					return
				}
				tried = append(tried, value)
			}
			t.Errorf("--%s %s: the same curve as without it, want another one", r.Name, strings.Join(tried, ", "))
		})
	}
}

// tinyCurve trains a run of seconds and returns its curve as text.
func tinyCurve(
	ctx context.Context, ses *Session, more map[string]string, files string, seed uint32,
) (string, error) {
	s, err := settings.Resolve(settingstest.Small(more, files))
	if err != nil {
		return "", err
	}
	x := Experiment{Table: "run", Settings: s, Seed: seed, Dir: Folder(ses.Machine.Out, "run", s, seed)}
	rows, err := do(ctx, &x, ses, progress.New(io.Discard).Run("test", progress.Work{}))
	var curve strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&curve, r.Round, r.Active, r.LR, r.TrainLoss, r.TrainAcc, r.TestLoss, r.TestAcc)
	}
	return curve.String(), err
}
