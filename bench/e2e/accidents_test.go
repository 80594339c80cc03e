//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

// accident is something that happens to a run between a command and its repetition.
type accident struct {
	name string
	of   string // pattern of the run's folder; "": accidentRun
	half bool   // the run was interrupted; otherwise it is complete
	do   func(c *corrupt)
	as   string // a variant of the repeated command, see accidentVariants

	want decision
	from int    // the round from which it is resumed; 0: accidentRound
	said string // on stderr by the repeated command
	runs int    // how many runs are refused; 0: one
}

// decision is what becomes of the run.
type decision string

const (
	kept    decision = "kept"    // as it is
	mended  decision = "mended"  // kept, but for a file beside it that is made again
	resumed decision = "resumed" // from a checkpoint
	made    decision = "made"    // from round 0
	refused decision = "refused" // and made by --replace
	inError decision = "failed"  // with an error
)

// accidentRun is the run that has most accidents: one of four of a sweep.
const accidentRun = "sweep/fedawe_*/seed-4"

// accidentRound is the round after which it was interrupted, the second time. The first time was after half of that.
const accidentRound = 4

// accidentVariants are the commands that compute other numbers for the same runs: the value of ROLLCALL_CPU, and flags.
var accidentVariants = map[string]struct{ cpu, flags string }{
	"": {}, "bf16": {flags: "--precision bf16"}, "generic": {cpu: "generic"},
}

// accidentLines returns the commands whose runs have accidents: a sweep, and runs with clients.csv, decisions.csv and a
// model.
func accidentLines(out, as string) (lines [][]string) {
	for _, line := range []string{
		"sweep --methods fedawe,mifa --data leaf --clients 4 --rounds 6 --eval-every 1 --local-steps 1 --batch 4 " +
			"--seeds 3,4",
		"run --method fedar --availability uniform --data synthetic --net lenet5 --train-size 60 --test-size 20 " +
			"--clients 5 --rounds 2 --eval-every 1 --local-steps 1 --batch 2",
		"run --method ca-fed --availability markov --data leaf --clients 4 --rounds 2 --eval-every 1 --decisions",
		"run --method mifa --data leaf --clients 4 --rounds 2 --eval-every 1 --save-model",
	} {
		line += " --device cpu --threads 1 " + accidentVariants[as].flags
		lines = append(lines, append(strings.Fields(line), "--out", out))
	}
	return lines
}

// accidentBase is what commands have made of a variant.
type accidentBase struct {
	whole string            // the folder with all runs
	half  string            // a copy in which accidentRun is interrupted
	want  map[string]string // the files of whole
}

func newAccidentBase(t *testing.T, as string) *accidentBase {
	t.Helper()
	top := t.TempDir()
	b := &accidentBase{whole: filepath.Join(top, "whole"), half: filepath.Join(top, "half")}
	lines := accidentLines(b.whole, as)
	if as != "" {
		lines = lines[:1] // variants are for the sweep alone
	}
	for _, line := range lines {
		pass(t, line...)
	}
	copyTree(t, b.whole, b.half)
	must.OK(t, os.RemoveAll(only(t, b.half, accidentRun)))
	for _, round := range []int{accidentRound / 2, accidentRound} {
		o := interrupted(t, fmt.Sprintf("seed 4: round %d/", round), accidentLines(b.half, as)[0]...)
		if o.status != statusInterrupted {
			t.Fatalf("status %d, want 130\n%s", o.status, o.stderr)
		}
	}
	only(t, b.half, accidentRun+"/"+checkpoint.Name(accidentRound))
	b.want = timelessTree(t, b.whole)
	return b
}

