package e2e

import (
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/lock"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// fate is what becomes of a damaged run: what the command does that made it, when it is repeated.
type fate string

const (
	kept           fate = "kept"                    // as it is
	mended         fate = "mended"                  // kept, but for a file beside it that is made again
	resumed        fate = "resumed from round 4"    // the newest checkpoint
	resumedEarlier fate = "resumed from round 2"    // the one before
	made           fate = "made from round 0"       // as if there was nothing
	refused        fate = "refused"                 // and made by --replace
	inError        fate = "left alone, in an error" // status 1

	// Of a run that was complete the commands that read results are tried as well. These say what they do.

	// unsound: verify names the file, list and report end with 1 and the run is in no mean, merge and diff do nothing.
	// It is refused.
	unsound fate = "unsound"
	// twin is unsound, and two seeds have the same numbers, which the repeated command says.
	twin fate = "twin"
	// unverified is a run of schema 1: verify ends with 1, no mean takes it with others, and it is refused.
	unverified fate = "unverified"
	// unfinished is no result: it is in no mean, and is made again.
	unfinished fate = "unfinished"
	// apart is a run that is whole and unlike the others of its cell: its mean is its own, and it is refused. One of
	// other data is not, which is an error, and is made by --again.
	apart       fate = "apart"
	ofOtherData fate = "of other data"
	// besides is a sound run that has written a file that is not as it was: verify, list and report name it, merge does
	// nothing, and the file is mended.
	besides fate = "a file besides is not as it was"
	// stray is a sound run with a file that it has not written: it is named, and does no harm. The run is kept.
	stray fate = "a stray file"
	// harmless changes nothing: the run is kept.
	harmless fate = "harmless"
)

// repeated is what the command does that made the run.
func (f fate) repeated() fate {
	switch f {
	case unsound, unverified, apart:
		return refused
	case twin, ofOtherData:
		return inError
	case unfinished:
		return made
	case besides:
		return mended
	case stray, harmless:
		return kept
	default:
		return f
	}
}

func (f fate) is(any ...fate) bool { return slices.Contains(any, f) }

// Folders of runs: the one that has most damages, one of four of a sweep; the other seed of its cell; and runs with
// files beside the curve.
const (
	damagedRun   = "sweep/fedawe_*/seed-4"
	seed3        = "sweep/fedawe_*/seed-3"
	fedarRun     = "run/fedar_*/seed-3"
	decisionsRun = "run/ca-fed_*/seed-3"
	modelRun     = "run/mifa_*/seed-3"
	mifa4        = "sweep/mifa_*/seed-4" // the same seed of another cell
)

// damageVariants are the commands that compute other numbers for the same runs: the value of ROLLCALL_CPU, and flags.
var damageVariants = map[string]struct{ cpu, flags, numerics string }{
	"": {}, "bf16": {flags: "--precision bf16", numerics: "cpu-bf16"},
	"generic": {cpu: "generic", numerics: "cpu-generic-fp32"},
}

// damageLines returns the commands whose runs are damaged: a sweep, and runs with clients.csv, decisions.csv and a
// model.
func damageLines(out, variant string) (lines [][]string) {
	for _, line := range []string{
		"sweep --methods fedawe,mifa --data leaf --clients 4 --rounds 6 --eval-every 1 --local-steps 1 --batch 4 " +
			"--seeds 3,4",
		"run --method fedar --availability uniform --data synthetic --net lenet5 --train-size 60 --test-size 20 " +
			"--clients 5 --rounds 2 --eval-every 1 --local-steps 1 --batch 2",
		"run --method ca-fed --availability markov --data leaf --clients 4 --rounds 2 --eval-every 1 --decisions",
		"run --method mifa --data leaf --clients 4 --rounds 2 --eval-every 1 --save-model",
	} {
		line += " --device cpu " + damageVariants[variant].flags
		lines = append(lines, append(strings.Fields(line), "--out", out))
	}
	return lines
}

// damageBase is what commands have made of a variant.
type damageBase struct {
	whole string            // the folder with all runs
	half  string            // a copy in which damagedRun was interrupted, after rounds 2 and 4
	want  map[string]string // the files of whole
}

func newDamageBase(t *testing.T, variant string) *damageBase {
	t.Helper()
	top := t.TempDir()
	b := &damageBase{whole: filepath.Join(top, "whole"), half: filepath.Join(top, "half")}
	lines := damageLines(b.whole, variant)
	if variant != "" {
		lines = lines[:1] // variants are for the sweep alone
	}
	for _, line := range lines {
		pass(t, line...)
	}
	copyTree(t, b.whole, b.half)
	must.OK(t, os.RemoveAll(only(t, b.half, damagedRun)))
	for _, round := range []string{"2", "4"} {
		interrupt(t, "seed 4: round "+round+"/", damageLines(b.half, variant)[0]...)
	}
	only(t, b.half, damagedRun+"/"+checkpoint.Name(4))
	b.want = timelessTree(t, b.whole)
	return b
}

type damageTry struct {
	*damaged
	damage
	interrupted bool
	variant     string // of the repeated command
	refused     int    // runs, if it is refused
	report      bool   // try report too, once for each fate
}

func damageTries() (all []damageTry) {
	for _, finished := range []bool{true, false} {
		list := map[bool][]damage{true: slices.Concat(ofFinished, impossibleCells()), false: ofInterrupted}[finished]
		for _, d := range slices.Concat(list, spoiltTexts(finished), irregularFiles(finished)) {
			all = append(all, damageTry{damage: d, interrupted: !finished, refused: 1})
		}
	}
	for _, d := range ofSeveral {
		all = append(all, damageTry{damage: d, refused: 2})
	}
	for variant, v := range damageVariants {
		if variant == "" {
			continue
		}
		says := "numerics cpu-fp32, want " + v.numerics
		for _, x := range []damageTry{
			{damage: damage{"nothing", nothing, refused, says}},
			{damage: damage{"nothing", nothing, refused, says + "; 4 rounds, "}, interrupted: true},
			{damage: damage{"killed", killed, refused, says + "; 4 rounds, "}, interrupted: true},
			{damage: damage{
				"a checkpoint alone", gone(results.RunFile, results.CurveFile), refused, says + "; 4 rounds, ",
			}, interrupted: true},
		} {
			x.variant, x.refused, x.name = variant, 4, x.name+", repeated in "+variant
			all = append(all, x)
		}
	}
	return all
}

// Every damage to a run's files is named by the commands that read results, and keeps the run out of every mean. The
// repeated command decides as it should, leaves every other run right, and destroys nothing that was there, see
// [damageTry.nothingLost]. What it refuses, --replace makes, which destroys nothing either.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("one process, and -short is for the race detector")
	}
	bases := map[string]*damageBase{}
	for variant, v := range damageVariants {
		if v.cpu != "" && !strings.Contains(pass(t, "devices").stdout, "avx2") {
			continue // this processor has one class of numbers alone
		}
		must.OK(t, os.Setenv("ROLLCALL_CPU", v.cpu))
		bases[variant] = newDamageBase(t, variant)
		must.OK(t, os.Setenv("ROLLCALL_CPU", ""))
	}
	seen, reported := map[string]bool{}, map[fate]bool{}
	for _, x := range damageTries() {
		name := map[bool]string{true: "interrupted", false: "finished"}[x.interrupted] + "/" + x.name
		if seen[name] {
			t.Errorf("%s: twice", name)
		}
		seen[name] = true
		x.report = longtest.On() || !reported[x.want] // drawing pictures is what takes the time
		reported[x.want] = true
		t.Run(name, func(t *testing.T) {
			b := bases[x.variant]
			if b == nil {
				t.Skip("no such processor")
			}
			if v := damageVariants[x.variant]; v.cpu != "" {
				t.Setenv("ROLLCALL_CPU", v.cpu)
			} else {
				t.Parallel()
			}
			x.damaged = &damaged{T: t, out: filepath.Join(t.TempDir(), "out"), bases: bases}
			base := bases[""].whole
			if x.interrupted {
				base = bases[""].half
			}
			copyTree(t, base, x.out)
			x.dir = only(t, x.out, damagedRun)
			x.do(x.damaged)
			if x.want.repeated() != x.want { // it says what the commands do that read results
				x.read(base)
			}
			x.repeat(b.want)
		})
	}
}

