//go:build unix

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// editCurve changes the rows of a run's curve.csv.
func editCurve(t *testing.T, x *Experiment, change func(rows []results.CurveRow) []results.CurveRow) {
	t.Helper()
	path := filepath.Join(x.Dir, results.CurveFile)
	rows := must.Get(results.ReadCurve(path))(t)
	must.OK(t, results.WriteCurve(path, change(rows)))
}

// aheadOfCheckpoint leaves a run with rows of rounds 0 … 4 and a checkpoint of round 2, as a killed one does.
func aheadOfCheckpoint(t *testing.T) (x *Experiment, ses *Session, log *sharedLog, want map[string]string) {
	t.Helper()
	whole, ses, _ := resumable(t)
	want = completed(t, whole, ses)
	x, ses, log = resumable(t)
	for _, round := range []int{2, 5} {
		interruptedAfter(t, x, ses, round)
	}
	must.OK(t, os.Remove(filepath.Join(x.Dir, checkpoint.Name(5))))
	must.OK(t, os.Remove(filepath.Join(x.Dir, results.RunFile)))
	return x, ses, log, want
}

// Rows that were there stay there while the run goes on, and come again equal.
func TestResumeKeepsRows(t *testing.T) {
	x, ses, _, want := aheadOfCheckpoint(t)
	before, err := results.ReadCurve(filepath.Join(x.Dir, results.CurveFile))
	if err != nil || len(before) != 5 {
		t.Fatalf("%d rows, %v, want those of rounds 0 … 4", len(before), err)
	}
	rows, err := do(t.Context(), x, ses, eachRound{silent(), func(done int) {
		now, err := results.ReadCurve(filepath.Join(x.Dir, results.CurveFile))
		if err != nil || len(now) < 5 || !slices.Equal(now[:5], before) {
			t.Errorf("round %d: %d rows, %v, want the 5 that were there", done, len(now), err)
		}
	}})
	if err != nil || !slices.Equal(rows[:5], before) {
		t.Errorf("%v: %v, want the rows that were there, with their times: %v", err, rows[:min(5, len(rows))], before)
	}
	sameOutcome(t, "ahead", outcomeOf(t, x.Dir), want)
}

// A run whose rows are not those that come again is refused, with both values, as often as it is repeated; --replace
// makes it again, and moves the rows aside.
func TestResumeOtherRows(t *testing.T) {
	accuracy := func(round int) func([]results.CurveRow) []results.CurveRow {
		return func(rows []results.CurveRow) []results.CurveRow {
			rows[round].TestAcc = files.Some(0.125)
			return rows
		}
	}
	for name, c := range map[string]struct {
		change func(rows []results.CurveRow) []results.CurveRow
		said   string
	}{
		"in the checkpoint": {accuracy(1), "round 1: test_acc 0.125, and "},
		"after it":          {accuracy(4), "round 4: test_acc 0.125, and "},
		"a round": {func(rows []results.CurveRow) []results.CurveRow {
			rows[3].Round = 7
			return rows
		}, "row 4: round 7, want 3"},
		"a row is gone": {
			func(rows []results.CurveRow) []results.CurveRow { return rows[1:] },
			"row 1: round 1, want 0",
		},
		"a row more": {func(rows []results.CurveRow) []results.CurveRow {
			for len(rows) < 8 {
				rows = append(rows, rows[4])
				rows[len(rows)-1].Round = len(rows) - 1
			}
			return rows
		}, "8 rows, want 7 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			x, ses, _, want := aheadOfCheckpoint(t)
			editCurve(t, x, c.change)
			for range 2 {
				_, err := do(t.Context(), x, ses, silent())
				if refused, is := errors.AsType[*folder.RefusedError](err); !is || !IsFinal(err) ||
					!strings.Contains(refused.Why, results.CurveFile+": "+c.said) {
					t.Errorf("%v, want it refused for good: %q", err, c.said)
				}
			}
			edited := must.Get(os.ReadFile(filepath.Join(x.Dir, results.CurveFile)))(t)
			must.Get(x.Do(t.Context(), ses, Keep{Replace: true}, silent()))(t)
			sameOutcome(t, name, outcomeOf(t, x.Dir), want)
			aside, err := os.ReadFile(filepath.Join(x.Dir, ".old", results.CurveFile))
			if err != nil || !bytes.Equal(aside, edited) {
				t.Errorf("aside: %v, %q, want the edited curve", err, aside)
			}
		})
	}
}

// What an earlier process has left, and has not come again, is not vouched for by the next one that is interrupted.
func TestVouchedRows(t *testing.T) {
	x, ses, _, _ := aheadOfCheckpoint(t)
	editCurve(t, x, func(rows []results.CurveRow) []results.CurveRow {
		rows[4].TestAcc = files.Some(0.125)
		return rows
	})
	interruptedAfter(t, x, ses, 3)
	run, bad := results.ReadRunFolder(x.Dir)
	if vouched := run.Verified(); bad != nil || len(run.Curve) != 5 || len(vouched) != 3 && len(vouched) != 4 {
		t.Errorf("%d rows, vouched for %d, %v, want 5, of which those up to round 3 or the one before",
			len(run.Curve), len(vouched), bad)
	}
	_, err := do(t.Context(), x, ses, silent())
	if refused, is := errors.AsType[*folder.RefusedError](err); !is ||
		!strings.Contains(refused.Why, "round 4: test_acc 0.125, and ") {
		t.Errorf("%v, want the edited row refused, with both values", err)
	}
}

