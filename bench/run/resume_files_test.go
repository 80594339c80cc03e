//go:build unix

package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/folder"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// damaged is what has become of a checkpoint, and a part of what is said of it.
type damaged struct {
	do    func(t *testing.T, path string)
	said  string
	other bool // it is whole, and of other work
}

// replaced has something else in the place of a checkpoint.
func replaced(by func(path string) error) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		must.OK(t, os.Remove(path))
		must.OK(t, by(path))
	}
}

func edited(change func(text []byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		text := must.Get(os.ReadFile(path))(t)
		must.OK(t, os.WriteFile(path, change(text), 0o666))
	}
}

// forged is a checkpoint with other content and a checksum that is right.
func forged(
	change func(about map[string]any, tensors []safetensors.Tensor) []safetensors.Tensor,
) func(*testing.T, string) {
	return edited(func(text []byte) []byte {
		file, err := safetensors.New(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			panic(err)
		}
		var about map[string]any
		if err := json.Unmarshal([]byte(file.Metadata["rollcall"]), &about); err != nil {
			panic(err)
		}
		var tensors []safetensors.Tensor
		end := len(text)
		for _, info := range slices.Backward(file.Tensors) {
			end -= int(info.Bytes)
			tensors = append(tensors, ofBytes(info.Name, info.DType, info.Shape, text[end:][:info.Bytes]))
		}
		slices.Reverse(tensors)
		n := len(tensors) - 1
		tensors = append(change(about, tensors[:n]), tensors[n])
		metadata, err := json.Marshal(about)
		if err != nil {
			panic(err)
		}
		var out bytes.Buffer
		if err := safetensors.Write(&out, map[string]string{"rollcall": string(metadata)}, tensors); err != nil {
			panic(err)
		}
		whole := out.Bytes()[:out.Len()-sha256.Size]
		sum := sha256.Sum256(whole)
		return append(whole, sum[:]...)
	})
}

func ofBytes(name string, d safetensors.DType, shape []int, text []byte) safetensors.Tensor {
	return safetensors.Tensor{Name: name, DType: d, Shape: shape, Write: func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}}
}

// about is a forgery of one value.
func about(key string, value any) func(*testing.T, string) {
	return forged(func(about map[string]any, tensors []safetensors.Tensor) []safetensors.Tensor {
		about[key] = value
		return tensors
	})
}

// tensor is a forgery of one tensor; nil: it is gone.
func tensor(name string, by func(old safetensors.Tensor) *safetensors.Tensor) func(*testing.T, string) {
	return forged(func(_ map[string]any, tensors []safetensors.Tensor) []safetensors.Tensor {
		i := slices.IndexFunc(tensors, func(x safetensors.Tensor) bool { return strings.HasPrefix(x.Name, name) })
		if with := by(tensors[i]); with != nil {
			tensors[i] = *with
			return tensors
		}
		return slices.Delete(tensors, i, i+1)
	})
}

var damages = map[string]damaged{
	"cut":       {edited(func(text []byte) []byte { return text[:len(text)/3] }), "want", false},
	"last byte": {edited(func(text []byte) []byte { return text[:len(text)-1] }), "want", false},
	"a bit": {edited(func(text []byte) []byte {
		text[2*len(text)/3] ^= 4
		return text
	}), "its checksum is another one", false},
	"emptied":   {edited(func([]byte) []byte { return nil }), "0 bytes", false},
	"a folder":  {replaced(func(path string) error { return os.Mkdir(path, 0o777) }), "want a file", false},
	"a pipe":    {replaced(func(path string) error { return syscall.Mkfifo(path, 0o666) }), "want a file", false},
	"/dev/zero": {replaced(func(path string) error { return os.Symlink("/dev/zero", path) }), "want a file", false},
	"no target": {replaced(func(path string) error { return os.Symlink("nowhere", path) }), "no such file", false},

	"another seed":   {about("seed", 4), "seed 4, want 3", true},
	"other settings": {about("settings_hash", "0123456789"), "settings 0123456789, want", true},
	"other numbers":  {about("numerics", "cuda-sm90-tf32"), "numerics cuda-sm90-tf32, want cpu", true},
	"another revision": {
		about("revisions", results.Revisions{Method: 77}),
		"revisions of method, availability model, data, net and engine 77.0.0.0.0, want", true,
	},
	"other data":        {about("data_checksum", "sha256:0"), "data checksum sha256:0, want", true},
	"another net":       {about("params", 9), "number of parameters 9, want", true},
	"other rounds":      {about("rounds", 7), "number of rounds 7, want 6", true},
	"another round":     {about("round", 5), "of round 5, want 4 as its name says", false},
	"round -1":          {about("round", -1), "round -1 of 6", false},
	"round 10":          {about("round", 10), "round 10 of 6", false},
	"elapsed -1":        {about("elapsed_s", -1), "-1 s", false},
	"a newer schema":    {about("schema", 2), "schema 2, want 1", true},
	"more than is read": {about("more", 2), "unknown field", true},
	"elapsed no number": {about("elapsed_s", "x"), "elapsed_s", true},

	"no curve": {tensor("curve.csv", func(safetensors.Tensor) *safetensors.Tensor { return nil }), "curve.csv", false},
	"half a curve": {tensor("curve.csv", func(safetensors.Tensor) *safetensors.Tensor {
		return new(safetensors.Bytes("curve.csv", []byte("round\n1\n")))
	}), "curve.csv", false},
	"no decisions": {
		tensor("decisions", func(safetensors.Tensor) *safetensors.Tensor { return nil }), "decisions", false,
	},
	"fewer decisions": {tensor("decisions", func(safetensors.Tensor) *safetensors.Tensor {
		return new(safetensors.Float64s("decisions", []int{1, 8}, make([]float64, 8)))
	}), "1 decisions, want the decisions of 4 clients in 4 rounds", false},
	"no state": {tensor("state/", func(safetensors.Tensor) *safetensors.Tensor { return nil }), "state/", false},
	"state of another shape": {tensor("state/", func(old safetensors.Tensor) *safetensors.Tensor {
		return new(safetensors.Float32s(old.Name, []int{1, 2}, make([]float32, 2)))
	}), "state/", false},
}