// read holds the commands that read results to what has to come of a damage.
func (x *damageTry) read(base string) {
	failsIf := func(is bool) int { return map[bool]int{true: statusFailure}[is] }
	try := func(status int, args ...string) outcome {
		o := rollcall(x.T, args...)
		if o.status != status {
			x.Errorf("%q: status %d, want %d\n%s%s", args, o.status, status, o.stdout, o.stderr)
		}
		return o
	}
	sound := x.want.is(besides, stray, harmless)
	named := x.want.is(unsound, twin, besides, stray)
	verify := try(failsIf(named || x.want == unverified), "results", "verify", x.out)
	for _, text := range []string{x.dir, x.says} {
		if verify.status != statusOK && !strings.Contains(verify.stderr, text) {
			x.Errorf("verify: %q, want %q in it", verify.stderr, text)
		}
	}

	list := try(failsIf(named), "results", "list", "--format", "csv", x.out)
	if named && (!strings.Contains(list.stderr, x.dir) || !strings.Contains(list.stderr, "the rest is done")) {
		x.Errorf("list: %q, want the run named, and the rest done", list.stderr)
	}
	method, _, _ := strings.Cut(filepath.Base(filepath.Dir(x.dir)), "_")
	seeds := "3 4"
	if !x.ofSweep() {
		seeds = "3"
	}
	_, rows := table(x.T, list.stdout)
	complete := slices.ContainsFunc(rows, func(r map[string]string) bool {
		return r["method"] == method && r["status"] == "complete" && r["seeds"] == seeds && r["mark"] == ""
	})
	if complete != sound {
		x.Errorf("list: the cell is complete: %t, want %t:\n%s", complete, sound, list.stdout)
	}

	into := filepath.Join(filepath.Dir(x.out), "merged")
	merge := try(failsIf(named && x.want != stray), "results", "merge", x.out, "--out", into)
	if _, err := os.Lstat(into); (merge.status == statusOK) == errors.Is(err, fs.ErrNotExist) {
		x.Errorf("merge: status %d, %v, want nothing written if not 0\n%s", merge.status, err, merge.stderr)
	}
	// Seeds that are not alike are not compared unasked.
	diff := try(failsIf(!x.want.is(unfinished, harmless)), "results", "diff", base, x.out)
	if (diff.status != statusOK) != (diff.stdout == "") {
		x.Errorf("diff: status %d, %q, want no word on stdout if not 0", diff.status, diff.stdout)
	}
	if x.ofSweep() && x.want.is(unsound, stray, harmless) {
		try(failsIf(named), "results", "export", "sweep", x.out)
		try(failsIf(named), "results", "show", filepath.Dir(x.dir))
		try(failsIf(named), "results", "curves", x.out)
	}
	if !x.report {
		return
	}

	to := filepath.Join(filepath.Dir(x.out), "report")
	try(failsIf(named), "report", filepath.Dir(filepath.Dir(x.dir)), "--to", to)
	n, all := "0", fmt.Sprint(len(strings.Fields(seeds)))
	for _, path := range must.Get(filepath.Glob(filepath.Join(to, "*", "curves-*.csv")))(x) {
		_, rows := table(x.T, contents(x.T, path))
		for _, r := range rows {
			if r["method"] == method {
				n = max(n, r["n"])
			}
		}
	}
	if (n == all) != sound {
		x.Errorf("report: a mean over %s runs, of %s that there are, want them all: %t", n, all, sound)
	}
}

