package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/lock"
	"rollcall/results"
)

// damage is something that happens to the files of a run between a command and its repetition.
type damage struct {
	name string
	do   edit
	want fate
	says string // verify, and the command when it is repeated, as far as they say anything
}

// Files of a run.
const (
	runJSON      = results.RunFile
	curveCSV     = results.CurveFile
	clientsCSV   = results.ClientsFile
	decisionsCSV = results.DecisionsFile
	modelFile    = results.ModelFile
)

// ofFinished are damages of a run that is complete: of its folder, of run.json, of curve.csv, of what is beside them,
// of what is aside, and of its lock. Further ones, which are alike, follow below.
var ofFinished = []damage{
	{"nothing", nothing, harmless, ""},
	{"of another seed", runOf(seed3), unsound, "seed 3, want 4 as the folder says"},
	{"of another cell", runOf(mifa4), unsound, "settings"},
	{"gone", removed, unfinished, ""},
	{"a copy beside it", func(d *damaged) { copyTree(d.T, d.dir, d.dir+".bak") }, harmless, ""},
	{"edited to be another seed's, signed", both(runOf(seed3), forged(
		put(allRounds, "seed", "4"), set("seed", 4))), twin, "same numbers"},
	{"edited to be another seed's and engine's, signed", both(runOf(seed3), forged(
		put(allRounds, "seed", "4"), set("seed", 4),
		put(allRounds, "engine", "cpu-of-another"), set("engine", "cpu-of-another"))), twin, "same numbers"},
	{"with the temporary file of a killed run", file(".rollcall-ABC.tmp", "table,"), harmless, ""},
	{"with a picture", file("curve.png", "picture"), harmless, ""},

	{"run.json: seed", set("seed", 77), unsound, "run.json"},
	{"run.json: seed, signed", forged(set("seed", 77)), unsound, "run.json"},
	{
		"run.json and curve.csv: seed, signed", forged(put(allRounds, "seed", "77"), set("seed", 77)),
		unsound, "seed 77, want 4",
	},
	{"run.json: a setting", setting("lr", json.Number("0.2")), unsound, "settings_hash"},
	{"run.json: a setting and the hash", forged(setting("batch", 7)), unsound, "settings"},
	{"run.json: rounds", set("rounds", 3), unsound, "run.json"},
	{"run.json: rounds, signed", forged(set("rounds", 3)), unsound, "complete after 3 rounds"},
	{"run.json: failed called complete", forged(ends(6), set("rounds", 5)), unsound, "complete after 5 rounds"},
	{"run.json: complete called failed", set("status", "failed"), unsound, "run.json"},
	{"run.json: a status that is none", set("status", "done"), unsound, "run.json: status"},
	{"run.json: schema 9", set("schema", 9), unsound, "schema 9, want"},
	{"run.json: schema 3", set("schema", 3), unsound, "schema 3, want"},
	{"run.json: schema 0", set("schema", 0), unsound, "schema 0, want"},
	{"run.json: schema as text", set("schema", "2"), unsound, "run.json"},
	{"run.json: schema 1", set("schema", 1), unverified, "schema 1, want 2"},
	{"run.json: no schema", without("schema"), unverified, "schema 1, want 2"},
	{"run.json: revisions", set("revisions", map[string]int{"method": 9}), unsound, "run.json"},
	{"run.json: no revisions", without("revisions"), unsound, "run.json"},
	{"run.json: revision of the method", revision("method"), apart, "method revision 77, want "},
	{"run.json: revision of the process", revision("process"), apart, "availability model revision 77, want "},
	{"run.json: revision of the data", revision("data"), apart, "data revision 77, want "},
	{"run.json: revision of the net", revision("net"), apart, "net revision 77, want "},
	{"run.json: revision of the engine", revision("engine"), apart, "engine revision 77, want "},
	{"run.json: numerics", set("numerics", "cuda-fp32"), unsound, "run.json"},
	{"run.json: no numerics", without("numerics"), unsound, "run.json"},
	{"run.json: numerics, signed", forged(set("numerics", "cuda-fp32")), apart, "numerics cuda-fp32, want cpu-"},
	{"run.json: engine, signed", forged(set("engine", "cuda-sm90")), unsound, "engine"},
	{"run.json: precision, signed", forged(set("precision", "bf16")), unsound, "precision"},
	{"run.json: version, signed", forged(set("version", "v0.1")), unsound, "version"},
	{"run.json: device", set("device", "H200"), unsound, "run.json"},
	{"run.json: data", set("data", "cifar10"), unsound, "run.json"},
	{"run.json: data_checksum", set("data_checksum", "sha256:00"), unsound, "run.json"},
	{"run.json: no data_checksum", without("data_checksum"), unsound, "run.json"},
	{"run.json: data_checksum, signed", forged(set("data_checksum", "sha256:00")), ofOtherData, "data checksum"},
	{
		"run.json: checksum of the curve", set("checksums", map[string]string{curveCSV: "sha256:00"}),
		unsound, "run.json",
	},
	{"run.json: no checksums", without("checksums"), unsound, "run.json"},
	{"run.json: a field that there is not", set("Seed", 77), unsound, "run.json"},
	{"run.json: a field twice, the last as it was", changed(runJSON, func(s string) string {
		return strings.Replace(s, `"rounds": 6`, `"rounds": 3, "rounds": 6, "seed": 77`, 1)
	}), harmless, ""},
	{"run.json: of another seed", from(seed3, runJSON), unsound, "run.json: seed 3, want 4"},
	{"run.json: of another cell", from(mifa4, runJSON), unsound, "settings"},
	{"run.json: of another command", from(fedarRun, runJSON), unsound, ", want "},
	{
		"run.json: half of it", on(runJSON, func(path string) error { return os.Truncate(path, 400) }),
		unsound, "unexpected EOF",
	},
	{"run.json: twice", changed(runJSON, func(s string) string { return s + s }), unsound, "more text"},
	{"run.json: a list", whole(runJSON, "[]\n"), unsound, "run.json"},
	{"run.json: nested without end", whole(runJSON, strings.Repeat(`{"a":`, 1e5)), unsound, "run.json"},
	{"run.json: a seed of 20 digits", set("seed", json.Number("99999999999999999999")), unsound, "run.json"},
	{"run.json: a setting of 1e999", setting("lr", json.Number("1e999")), unsound, "run.json"},
	{"run.json: byte order mark", changed(runJSON, func(s string) string { return "\ufeff" + s }), harmless, ""},
	{"run.json: CRLF", replaced(runJSON, "\n", "\r\n"), harmless, ""},
	{"run.json: the clock was set back", set("finished", "1970-01-01T00:00:00Z"), harmless, ""},
	{"run.json: none", killed, unfinished, ""},
	{"run.json and curve.csv: none", gone(runJSON, curveCSV), unfinished, ""},

	{"curve.csv: of another method", from(mifa4, curveCSV), unsound, "the folder is"},
	{"curve.csv: of another method, signed", forged(from(mifa4, curveCSV)), unsound, "the folder is"},
	{"curve.csv: of another seed", from(seed3, curveCSV), unsound, "seed"},
	{"curve.csv: of another table", put(allRounds, "table", "fedawe-2"), unsound, "checksum"},
	{
		"curve.csv: last row twice", rows(func(r [][]string) [][]string { return append(r, r[7]) }),
		unsound, "round 6 after round 6",
	},
	{
		"curve.csv: rows swapped", rows(func(r [][]string) [][]string { r[2], r[3] = r[3], r[2]; return r }),
		unsound, "curve.csv: line",
	},
	{"curve.csv: its last rows missing", ends(3), unsound, "curve.csv: "},
	{"curve.csv: rounds exchanged", both(put(1, "test_acc", "0.6"), put(2, "test_acc", "0.5")), unsound, "checksum"},
	{"curve.csv: one number", put(4, "test_acc", "0.75"), unsound, "checksum"},
	{"curve.csv: a round of 20 digits", put(3, "round", "99999999999999999999"), unsound, "column round"},
	{"curve.csv: a loss of 1e999", put(3, "test_loss", "1e999"), unsound, "column test_loss"},
	{"curve.csv: a column empty", put(allRounds, "round", ""), unsound, "column"},
	{"curve.csv: no line break at its end", changed(curveCSV, strings.TrimSpace), unsound, "no line break"},
	{"curve.csv: CRLF", replaced(curveCSV, "\n", "\r\n"), harmless, ""},
	{
		"curve.csv: byte order mark", changed(curveCSV, func(s string) string { return "\ufeff" + s }),
		harmless, "",
	},
	{
		"curve.csv: UTF-16", changed(curveCSV, func(s string) string {
			return "\xff\xfe" + strings.Join(strings.Split(s, ""), "\x00") + "\x00"
		}), unsound, "curve.csv: line 1: UTF-16, want UTF-8",
	},
	{"curve.csv: header alone", ends(0), unsound, "no row"},
	{"curve.csv: no header", rows(func(r [][]string) [][]string { return r[1:] }), unsound, "curve.csv: line 1"},
	{
		"curve.csv: header twice", rows(func(r [][]string) [][]string { return slices.Insert(r, 1, r[0]) }),
		unsound, "curve.csv: line 2",
	},
	{"curve.csv: unknown column", changed(curveCSV, func(s string) string {
		return strings.Replace(s, "lr", "rate", 1)
	}), unsound, "unknown column"},
	{"curve.csv: quote without end", changed(curveCSV, func(s string) string {
		return strings.Replace(s, "sweep,", `"sweep,`, 1)
	}), unsound, "curve.csv"},
	{"curve.csv: a text that is no UTF-8", put(allRounds, "params", "eval-every=1\xff"), unsound, "curve.csv"},
	{"curve.csv: another setting, signed", forged(put(allRounds, "params", "eval-every=1;lr=7")), unsound, "params"},
	{"curve.csv: more clients, signed", forged(put(allRounds, "clients", "100")), unsound, "clients"},
	{"curve.csv: α of a split without, signed", forged(put(allRounds, "alpha", "0.5")), unsound, "alpha"},
	{"curve.csv: no row of round 0, signed", forged(drop(0)), unsound, "round"},
	{"curve.csv: no row of round 2, signed", forged(drop(2)), unsound, "round"},
	{"curve.csv: no row of round 6, signed", forged(drop(6)), unsound, "round"},

	{"clients.csv: a number", of(fedarRun, lastDigit(clientsCSV)), besides, "clients.csv"},
	{"clients.csv: empty", of(fedarRun, whole(clientsCSV, "")), besides, "clients.csv"},
	{"clients.csv: semicolons", of(fedarRun, replaced(clientsCSV, ",", ";")), besides, "clients.csv"},
	{"clients.csv: of a run without", from(fedarRun, clientsCSV), stray, "clients.csv"},
	{"decisions.csv: a number", of(decisionsRun, lastDigit(decisionsCSV)), besides, "decisions.csv"},
	{"decisions.csv: of a run without", from(decisionsRun, decisionsCSV), stray, "decisions.csv"},
	{"model: another text", of(modelRun, file(modelFile, "hi")), besides, modelFile},
	{"summary.csv: numbers", on("../../"+results.SummaryFile, func(path string) error {
		text, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), ",0.", ",9.")), 0o666))
	}), harmless, ""},
	{"summary.csv: none", gone("../../" + results.SummaryFile), harmless, ""},

	{"everything aside", aside(".old", 9), kept, "moved back from .old\n"},
	{"killed while it was moved aside", aside(".old-moving", 1), kept, "moved back from .old\n"},
	{"killed while it was taken back", aside(".old-back", 1), kept, ""},
	{"the same aside", both(folder(".old"), fill(damagedRun, ".old")), harmless, ""},
	{"another seed aside", both(folder(".old"), fill(seed3, ".old")), harmless, ""},
	{"the wanted run aside, another in its place", both(aside(".old", 9), fill(seed3, ".")), kept, "moved back"},
	{"notes in .old", both(folder(".old"), file(".old/notes.txt", "mine")), harmless, ""},

	{".lock: a folder", lockFolder, kept, ""},
	{".lock: a link", lockLink, kept, ""},
}