// damagedRun leaves a run with checkpoints of rounds 2 and 4, and returns what comes of it undisturbed.
func damagedRun(t *testing.T) (x *Experiment, ses *Session, log *sharedLog, want map[string]string) {
	t.Helper()
	whole, ses, _ := resumable(t, "method=ca-fed", "fstar=min")
	whole.Decisions = true
	want = completed(t, whole, ses)
	x, ses, log = resumable(t, "method=ca-fed", "fstar=min")
	x.Decisions = true
	for _, round := range []int{2, 4} {
		interruptedAfter(t, x, ses, round)
	}
	return x, ses, log, want
}

// A checkpoint that is damaged, or of another run, is named with the reason, and the run goes on from the one before
// it; from its first round where that one is damaged too. It comes to the same bytes. Where both are whole and of other
// work, the run is refused.
func TestResumeDamaged(t *testing.T) {
	x, ses, log, want := damagedRun(t)
	kept := filepath.Join(t.TempDir(), "kept")
	must.OK(t, os.CopyFS(kept, os.DirFS(x.Dir)))
	read := 0
	said := func() (lines string, from int) {
		from = -1
		text := log.String()[read:]
		read += len(text)
		for line := range strings.Lines(text) {
			if strings.Contains(line, ": not used\n") {
				lines += line
			}
			if at := strings.Index(line, ": resumes from round "); at >= 0 {
				_, _ = fmt.Sscanf(line[at:], ": resumes from round %d", &from)
			}
		}
		return lines, from
	}
	said()
	for name, d := range damages {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, both %t", name, both), func(t *testing.T) {
				must.OK(t, os.RemoveAll(x.Dir))
				must.OK(t, os.CopyFS(x.Dir, os.DirFS(kept)))
				newest := filepath.Join(x.Dir, checkpoint.Name(4))
				d.do(t, newest)
				wantFrom := 2
				if both {
					d.do(t, filepath.Join(x.Dir, checkpoint.Name(2)))
					wantFrom = -1
				}
				if both && d.other {
					_, err := do(t.Context(), x, ses, silent())
					if refused, is := errors.AsType[*folder.RefusedError](err); !is ||
						!strings.Contains(refused.Why, d.said) {
						t.Errorf("%v, want it refused: %q", err, d.said)
					}
					said()
					return
				}
				got := completed(t, x, ses)
				lines, from := said()
				if from != wantFrom || !strings.Contains(lines, newest) || !strings.Contains(lines, d.said) {
					t.Errorf("went on from %d and said %q, want %d, %s and %q", from, lines, wantFrom, newest, d.said)
				}
				if n := strings.Count(lines, "\n"); n != 1 && !both || n != 2 && both {
					t.Errorf("%d lines, want one for each file:\n%s", n, lines)
				}
				if d.other { // which stays unless this run has all that it has
					delete(got, checkpoint.Name(4))
				}
				sameOutcome(t, name, got, want)
			})
		}
	}
}

// Checkpoints of later rounds that were of no use stay, and do not push out those that are written now.
func TestResumeSupersedes(t *testing.T) {
	x, ses, _, want := damagedRun(t)
	for _, round := range []int{2, 4} {
		damages["a bit"].do(t, filepath.Join(x.Dir, checkpoint.Name(round)))
	}
	interruptedAfter(t, x, ses, 1)
	if rounds, err := checkpoint.Rounds(x.Dir); err != nil || !slices.Equal(rounds, []int{4, 2, 1}) {
		t.Errorf("checkpoints of %v, %v, want round 1 and the damaged ones", rounds, err)
	}
	sameOutcome(t, "superseded", completed(t, x, ses), want)
}

// Weights that are no numbers and have a right checksum come to a run that diverged, not to a complete one.
func TestResumeNoNumbers(t *testing.T) {
	x, ses, _ := resumable(t, "method=fedavg-active")
	interruptedAfter(t, x, ses, 3)
	forged(func(_ map[string]any, tensors []safetensors.Tensor) []safetensors.Tensor {
		for i, old := range tensors {
			if old.DType != safetensors.F32 {
				continue
			}
			n := 1
			for _, size := range old.Shape {
				n *= size
			}
			tensors[i] = ofBytes(old.Name, old.DType, old.Shape, bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, n))
		}
		return tensors
	})(t, filepath.Join(x.Dir, checkpoint.Name(3)))
	if _, err := do(t.Context(), x, ses, silent()); !IsDiverged(err) {
		t.Errorf("%v, want it diverged", err)
	}
}

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