func (x *damageTry) ofSweep() bool {
	return filepath.Base(filepath.Dir(filepath.Dir(x.dir))) == "sweep"
}

// line is the command that has made the run.
func (x *damageTry) line(variant string, more ...string) []string {
	i := 0
	for k, run := range []string{damagedRun, fedarRun, decisionsRun, modelRun} {
		if is, _ := filepath.Match(filepath.Join(x.out, filepath.Dir(run)), filepath.Dir(x.dir)); is {
			i = k
		}
	}
	return append(damageLines(x.out, variant)[i], more...)
}

// repeat holds the command that made the run to what has to come of a damage.
func (x *damageTry) repeat(want map[string]string) {
	before := holdings(x.T, x.out)
	o := rollcall(x.T, x.line(x.variant)...)
	x.nothingLost(before, o)
	x.decided(o, before.files[x.path(results.RunFile)])
	switch x.want.repeated() {
	case inError:
		if x.want != ofOtherData {
			return
		}
		o = pass(x.T, x.line(x.variant, "--again")...)
		x.nothingLost(before, o)
	case refused:
		sums := fmt.Sprintf(": %d runs refused, whose folders stay as they are: ", x.refused)
		if x.refused == 1 {
			sums = ": 1 run refused, whose folders stay as they are: "
			row := summaryRow(x.T, x.out, "fedawe", "test_acc")
			if row["n"] != "1" || row["status"] != string(results.CellRefused) ||
				!strings.Contains(row["error"], x.says) {
				x.Errorf("%v, want one seed, and %q for the other", row, x.says)
			}
			x.same(want, func(name string) bool { // the other runs are as they should be
				is, _ := filepath.Match(damagedRun+"/*", name)
				return !is && filepath.Base(name) != results.SummaryFile
			})
		}
		if !strings.Contains(o.stderr, sums+"--replace moves") {
			x.Errorf("want %q and --replace in\n%s", sums, o.stderr)
		}
		o = pass(x.T, x.line(x.variant, "--replace")...)
		x.nothingLost(before, o)
	}
	x.right(before, want)
	if x.variant == "" {
		return
	}
	// The first command finds its own work again, of which nothing has been lost.
	must.OK(x, os.Setenv("ROLLCALL_CPU", ""))
	replaced := holdings(x.T, x.out)
	o = pass(x.T, x.line("")...)
	x.nothingLost(before, o)
	x.nothingLost(replaced, o)
	if !strings.Contains(o.stderr, ": moved back from .old") || len(begun(o.stderr)) > 0 ||
		x.interrupted && !strings.Contains(o.stderr, x.dir+": resumes from round 4\n") {
		x.Errorf("the first command again: want everything taken back:\n%s", o.stderr)
	}
	x.right(before, x.bases[""].want)
	must.OK(x, os.Setenv("ROLLCALL_CPU", damageVariants[x.variant].cpu))
	if o = pass(x.T, x.line(x.variant)...); len(begun(o.stderr)) > 0 || strings.Contains(o.stderr, "resumes from") {
		x.Errorf("and the second again: want everything kept:\n%s", o.stderr)
	}
	x.right(before, want)
}