var (
	lockFolder = both(gone(lock.File), folder(lock.File))
	lockLink   = both(gone(lock.File), file("target", "mine"),
		on(lock.File, func(path string) error { return os.Symlink("target", path) }))
)

// ofInterrupted are damages of a run that was interrupted after round 4, and has checkpoints of rounds 2 and 4.
var ofInterrupted = []damage{
	{"nothing", nothing, resumed, ""},
	{"killed", killed, resumed, ""},
	{"gone", removed, made, ""},
	{"of another seed, killed", both(runOf(seed3), killed), refused, "of another run"},
	{"run.json: revision of the method", revision("method"), refused, "method revision 77, want "},
	{"run.json: schema 1", set("schema", 1), refused, "schema 1, want 2"},
	{"run.json: schema 9", set("schema", 9), refused, "schema 9, want"},
	{"run.json: of another seed", from(seed3, runJSON), refused, "run.json: seed 3, want 4"},
	{"run.json: of another cell", from(mifa4, runJSON), refused, "settings"},
	{"run.json: device", set("device", "H200"), resumed, ""},

	{"curve.csv: a number", put(2, "test_acc", "0.75"), refused, "checksum"},
	{"curve.csv: a number, killed", both(put(2, "test_acc", "0.75"), killed), refused, "round 2: test_acc 0.75, and "},
	{
		"curve.csv: a number after the checkpoint, killed", both(longer, put(6, "test_acc", "0.75")),
		refused, "round 6: test_acc 0.75, and ",
	},
	{"curve.csv: ahead of the checkpoint, killed", longer, resumed, ""},
	{"curve.csv: behind the checkpoint, killed", both(ends(2), killed), resumed, ""},
	{"curve.csv: of another seed, killed", both(from(seed3, curveCSV), killed), refused, "row 1: of another run"},
	{"curve.csv: its last rows missing", ends(3), resumed, ""},
	{
		"curve.csv: its last rows missing, and a number", both(put(1, "test_acc", "0.75"), ends(3)),
		refused, "round 1: test_acc 0.75, and ",
	},
	{"curve.csv: none, killed", gone(curveCSV, runJSON), resumed, ""},

	{"newest checkpoint cut", cut(4), resumedEarlier, "not used"},
	{"newest checkpoint cut, killed", both(cut(4), killed), resumedEarlier, ""},
	{"all checkpoints cut", both(cut(2), cut(4)), made, "not used"},
	{"newest checkpoint renamed", func(d *damaged) {
		d.check(os.Rename(d.path(checkpoint.Name(4)), d.path(checkpoint.Name(5))))
	}, resumedEarlier, "as its name says"},
	{"no checkpoint", gone(checkpoint.Name(2), checkpoint.Name(4)), made, ""},
	{"a checkpoint of other numerics too", other("bf16", 4, 5), resumed, ""},
	{
		"checkpoints of other numerics in their place, killed",
		both(gone(runJSON, curveCSV), other("bf16", 2, 2), other("bf16", 4, 4)), refused, "numerics",
	},
	{
		"a folder in place of a checkpoint",
		both(folder(checkpoint.Name(6)), file(checkpoint.Name(6)+"/mine", "mine")), resumed, "",
	},
	{
		"a pipe in place of a checkpoint",
		on(checkpoint.Name(6), func(path string) error { return syscall.Mkfifo(path, 0o666) }), resumed, "",
	},

	{"everything aside", aside(".old", 9), resumed, "moved back from .old\n"},
	{"killed while it was moved aside", aside(".old-moving", 2), resumed, "moved back from .old\n"},
	{"killed while it was taken back", aside(".old-back", 2), resumed, ""},
	{"another seed aside", both(folder(".old"), fill(seed3, ".old")), resumed, ""},
	{"the wanted run aside, another in its place", both(aside(".old", 9), fill(seed3, ".")), resumed, "moved back"},

	{".lock: a folder", lockFolder, inError, "lock: "},
	{".lock: a link", lockLink, inError, "lock: "},
	{".lock: text of another host", func(d *damaged) { locked(d.T, d.dir, "far") }, resumed, ""},
}