// After any accident the repeated command decides as it should, leaves every other run right, and destroys nothing that
// was there, see [accidentTry.nothingLost]. What it refuses, --replace makes, which destroys nothing either.
func TestAccidents(t *testing.T) {
	if testing.Short() {
		t.Skip("one process, and -short is for the race detector")
	}
	if len(accidents) < 40 {
		t.Errorf("%d accidents, want 40 at least", len(accidents))
	}
	bases := map[string]*accidentBase{}
	for as, v := range accidentVariants {
		if v.cpu != "" && !strings.Contains(pass(t, "devices").stdout, "avx2") {
			continue // this processor has one class of numbers alone
		}
		must.OK(t, os.Setenv("ROLLCALL_CPU", v.cpu))
		bases[as] = newAccidentBase(t, as)
		must.OK(t, os.Setenv("ROLLCALL_CPU", ""))
	}
	seen := map[string]bool{}
	for _, a := range accidents {
		name := map[bool]string{true: "interrupted", false: "complete"}[a.half] + ": " + a.name
		if seen[name] {
			t.Errorf("%s: twice", name)
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			b := bases[a.as]
			if b == nil {
				t.Skip("no such processor")
			}
			if v := accidentVariants[a.as]; v.cpu != "" {
				t.Setenv("ROLLCALL_CPU", v.cpu)
			} else {
				t.Parallel()
			}
			c := &corrupt{t: t, out: filepath.Join(t.TempDir(), "out"), bases: bases}
			x := &accidentTry{corrupt: c, accident: a}
			from := bases[""].whole
			if a.half {
				from = bases[""].half
			}
			copyTree(t, from, x.out)
			if x.accident.of == "" {
				x.accident.of = accidentRun
			}
			x.corrupt.of(x.accident.of)
			a.do(x.corrupt)
			x.try(b.want)
		})
	}
}

// accidentTry is one accident.
type accidentTry struct {
	*corrupt
	accident
}

// line is the command that has made the run.
func (x *accidentTry) line(as string, more ...string) []string {
	i := 0
	for k, method := range []string{"/fedar_", "/ca-fed_", "run/mifa_"} {
		if strings.Contains(x.dir, method) {
			i = 1 + k
		}
	}
	return append(accidentLines(x.out, as)[i], more...)
}

func (x *accidentTry) try(want map[string]string) {
	before := holdings(x.t, x.out)
	info := before.files[filepath.Join(x.dir, results.RunFile)]
	o := rollcall(x.t, x.line(x.as)...)
	x.nothingLost(before, o)

	status := statusOK
	if x.want == refused || x.want == inError {
		status = statusFailure
	}
	if o.status != status || !strings.Contains(o.stderr, x.said) {
		x.t.Errorf("status %d, want %d and %q in\n%s", o.status, status, x.said, o.stderr)
	}
	x.decided(o, info)
	if x.want == refused {
		sums := ": 1 run refused, whose folders stay as they are: "
		if x.runs > 0 {
			sums = fmt.Sprintf(": %d runs refused, whose folders stay as they are: ", x.runs)
		}
		if !strings.Contains(o.stderr, sums) {
			x.t.Errorf("want %q in\n%s", sums, o.stderr)
		}
		if x.runs == 0 { // the other runs are as they should be, and the summary has them
			x.right(want, func(name string) bool {
				is, _ := filepath.Match(accidentRun+"/*", name)
				return !is && filepath.Base(name) != results.SummaryFile
			})
			row := attackRow(x.t, x.out, "fedawe", "test_acc")
			if row["n"] != "1" || row["status"] != string(results.CellRefused) ||
				!strings.Contains(row["error"], x.said) {
				x.t.Errorf("%v, want one seed, and %q for the other", row, x.said)
			}
		}
		o = pass(x.t, x.line(x.as, "--replace")...)
		x.nothingLost(before, o)
	}
	if x.want != inError {
		x.right(want, func(string) bool { return true })
	}
	if x.as == "" {
		return
	}
	// The first command finds its own work again, of which nothing has been lost.
	must.OK(x.t, os.Setenv("ROLLCALL_CPU", ""))
	replaced := holdings(x.t, x.out)
	o = pass(x.t, x.line("")...)
	x.nothingLost(before, o)
	x.nothingLost(replaced, o)
	if !strings.Contains(o.stderr, ": moved back from .old") || len(begun(o.stderr)) > 0 ||
		x.half && !strings.Contains(o.stderr, x.goesOn()) {
		x.t.Errorf("the first command again: want everything taken back:\n%s", o.stderr)
	}
	x.right(x.bases[""].want, func(string) bool { return true })
}

func (x *accidentTry) goesOn() string {
	from := x.accident.from
	if from == 0 {
		from = accidentRound
	}
	return fmt.Sprintf("%s: resumes from round %d\n", x.dir, from)
}

// decided compares what the log says with the decision.
func (x *accidentTry) decided(o outcome, info string) {
	isMade := slices.Contains(begun(o.stderr), "fedawe leaf stationary seed 4")
	got := kept
	switch {
	case strings.Contains(o.stderr, " refused, whose folders"):
		got = refused
	case strings.Contains(o.stderr, "trained again"):
		got = mended
	case strings.Contains(o.stderr, x.goesOn()):
		got = resumed
	case isMade:
		got = made
	case o.status != statusOK:
		got = inError
	}
	if got != x.want {
		x.t.Errorf("%s, want %s:\n%s", got, x.want, o.stderr)
	}
	if now := holdings(x.t, x.out).files[filepath.Join(x.dir, results.RunFile)]; (x.want == kept || x.want == mended) &&
		x.said == "" && info != "" && now != info {
		x.t.Errorf("run.json is\n%s\nwant it as it was:\n%s", now, info)
	}
}