// decided compares what the log says with the fate.
func (x *damageTry) decided(o outcome, info string) {
	want := x.want.repeated()
	got := kept
	switch from := regexp.MustCompile(`: resumes from (round \d)`).FindStringSubmatch(o.stderr); {
	case strings.Contains(o.stderr, " refused, whose folders"):
		got = refused
	case strings.Contains(o.stderr, "trained again"):
		got = mended
	case from != nil:
		got = "resumed from " + fate(from[1])
	case slices.Contains(begun(o.stderr), "fedawe leaf stationary seed 4"):
		got = made
	case o.status != statusOK:
		got = inError
	}
	status := map[bool]int{true: statusFailure}[want.is(refused, inError)]
	if got != want || o.status != status {
		x.Errorf("%s, status %d, want %s, %d:\n%s", got, o.status, want, status, o.stderr)
	}
	if !x.want.is(besides, stray) && !strings.Contains(o.stderr, x.says) {
		x.Errorf("want %q in\n%s", x.says, o.stderr)
	}
	if now := holdings(x.T, x.out).files[x.path(results.RunFile)]; want.is(kept, mended) && info != "" &&
		!strings.Contains(o.stderr, "moved back") && now != info {
		x.Errorf("run.json is\n%s\nwant it as it was:\n%s", now, info)
	}
}