// ofSeveral are damages of two runs that are complete.
var ofSeveral = []damage{
	{"two versions on one folder", both(revision("method"), func(d *damaged) {
		dir := d.dir
		of(seed3, revision("method"))(d)
		d.dir = dir
	}), refused, "seeds 3, 4: method revision 77"},
	{"a cell copied over another's", func(d *damaged) {
		copyTree(d.T, filepath.Dir(only(d.T, d.out, mifa4)), filepath.Dir(d.dir))
	}, unsound, "the folder is"},
}

// spoiltTexts are files that an editor or a full disk has spoilt, in a run that is complete or not: the checkpoints
// have what cannot be read in one that is not.
func spoiltTexts(finished bool) (all []damage) {
	for _, x := range []struct {
		name     string
		readable bool
		by       func(text string) string
	}{
		{"cut", false, func(s string) string { return s[:len(s)-60] }},
		{"half of it", false, func(s string) string { return s[:len(s)/2] }},
		{"semicolons", false, func(s string) string { return strings.ReplaceAll(s, ",", ";") }},
		{"empty", false, func(string) string { return "" }},
		{"zeros, as after a power cut", false, func(string) string { return strings.Repeat("\x00", 900) }},
		{"doubled", true, func(s string) string { return s + s[strings.Index(s, "\n")+1:] }},
		{"a last row more", true, func(s string) string {
			return s + strings.Replace(s[strings.LastIndex(s[:len(s)-1], "\n")+1:], ",4,", ",7,", 1)
		}},
	} {
		d := damage{"curve.csv: " + x.name, changed(curveCSV, x.by), unsound, curveCSV}
		if !finished && x.readable {
			d.want = refused
		} else if !finished {
			d.want, d.says = resumed, ""
		}
		all = append(all, d)
	}
	for name, text := range map[string]string{
		"cut": "{\n  \"schema\": 2,", "empty": "", "null": "null\n", "zeros": strings.Repeat("\x00", 900),
	} {
		d := damage{"run.json: " + name, whole(runJSON, text), unsound, runJSON}
		if !finished {
			d.want, d.says = resumed, ""
		}
		all = append(all, d)
	}
	return all
}