// right compares files with those of an undisturbed command. Work that was moved aside, and files of the accident,
// are no part of a run.
func (x *accidentTry) right(want map[string]string, these func(name string) bool) {
	for name, text := range want {
		if !these(name) {
			continue
		}
		path := filepath.Join(x.out, name)
		got := ""
		switch info, err := os.Lstat(path); {
		case err != nil || !info.Mode().IsRegular():
		case filepath.Base(name) == results.CurveFile:
			got = timeless(x.t, path)
		default:
			got = timelessText(name, contents(x.t, path))
		}
		if got != text {
			x.t.Errorf("%s:\n%q\nwant\n%q", name, got, text)
		}
	}
}

// held is everything below a folder.
type held struct {
	files map[string]string // by path: the content of a file
	kinds map[string]string // by path: what else there is, and its name
}

// holdings reads everything below a folder. It follows no link, and reads no pipe.
func holdings(t *testing.T, out string) *held {
	t.Helper()
	h := &held{map[string]string{}, map[string]string{}}
	must.OK(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch kind := d.Type(); {
		case kind.IsRegular():
			h.files[path] = contents(t, path)
		case !d.IsDir():
			h.kinds[path] = kind.String() + " " + d.Name()
		}
		return nil
	}))
	return h
}

// nothingLost checks that everything that was there is there, whatever its name or folder now, but for the following:
// checkpoints of a run that is complete now, texts of locks, files of a table, run.json of a run that was interrupted
// or, times aside, of one that is there now, and a curve.csv that is the beginning of one that is there now, likewise.
func (x *accidentTry) nothingLost(before *held, o outcome) {
	x.t.Helper()
	after := holdings(x.t, x.out)
	there := map[[sha256.Size]byte]bool{}
	for _, text := range after.files {
		there[sha256.Sum256([]byte(text))] = true
	}
	kinds := map[string]bool{}
	for _, kind := range after.kinds {
		kinds[kind] = true
	}
	for path, kind := range before.kinds {
		if !kinds[kind] {
			x.t.Errorf("%s, %s, is gone:\n%s", path, kind, o.stderr)
		}
	}
	for path, text := range before.files {
		if !there[sha256.Sum256([]byte(text))] && !x.mayGo(path, text, after) {
			x.t.Errorf("%s is gone: %.300q\n%s", path, text, o.stderr)
		}
	}
}

// mayGo says whether the content of a file may be gone.
func (x *accidentTry) mayGo(path, text string, after *held) bool {
	name := filepath.Base(path)
	is, _ := filepath.Match("checkpoint-*.safetensors", name)
	switch {
	case name == lock.File || filepath.Dir(filepath.Dir(path)) == x.out:
		return true
	case name == results.RunFile:
		again := false // by --replace, times aside
		for other, now := range after.files {
			again = again || filepath.Base(other) == name && timelessText(name, now) == timelessText(name, text)
		}
		return again || strings.Contains(text, `"status": "interrupted"`)
	case name == results.CurveFile:
		began := timelessRows(text)
		for other, now := range after.files {
			if filepath.Base(other) == name && began != "" && strings.HasPrefix(timelessRows(now), began) {
				return true
			}
		}
	case is:
		info, err := results.ReadRunInfo(filepath.Join(x.dir, results.RunFile))
		temp := filepath.Join(x.t.TempDir(), name)
		must.OK(x.t, os.WriteFile(temp, []byte(text), 0o666))
		about, broken := checkpoint.Head(temp)
		return err == nil && info.Status == results.RunComplete && (broken != nil || about.Seed == info.Seed &&
			about.SettingsHash == info.SettingsHash && about.Numerics == info.Numerics &&
			about.Revisions == info.Revisions)
	}
	return false
}

// timelessRows returns the rows of a curve without their times; "" if it is none.
func timelessRows(text string) string {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return ""
	}
	at := slices.Index(records[0], "elapsed_s")
	if at < 0 {
		return ""
	}
	var b strings.Builder
	for _, r := range records {
		b.WriteString(strings.Join(slices.Delete(r, at, at+1), ",") + "\n")
	}
	return b.String()
}