// right compares files with those of an undisturbed command. Besides there is nothing but what was there before, work
// that is aside, locks, and the command lines.
func (x *damageTry) right(before *held, want map[string]string) {
	x.Helper()
	was := before.sums()
	for path, text := range holdings(x.T, x.out).files {
		name := must.Get(filepath.Rel(x.out, path))(x)
		if _, ok := want[name]; !ok && !was[sha256.Sum256([]byte(text))] && !strings.Contains(name, "/.old") &&
			!slices.Contains([]string{lock.File, results.CommandFile}, filepath.Base(name)) {
			x.Errorf("%s is left over", name)
		}
	}
	x.same(want, func(string) bool { return true })
}

// same compares files with those of an undisturbed command.
func (x *damageTry) same(want map[string]string, these func(name string) bool) {
	x.Helper()
	for name, text := range want {
		path := filepath.Join(x.out, name)
		if !these(name) || x.want == harmless && path == x.path(results.RunFile) { // in whatever form it is
			continue
		}
		got := ""
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			got = timelessText(name, contents(x.T, path))
		}
		if got != text {
			x.Errorf("%s:\n%q\nwant\n%q", name, got, text)
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

func (h *held) sums() map[[sha256.Size]byte]bool {
	sums := map[[sha256.Size]byte]bool{}
	for _, text := range h.files {
		sums[sha256.Sum256([]byte(text))] = true
	}
	return sums
}

// nothingLost checks that everything that was there is there, whatever its name or folder now, but for the following:
// checkpoints of a run that is complete now, texts of locks, temporary files, files of a table, run.json of a run that
// was interrupted or is like one that is there now, and a curve.csv whose numbers one begins with that is there now.
func (x *damageTry) nothingLost(before *held, o outcome) {
	x.Helper()
	after := holdings(x.T, x.out)
	there := after.sums()
	kinds := map[string]bool{}
	for _, kind := range after.kinds {
		kinds[kind] = true
	}
	for path, kind := range before.kinds {
		if !kinds[kind] {
			x.Errorf("%s, %s, is gone:\n%s", path, kind, o.stderr)
		}
	}
	for path, text := range before.files {
		if !there[sha256.Sum256([]byte(text))] && !x.mayGo(path, text, after) {
			x.Errorf("%s is gone: %.300q\n%s", path, text, o.stderr)
		}
	}
}

// mayGo says whether the content of a file may be gone.
func (x *damageTry) mayGo(path, text string, after *held) bool {
	name := filepath.Base(path)
	is, _ := filepath.Match("checkpoint-*.safetensors", name)
	temp := filepath.Join(x.TempDir(), name)
	must.OK(x, os.WriteFile(temp, []byte(text), 0o666))
	switch {
	case name == lock.File || strings.HasPrefix(name, ".rollcall-") || filepath.Dir(filepath.Dir(path)) == x.out:
		return true
	case name == results.RunFile && strings.Contains(text, `"status": "interrupted"`):
		return true
	case name == results.RunFile:
		was, err := results.ReadRunInfo(temp)
		for other := range after.files {
			if now, bad := results.ReadRunInfo(other); filepath.Base(other) == name && err == nil && bad == nil &&
				was.Likeness().Unlike(now.Likeness()) == nil {
				return true
			}
		}
	case name == results.CurveFile:
		began := numbersOf(text)
		for other, now := range after.files {
			if filepath.Base(other) == name && began != "" && strings.HasPrefix(numbersOf(now), began) {
				return true
			}
		}
	case is:
		info, err := results.ReadRunInfo(x.path(results.RunFile))
		about, broken := checkpoint.Head(temp)
		return err == nil && info.Status == results.RunComplete && (broken != nil || about.Seed == info.Seed &&
			about.SettingsHash == info.SettingsHash && about.Numerics == info.Numerics &&
			about.Revisions == info.Revisions)
	}
	return false
}

// numbersOf returns the columns of a curve from the round to the test accuracy; "" if it is none.
func numbersOf(text string) string {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return ""
	}
	from, to := slices.Index(records[0], "round"), slices.Index(records[0], "test_acc")
	if from < 0 || to < from {
		return ""
	}
	var b strings.Builder
	for _, r := range records {
		b.WriteString(strings.Join(r[from:to+1], ",") + "\n")
	}
	return b.String()
}