// impossibleCells are values in a row of a curve that cannot be, each with checksums made anew.
func impossibleCells() (all []damage) {
	for _, cell := range []string{
		"test_acc=NaN", "test_acc=+Inf", "test_acc=-5", "test_acc=2", "test_acc=1e308", "test_acc=", "train_acc=2",
		"train_acc=", "test_loss=NaN", "test_loss=-Inf", "train_loss=+Inf", "test_loss=", "active=5", "active=-1",
		"lr=-1", "lr=NaN", "elapsed_s=NaN", "elapsed_s=+Inf", "elapsed_s=0.000000001", "seed=5", "round=7",
		"engine=cuda-sm90", "precision=bf16", "version=v0.1", "method=mifa", "preset=paper", "net=lenet5",
		"availability=sine", "data=synthetic",
	} {
		column, value, _ := strings.Cut(cell, "=")
		all = append(all, damage{"curve.csv: " + cell + " in a row", forged(put(3, column, value)), unsound, curveCSV})
	}
	return all
}

// irregular are what may stand in place of a file.
var irregular = map[string]func(path string) error{
	"nothing":              func(string) error { return nil },
	"a pipe":               func(path string) error { return syscall.Mkfifo(path, 0o666) },
	"a folder":             func(path string) error { return os.Mkdir(path, 0o777) },
	"a folder with a file": func(path string) error { return os.MkdirAll(filepath.Join(path, "something"), 0o777) },
	"a link to itself":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
	"a link to a device":   func(path string) error { return os.Symlink("/dev/zero", path) },
}

