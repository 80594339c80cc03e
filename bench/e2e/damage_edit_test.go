package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// damaged is a copy of runs, one of which is changed.
type damaged struct {
	*testing.T
	out   string
	dir   string                 // of the run
	bases map[string]*damageBase // by variant
}

type edit func(d *damaged)

func (d *damaged) path(name string) string { return filepath.Join(d.dir, name) }

func (d *damaged) check(errs ...error) {
	d.Helper()
	must.OK(d, errors.Join(errs...))
}

func (d *damaged) write(name, text string) { d.check(os.WriteFile(d.path(name), []byte(text), 0o666)) }

// change rewrites a file, which has to become another one.
func (d *damaged) change(name string, by func(string) string) {
	before := contents(d.T, d.path(name))
	after := by(before)
	if after == before {
		d.Fatalf("%s: not changed", name)
	}
	d.write(name, after)
}

// changeInfo rewrites run.json.
func (d *damaged) changeInfo(by func(m map[string]any)) {
	d.change(results.RunFile, func(text string) string {
		var m map[string]any
		in := json.NewDecoder(strings.NewReader(text))
		in.UseNumber()
		d.check(in.Decode(&m))
		by(m)
		return string(must.Get(json.MarshalIndent(m, "", "  "))(d))
	})
}

func nothing(*damaged) {}

// both makes several changes, one after the other.
func both(edits ...edit) edit {
	return func(d *damaged) {
		for _, e := range edits {
			e(d)
		}
	}
}

// forged makes changes, and all checksums anew, as only somebody does who means it: what is wrong has to be found
// without them.
func forged(edits ...edit) edit {
	return func(d *damaged) {
		both(edits...)(d)
		var info results.RunInfo
		in := json.NewDecoder(strings.NewReader(contents(d.T, d.path(results.RunFile))))
		in.UseNumber()
		d.check(in.Decode(&info), results.WriteRunInfo(d.path(results.RunFile), info, resultstest.Beside(d.T, d.dir)))
	}
}

// of changes another run, and leaves that as the one that is damaged.
func of(run string, e edit) edit {
	return func(d *damaged) {
		d.dir = only(d.T, d.out, run)
		e(d)
	}
}

// on makes a system call on a file of the run.
func on(name string, do func(path string) error) edit {
	return func(d *damaged) { d.check(do(d.path(name))) }
}

func folder(name string) edit {
	return on(name, func(path string) error { return os.Mkdir(path, 0o777) })
}

func gone(names ...string) edit {
	return func(d *damaged) {
		for _, name := range names {
			d.check(os.Remove(d.path(name)))
		}
	}
}

// killed leaves what a killed process leaves.
var killed = gone(results.RunFile)

func removed(d *damaged) { d.check(os.RemoveAll(d.dir)) }

// file writes a file, and whole one that is there and has another content.
func file(name, text string) edit { return func(d *damaged) { d.write(name, text) } }

func whole(name, text string) edit { return changed(name, func(string) string { return text }) }

func changed(name string, by func(string) string) edit {
	return func(d *damaged) { d.change(name, by) }
}

// replaced changes text wherever it stands, in a file or in the summary.
func replaced(name, old, by string) edit {
	return changed(name, func(s string) string { return strings.ReplaceAll(s, old, by) })
}

func lastDigit(name string) edit {
	return changed(name, func(s string) string { return strings.TrimSuffix(s, "\n") + "1\n" })
}

// from takes a file of another run, and runOf all of them.
func from(run, name string) edit {
	return func(d *damaged) { d.write(name, contents(d.T, filepath.Join(only(d.T, d.out, run), name))) }
}

func runOf(run string) edit {
	return func(d *damaged) { copyTree(d.T, only(d.T, d.out, run), d.dir) }
}

// fill copies curve.csv and run.json of another run into a folder of the run.
func fill(run, into string) edit {
	return func(d *damaged) {
		for _, name := range []string{results.CurveFile, results.RunFile} {
			d.write(filepath.Join(into, name), contents(d.T, filepath.Join(only(d.T, d.out, run), name)))
		}
	}
}

// set changes a field of run.json, setting one of its settings.
func set(field string, value any) edit {
	return func(d *damaged) { d.changeInfo(func(m map[string]any) { m[field] = value }) }
}

func setting(name string, value any) edit {
	return func(d *damaged) {
		d.changeInfo(func(m map[string]any) { m["settings"].(map[string]any)[name] = value })
	}
}

// without drops a field of run.json.
func without(field string) edit {
	return func(d *damaged) { d.changeInfo(func(m map[string]any) { delete(m, field) }) }
}

// revision writes another revision of a part of the program, with checksums that are right.
func revision(of string) edit {
	return forged(func(d *damaged) {
		d.changeInfo(func(m map[string]any) { m["revisions"].(map[string]any)[of] = json.Number("77") })
	})
}

// rows changes the records of curve.csv, its header the first.
func rows(by func(r [][]string) [][]string) edit {
	return func(d *damaged) {
		d.change(results.CurveFile, func(text string) string {
			records := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(d)
			var b bytes.Buffer
			d.check(csv.NewWriter(&b).WriteAll(by(records)))
			return b.String()
		})
	}
}

// allRounds is every round of a curve.
const allRounds = -1

// put writes a value into a column of curve.csv, in the row of a round.
func put(round int, column, value string) edit {
	return rows(func(r [][]string) [][]string {
		for i, name := range r[0] {
			for line := 1; name == column && line < len(r); line++ {
				if round == allRounds || line == round+1 {
					r[line][i] = value
				}
			}
		}
		return r
	})
}

// drop leaves a round out of curve.csv, and ends lets it end with so many rows.
func drop(round int) edit {
	return rows(func(r [][]string) [][]string { return append(r[:round+1:round+1], r[round+2:]...) })
}

func ends(n int) edit { return rows(func(r [][]string) [][]string { return r[:n+1] }) }

// longer leaves the whole curve, as a process that was killed long after its last checkpoint.
func longer(d *damaged) {
	killed(d)
	d.write(curveCSV, contents(d.T, filepath.Join(only(d.T, d.bases[""].whole, damagedRun), curveCSV)))
}

// other puts a checkpoint of a variant in the place of another round.
func other(variant string, round, to int) edit {
	return func(d *damaged) {
		path := filepath.Join(only(d.T, d.bases[variant].half, damagedRun), checkpoint.Name(round))
		d.write(checkpoint.Name(to), contents(d.T, path))
	}
}

// cut cuts a checkpoint.
func cut(round int) edit {
	return on(checkpoint.Name(round), func(path string) error { return os.Truncate(path, 300) })
}

// aside moves so many files of the run to a folder in it, run.json first and its curve next.
func aside(name string, most int) edit {
	return func(d *damaged) {
		folder(name)(d)
		names := []string{results.RunFile, results.CurveFile}
		for _, path := range must.Get(filepath.Glob(d.path("checkpoint-*")))(d) {
			names = append(names, filepath.Base(path))
		}
		for _, file := range names[:min(most, len(names))] {
			d.check(os.Rename(d.path(file), filepath.Join(d.path(name), file)))
		}
	}
}