// A curve that is gone, or none, costs nothing where there is a checkpoint.
func TestResumeNoCurve(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"cut": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, text[:len(text)/2], 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, ses, log, want := aheadOfCheckpoint(t)
			path := filepath.Join(x.Dir, results.CurveFile)
			must.OK(t, do(path))
			sameOutcome(t, name, completed(t, x, ses), want)
			if !strings.Contains(log.String(), "resumes from round 2") {
				t.Errorf("want that it resumes from round 2:\n%s", log)
			}
			_, err := os.Stat(filepath.Join(x.Dir, ".old", results.CurveFile))
			if aside := err == nil; aside != (name != "removed") {
				t.Errorf("aside: %v, want what cannot be read", err)
			}
		})
	}
}

// Rows of another version must come again, with its checkpoint or without.
func TestResumeOtherVersion(t *testing.T) {
	for _, with := range []bool{true, false} {
		x, ses, log, want := aheadOfCheckpoint(t)
		editCurve(t, x, func(rows []results.CurveRow) []results.CurveRow {
			for i := range rows {
				rows[i].Version = "v0.1"
			}
			return rows
		})
		if with {
			about("version", "v0.1")(t, filepath.Join(x.Dir, checkpoint.Name(2)))
		} else {
			must.OK(t, os.Remove(filepath.Join(x.Dir, checkpoint.Name(2))))
		}
		sameOutcome(t, fmt.Sprint("checkpoint ", with), completed(t, x, ses), want)
		if said := strings.Contains(log.String(), "resumes from round 2 of rollcall v0.1"); said != with {
			t.Errorf("log %q, want that it goes on from the checkpoint: %t", log, with)
		}
	}
}

// A run that is made again leaves the complete one aside until it is complete itself and has all that is there,
// wherever it is interrupted, and goes on with and without --again.
func TestAgain(t *testing.T) {
	for _, again := range []bool{true, false} {
		for _, edited := range []bool{false, true} {
			x, ses, log := resumable(t)
			want := completed(t, x, ses)
			if edited {
				editCurve(t, x, func(rows []results.CurveRow) []results.CurveRow {
					rows[2].TestAcc = files.Some(0.125) // of the old run: the new one has none of it
					return rows
				})
			}
			old := must.Get(os.ReadFile(filepath.Join(x.Dir, results.RunFile)))(t)
			keep := Keep{Again: true}
			for _, round := range []int{2, 4} {
				interruptedAt(t, x, ses, keep, round)
				keep.Again = again
				kept, err := os.ReadFile(filepath.Join(x.Dir, ".old", results.RunFile))
				if err != nil || string(kept) != string(old) {
					t.Errorf("after round %d: %v, %q aside, want the old run.json", round, err, kept)
				}
			}
			x.Was = folder.StampOf(x.Dir)
			must.Get(x.Do(t.Context(), ses, keep, silent()))(t)
			sameOutcome(t, fmt.Sprint("again ", again), outcomeOf(t, x.Dir), want)
			if !strings.Contains(log.String(), "resumes from round 4") {
				t.Errorf("again %t: log %q, want it to go on", again, log)
			}
			if _, err := os.Stat(filepath.Join(x.Dir, ".old")); (err == nil) != edited {
				t.Errorf("edited %t: aside %v, want the old run gone unless it has other rows", edited, err)
			}
		}
	}
}

// Killed while the old run is moved aside, after any of its files: with --again the run is made again, and without it
// the old one is taken back.
func TestHalfAside(t *testing.T) {
	first, ses, _ := resumable(t)
	ses.Machine.KeepCheckpoints = true
	for _, round := range []int{2, 4} {
		interruptedAfter(t, first, ses, round)
	}
	want := completed(t, first, ses)
	ses.Machine.KeepCheckpoints = false
	kept := filepath.Join(t.TempDir(), "kept")
	must.OK(t, os.CopyFS(kept, os.DirFS(first.Dir)))
	names := []string{checkpoint.Name(2), checkpoint.Name(4), results.CurveFile, results.RunFile}
	for moved := range len(names) + 1 {
		for _, again := range []bool{true, false} {
			x := *first
			moving := filepath.Join(x.Dir, ".old-moving")
			err := errors.Join(os.RemoveAll(x.Dir), os.CopyFS(x.Dir, os.DirFS(kept)), os.Mkdir(moving, 0o777))
			for _, name := range names[len(names)-moved:] {
				err = errors.Join(err, os.Rename(filepath.Join(x.Dir, name), filepath.Join(moving, name)))
			}
			must.OK(t, err)
			x.Was = folder.StampOf(x.Dir)
			m := must.Get(x.Do(t.Context(), ses, Keep{Again: again}, silent()))(t)
			if m.Kept == again {
				t.Errorf("%d moved, again %t: kept %t, want the other", moved, again, m.Kept)
			}
			got := outcomeOf(t, x.Dir)
			for _, name := range names[:2] { // which are kept with --keep-checkpoints, and tidied away without
				delete(want, name)
			}
			sameOutcome(t, fmt.Sprintf("%d moved, again %t", moved, again), got, want)
			if entries := must.Get(os.ReadDir(x.Dir))(t); len(entries) != 3 {
				t.Errorf("%d moved, again %t: %v, want the run and its lock alone", moved, again, entries)
			}
		}
	}
}