// irregularFiles are other things in place of a file, and files that the run has never written.
func irregularFiles(finished bool) (all []damage) {
	for _, x := range []struct {
		name, of string
		own      bool // the run has written it
		finished bool
		want     fate
	}{
		{curveCSV, damagedRun, true, true, unsound},
		{curveCSV, damagedRun, true, false, resumed},
		{runJSON, damagedRun, true, true, unsound},
		{runJSON, damagedRun, true, false, resumed},
		{clientsCSV, fedarRun, true, true, besides},
		{decisionsCSV, decisionsRun, true, true, besides},
		{modelFile, modelRun, true, true, besides},
		{clientsCSV, damagedRun, false, true, stray},
		{decisionsCSV, damagedRun, false, true, stray},
		{modelFile, damagedRun, false, true, stray},
		{"model-client-1.safetensors", damagedRun, false, true, stray},
		{clientsCSV, damagedRun, false, false, resumed},
		{decisionsCSV, damagedRun, false, false, resumed},
		{modelFile, damagedRun, false, false, resumed},
		{"model-client-1.safetensors", damagedRun, false, false, resumed},
	} {
		if x.finished != finished {
			continue
		}
		says := ""
		if finished {
			says = x.name
		}
		for kind, put := range irregular {
			if kind == "nothing" && (!x.own || x.name == runJSON) {
				continue // nothing has happened, or it is above
			}
			do := on(x.name, put)
			if x.own {
				do = both(gone(x.name), do)
			}
			all = append(all, damage{fmt.Sprintf("%s of %s: %s", x.name, x.of, kind), of(x.of, do), x.want, says})
		}
		if !x.own {
			all = append(all, damage{x.name + " of nobody", file(x.name, "hi\n"), x.want, says})
		}
	}
	return all
}
