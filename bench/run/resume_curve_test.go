//go:build unix

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/files"
)

// editCurve changes the rows of a run's curve.csv.
func editCurve(t *testing.T, x *Experiment, change func(rows []results.CurveRow) []results.CurveRow) {
	t.Helper()
	path := filepath.Join(x.Dir, results.CurveFile)
	rows := must.Get(results.ReadCurve(path))(t)
	must.OK(t, results.WriteCurve(path, change(rows)))
}

// aheadOfCheckpoint leaves a run with rows of rounds 0 … 4 and a checkpoint of round 2, as a killed one does.
func aheadOfCheckpoint(t *testing.T) (x *Experiment, l *Session, log *sharedLog, want map[string]string) {
	t.Helper()
	whole, l, _ := resumable(t)
	want = completed(t, whole, l)
	x, l, log = resumable(t)
	for _, round := range []int{2, 5} {
		interruptedAfter(t, x, l, round)
	}
	must.OK(t, os.Remove(filepath.Join(x.Dir, checkpoint.Name(5))))
	return x, l, log, want
}

// Rows that were there stay there while the run goes on, and come again equal.
func TestResumeKeepsRows(t *testing.T) {
	x, l, _, want := aheadOfCheckpoint(t)
	before, err := results.ReadCurve(filepath.Join(x.Dir, results.CurveFile))
	if err != nil || len(before) != 5 {
		t.Fatalf("%d rows, %v, want those of rounds 0 … 4", len(before), err)
	}
	rows, err := x.Do(t.Context(), l, eachRound{silent(), func(done int) {
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

// Rows that are not those that come again stop the run, with both values, as often as it is repeated; --again makes it
// anew, and another run may be aside then.
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
		for _, aside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, aside %t", name, aside), func(t *testing.T) {
				x, l, log, want := aheadOfCheckpoint(t)
				if aside {
					must.OK(t, os.MkdirAll(filepath.Join(x.Dir, asideFolder), 0o777))
				}
				editCurve(t, x, c.change)
				path := filepath.Join(x.Dir, results.CurveFile)
				for range 2 {
					_, err := x.Do(t.Context(), l, silent())
					if err == nil || !isFinal(err) || !strings.Contains(err.Error(), path+": "+c.said) ||
						!strings.Contains(err.Error(), "--again") {
						t.Errorf("%v, want %s, %q and --again, for good", err, path, c.said)
					}
				}
				x.Anew = true
				sameOutcome(t, name, completed(t, x, l), want)
				if said := strings.Contains(log.String(), c.said); said != aside {
					t.Errorf("what differs is said %t, want %t:\n%s", said, aside, log)
				}
			})
		}
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
			x, l, log, want := aheadOfCheckpoint(t)
			path := filepath.Join(x.Dir, results.CurveFile)
			must.OK(t, do(path))
			sameOutcome(t, name, completed(t, x, l), want)
			named := strings.Contains(log.String(), path+": ") && strings.Contains(log.String(), ": not gone on from\n")
			if left := name == "emptied" || name == "cut"; named != left ||
				!strings.Contains(log.String(), "goes on from round 2") {
				t.Errorf("named %t, want %t, and that it goes on from round 2:\n%s", named, left, log)
			}
		})
	}
}

// Rows of another version are kept where its checkpoint is gone on from, and come anew where there is none.
func TestResumeOtherVersion(t *testing.T) {
	for _, with := range []bool{true, false} {
		x, l, log, want := aheadOfCheckpoint(t)
		editCurve(t, x, func(rows []results.CurveRow) []results.CurveRow {
			for i := range rows {
				rows[i].Version = "v0.1"
				if !with {
					rows[i].TestAcc = files.Some(0.125) // which is not looked at
				}
			}
			return rows
		})
		said := "goes on from round 2 of rollcall v0.1"
		if with {
			about("version", "v0.1")(t, filepath.Join(x.Dir, checkpoint.Name(2)))
		} else {
			said = "of rollcall v0.1, without a checkpoint: runs anew"
			must.OK(t, os.Remove(filepath.Join(x.Dir, checkpoint.Name(2))))
		}
		sameOutcome(t, fmt.Sprint("checkpoint ", with), completed(t, x, l), want)
		if !strings.Contains(log.String(), said) {
			t.Errorf("log %q, want %q", log, said)
		}
	}
}

// A run that is made anew leaves the complete one aside until it is complete itself, wherever it is interrupted, and
// goes on with and without --again.
func TestResumeAnew(t *testing.T) {
	for _, again := range []bool{true, false} {
		x, l, log := resumable(t)
		want := completed(t, x, l)
		editCurve(t, x, func(rows []results.CurveRow) []results.CurveRow {
			rows[2].TestAcc = files.Some(0.125) // of the old run: the new one has none of it
			return rows
		})
		old := must.Get(os.ReadFile(filepath.Join(x.Dir, results.RunFile)))(t)
		x.Anew = true
		for _, round := range []int{2, 4} {
			interruptedAfter(t, x, l, round)
			x.Anew = again
			kept, err := os.ReadFile(filepath.Join(x.Dir, asideFolder, results.RunFile))
			if err != nil || string(kept) != string(old) {
				t.Errorf("after round %d: %v, %q aside, want the old run.json", round, err, kept)
			}
		}
		sameOutcome(t, fmt.Sprint("again ", again), completed(t, x, l), want)
		if !strings.Contains(log.String(), "goes on from round 4") {
			t.Errorf("again %t: log %q, want it to go on", again, log)
		}
	}
}

// Killed while the old run is moved aside, after any of its files, the new one has nothing of it.
func TestResumeHalfAside(t *testing.T) {
	first, l, _ := resumable(t)
	l.Machine.KeepCheckpoints = true
	for _, round := range []int{2, 4} {
		interruptedAfter(t, first, l, round)
	}
	completed(t, first, l)
	l.Machine.KeepCheckpoints = false
	whole, l2, _ := resumable(t)
	want := completed(t, whole, l2)
	editCurve(t, first, func(rows []results.CurveRow) []results.CurveRow {
		rows[2].TestAcc = files.Some(0.125)
		return rows
	})
	kept := filepath.Join(t.TempDir(), "kept")
	must.OK(t, os.CopyFS(kept, os.DirFS(first.Dir)))
	names, err := first.files()
	if err != nil || len(names) != 4 {
		t.Fatalf("%q, %v, want two checkpoints, the curve and run.json", names, err)
	}
	for moved := range len(names) + 1 {
		for _, again := range []bool{true, false} {
			x := *first
			x.Anew = again
			err := errors.Join(os.RemoveAll(x.Dir), os.CopyFS(x.Dir, os.DirFS(kept)),
				os.Mkdir(filepath.Join(x.Dir, movingFolder), 0o777))
			for _, name := range names[len(names)-moved:] {
				err = errors.Join(err, os.Rename(filepath.Join(x.Dir, name), filepath.Join(x.Dir, movingFolder, name)))
			}
			if err != nil {
				t.Fatal(err)
			}
			interruptedAfter(t, &x, l, 3)
			aside, err := os.ReadDir(filepath.Join(x.Dir, asideFolder))
			if err != nil || len(aside) != len(names) || x.has(movingFolder) {
				t.Errorf("%d moved: %v, %v aside, want all of the old run", moved, err, aside)
			}
			sameOutcome(t, fmt.Sprintf("%d moved, again %t", moved, again), completed(t, &x, l), want)
		}
	}
}
