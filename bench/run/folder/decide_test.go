package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/results"
)

// settings are those of the run that the tests want, of six rounds, each evaluated.
var settings = map[string]any{
	"method": "mifa", "preset": "code", "data": "leaf", "net": "linear-synthetic", "availability": "sine", "clients": 4,
	"rounds": 6, "eval-every": 1, "eval-train": false,
}

// wanted returns the run in a folder of its name.
func wanted(t *testing.T) *Want {
	t.Helper()
	cell := results.Setup{
		Table: "t", Method: "mifa", Preset: "code", Data: "leaf", Net: "linear-synthetic", Availability: "sine",
		Clients: 4,
	}
	return &Want{
		Dir: filepath.Join(t.TempDir(), results.CellFolder(cell, results.Hash(settings)), "seed-3"),
		About: checkpoint.About{
			SettingsHash: results.Hash(settings), Seed: 3, Numerics: nets.Numerics("cpu-avx2", "fp32"),
			Revisions: results.Revisions{Method: 2, Availability: 1, Data: 1, Net: 1, Engine: 1}, Params: 5, Rounds: 6,
		},
		Row:       results.CurveRow{Setup: cell, Seed: 3},
		Evaluates: func(int) bool { return true }, EvaluatesTrain: func(int) bool { return false }, StopAt: 6,
	}
}

func rows(w *Want, last int) (curve []results.CurveRow) {
	for round := range last + 1 {
		r := w.Row
		r.Round, r.TestAcc, r.TestLoss = round, files.Some(float64(round)/10), files.Some(1)
		r.Engine, r.Precision, r.ElapsedSec = "cpu-avx2", "fp32", float64(60*round)
		curve = append(curve, r)
	}
	return curve
}

// engine is one without rows: the checkpoints of these tests have no state.
type engine struct{ nets.Engine }

// work is what somebody has left in a folder.
type work struct {
	w *Want
	t *testing.T
}

func (k work) path(name string) string { return filepath.Join(k.w.Dir, name) }

// curve leaves the rows up to a round.
func (k work) curve(last int, change ...func(rows []results.CurveRow)) {
	list := rows(k.w, last)
	for _, f := range change {
		f(list)
	}
	must.OK(k.t, results.WriteCurve(k.path(results.CurveFile), list))
}

func (k work) info(status results.RunStatus, round int, change ...func(info *results.RunInfo)) {
	info := results.RunInfo{
		Status: status, Rounds: round, Settings: settings, Seed: 3, Numerics: k.w.About.Numerics,
		Revisions: k.w.About.Revisions, Engine: "cpu-avx2", Precision: "fp32",
	}
	for _, f := range change {
		f(&info)
	}
	var wrote []string
	if _, err := os.Stat(k.path(results.ClientsFile)); err == nil {
		wrote = []string{results.ClientsFile}
	}
	must.OK(k.t, results.WriteRunInfo(k.path(results.RunFile), info, wrote))
}

func (k work) checkpoint(round int, change ...func(a *checkpoint.About)) {
	c := &checkpoint.Content{About: k.w.About, Curve: rows(k.w, round)}
	c.Round, c.ElapsedSec = round, float64(60*round)
	for _, f := range change {
		f(&c.About)
	}
	must.OK(k.t, checkpoint.Write(context.Background(), k.path(checkpoint.Name(round)), c, engine{}))
}

// newerSchema makes a checkpoint one of the next schema, with a checksum that is right.
func (k work) newerSchema(round int) {
	path := k.path(checkpoint.Name(round))
	text := bytes.Replace(must.Get(os.ReadFile(path))(k.t), []byte(`\"schema\":1`), []byte(`\"schema\":2`), 1)
	whole := text[:len(text)-sha256.Size]
	sum := sha256.Sum256(whole)
	must.OK(k.t, os.WriteFile(path, append(whole, sum[:]...), 0o666))
}

func (k work) text(name, text string) {
	must.OK(k.t, errors.Join(os.MkdirAll(k.w.Dir, 0o777), os.WriteFile(k.path(name), []byte(text), 0o666)))
}

// cut leaves the first half of a file.
func (k work) cut(name string) {
	text := must.Get(os.ReadFile(k.path(name)))(k.t)
	k.text(name, string(text[:len(text)/2]))
}

func (k work) complete(change ...func(info *results.RunInfo)) {
	k.curve(6)
	k.info(results.RunComplete, 6, change...)
}

// killed leaves a killed run of four rounds with two checkpoints.
func (k work) killed(change ...func(a *checkpoint.About)) {
	k.curve(4)
	k.checkpoint(1, change...)
	k.checkpoint(3, change...)
}

func (k work) aside() { must.OK(k.t, Aside(k.w.Dir)) }

func otherNumerics(a *checkpoint.About) { a.Numerics = "cpu-bf16" }

func describe(d Decision) string {
	switch d := d.(type) {
	case Keep:
		return strings.TrimSpace("keep " + d.Back)
	case New:
		return fmt.Sprintf("new, aside %t", d.Aside)
	case Refuse:
		return "refuse " + d.String()
	case Resume:
		text := fmt.Sprintf("resume at %d, %d rows", d.Round, len(d.Rows))
		if d.Finished != nil {
			text += ", finished"
		}
		if len(d.Unreadable) > 0 {
			text += fmt.Sprintf(", unreadable %v", d.Unreadable)
		}
		return strings.TrimSpace(text + " " + d.Back)
	}
	return "nothing"
}

// What becomes of a folder, case by case.
func TestDecide(t *testing.T) {
	again, replace := func(_ *Want, p *Policy) { p.Again = true }, func(_ *Want, p *Policy) { p.Replace = true }
	mixed := func(w *Want, _ *Policy) { w.Mixed = true }
	revised := func(k work) { k.complete(func(i *results.RunInfo) { i.Revisions.Method = 1 }) }
	bf16 := func(k work) { k.complete(func(i *results.RunInfo) { i.Numerics = "cpu-bf16" }) }
	edit := func(rows []results.CurveRow) { rows[2].TestAcc = files.Some(0.5) }
	for _, c := range []struct {
		name string
		left func(k work)
		want string
		ask  func(w *Want, p *Policy) // nil: a command without flags
	}{
		{"nothing", func(work) {}, "new, aside false", nil},
		{"a file of nobody", func(k work) { k.text("notes.txt", "mine") }, "new, aside false", nil},
		{"complete", func(k work) { k.complete() }, "keep", nil},
		{"diverged", func(k work) { k.curve(2); k.info(results.RunDiverged, 2) }, "keep", nil},
		{"complete, --again", func(k work) { k.complete() }, "new, aside true", again},
		{"complete, --replace", func(k work) { k.complete() }, "keep", replace},
		{"complete, of another revision", revised, "refuse method revision 1, want 2; 6 rounds, 6 min", nil},
		{"complete, of another revision, --mixed", revised, "refuse method revision 1, want 2; 6 rounds, 6 min", mixed},
		{"complete, of another revision, --replace", revised, "new, aside true", replace},
		{"complete, of other numerics", bf16, "refuse numerics cpu-bf16, want cpu-fp32; 6 rounds, 6 min", nil},
		{"complete, of other numerics, --mixed", bf16, "keep", mixed},
		{
			"complete, of other numerics, --collect", func(k work) {
				k.complete(func(i *results.RunInfo) { i.Numerics = "cuda-fp32" })
			}, "keep", func(w *Want, _ *Policy) { w.AnyKind = true },
		},
		{
			"complete, with other data", func(k work) {
				k.complete(func(i *results.RunInfo) { i.AllowAltered, i.DataChecksum = true, "sha256:1" })
			}, "refuse data checksum sha256:1, want sha256:2; 6 rounds, 6 min",
			func(w *Want, _ *Policy) { w.Checksum = func() (string, error) { return "sha256:2", nil } },
		},
		{
			"complete, with an edited row", func(k work) { k.complete(); k.curve(6, edit) },
			"refuse curve.csv: checksum", nil,
		},
		{
			"complete, with half a curve", func(k work) { k.complete(); k.curve(3) },
			"refuse curve.csv: ", nil,
		},
		{
			"complete, without decisions that are asked for", func(k work) { k.complete() },
			"resume at 0, 7 rows, finished", func(w *Want, _ *Policy) { w.Files = []string{results.DecisionsFile} },
		},
		{
			"complete, and half on the way to decisions",
			func(k work) { k.complete(); k.checkpoint(4, func(a *checkpoint.About) { a.Decisions = true }) },
			"resume at 4, 7 rows, finished", func(w *Want, _ *Policy) {
				w.Files, w.About.Decisions = []string{results.DecisionsFile}, true
			},
		},
		{
			"complete, with a model of somebody", func(k work) {
				k.complete()
				k.text(results.ModelFile, "mine")
			}, "keep", nil,
		},
		{
			"complete, with clients.csv changed", func(k work) {
				k.text(results.ClientsFile, "round,client,pi,n,accuracy,loss\n")
				k.complete()
				k.text(results.ClientsFile, "in a spreadsheet")
			}, "resume at 0, 7 rows, finished", nil,
		},
		{
			"complete, wanted from the start", func(k work) { k.complete(); k.checkpoint(4) },
			"resume at 0, 7 rows, finished", func(w *Want, _ *Policy) { w.Start = true },
		},

		{"killed", func(k work) { k.killed() }, "resume at 3, 5 rows", nil},
		{"killed before a checkpoint", func(k work) { k.curve(1) }, "resume at 0, 2 rows", nil},
		{"killed, without a curve", func(k work) { k.checkpoint(2) }, "resume at 2, 0 rows", nil},
		{
			"killed, the last checkpoint cut", func(k work) { k.killed(); k.cut(checkpoint.Name(3)) },
			"resume at 1, 5 rows", nil,
		},
		{
			"killed, both checkpoints cut", func(k work) {
				k.killed()
				k.cut(checkpoint.Name(3))
				k.cut(checkpoint.Name(1))
			},
			"resume at 0, 5 rows", nil,
		},
		{
			"killed, of other numerics", func(k work) { k.killed(otherNumerics) },
			"refuse numerics cpu-bf16, want cpu-fp32; 4 rounds, 4 min", nil,
		},
		{
			"killed, the last checkpoint of other numerics", func(k work) {
				k.killed()
				k.checkpoint(4, otherNumerics)
			},
			"resume at 3, 5 rows", nil,
		},
		{
			"killed, checkpoints alone, of a newer schema", func(k work) {
				k.checkpoint(3)
				k.newerSchema(3)
			}, "refuse checkpoint-3.safetensors: schema 2, want 1: another rollcall wrote it; " +
				"3 rounds, 3 min", nil,
		},
		{
			"killed, a curve of other numerics", func(k work) {
				k.curve(4, func(rows []results.CurveRow) {
					for i := range rows {
						rows[i].Precision = "bf16"
					}
				})
			}, "refuse curve.csv: numerics cpu-bf16, want cpu-fp32; 4 rounds, 4 min", nil,
		},
		{
			"killed, a row gone", func(k work) {
				k.killed()
				k.curve(4, func(rows []results.CurveRow) { rows[2].Round, rows[3].Round = 3, 5 })
			},
			"refuse curve.csv: row 3: round 3, want 2", nil,
		},
		{
			"killed, of another seed", func(k work) {
				k.curve(2, func(rows []results.CurveRow) { rows[0].Seed, rows[1].Seed, rows[2].Seed = 4, 4, 4 })
			}, "refuse curve.csv: row 1: of another run; 2 rounds, 2 min", nil,
		},
		{
			"killed, a curve for a spreadsheet", func(k work) { k.killed(); k.text(results.CurveFile, "a;b\n1;2\n") },
			"resume at 3, 0 rows, unreadable [curve.csv]", nil,
		},
		{
			"a curve for a spreadsheet alone", func(k work) { k.text(results.CurveFile, "a;b\n1;2\n") },
			"refuse curve.csv: ", nil,
		},
		{
			"killed, with decisions that nobody asks for now",
			func(k work) { k.killed(func(a *checkpoint.About) { a.Decisions = true }) }, "resume at 3, 5 rows", nil,
		},
		{
			"killed, decisions asked for later", func(k work) { k.killed() },
			"refuse a checkpoint without decisions, want the decisions of all rounds; 4 rounds, 4 min",
			func(w *Want, _ *Policy) { w.About.Decisions = true },
		},

		{"interrupted", func(k work) { k.killed(); k.info(results.RunInterrupted, 4) }, "resume at 3, 5 rows", nil},
		{"failed", func(k work) { k.killed(); k.info(results.RunFailed, 4) }, "resume at 3, 5 rows", nil},
		{
			"interrupted, of another revision", func(k work) {
				k.killed()
				k.info(results.RunInterrupted, 4, func(i *results.RunInfo) { i.Revisions.Engine = 7 })
			}, "refuse engine revision 7, want 1; 4 rounds, 4 min", nil,
		},
		{
			"interrupted, run.json cut", func(k work) {
				k.killed()
				k.info(results.RunInterrupted, 4)
				k.cut(results.RunFile)
			},
			"resume at 3, 5 rows, unreadable [run.json]", nil,
		},
		{
			"interrupted, run.json cut, no checkpoint", func(k work) {
				k.curve(4)
				k.info(results.RunInterrupted, 4)
				k.cut(results.RunFile)
			},
			"refuse run.json: ", nil,
		},
		{
			"run.json of a newer rollcall", func(k work) { k.killed(); k.text(results.RunFile, `{"schema": 99}`) },
			"refuse run.json: schema 99, want 1 … 2: a newer rollcall wrote it", nil,
		},
		{
			"interrupted, an edited row that run.json vouches for", func(k work) {
				k.killed()
				k.info(results.RunInterrupted, 4)
				k.curve(4, edit)
			}, "refuse curve.csv: checksum", nil,
		},
		{
			"interrupted, an edited row that it does not vouch for", func(k work) {
				k.killed()
				k.info(results.RunInterrupted, 1)
				k.curve(4, edit)
			}, "resume at 3, 5 rows", nil, // and the row must come again
		},
		{
			"stopped where it is to stop", func(k work) {
				k.curve(4)
				k.checkpoint(4)
				k.info(results.RunInterrupted, 4)
			},
			"keep", func(w *Want, _ *Policy) { w.StopAt = 4 },
		},
		{
			"stopped earlier, with rows that nobody vouches for", func(k work) {
				k.curve(4)
				k.checkpoint(2)
				k.info(results.RunInterrupted, 2)
			},
			"resume at 2, 5 rows", func(w *Want, _ *Policy) { w.StopAt = 4 },
		},

		{"complete and aside", func(k work) { k.complete(); k.aside() }, "keep .old", nil},
		{"complete and aside, --again", func(k work) { k.complete(); k.aside() }, "new, aside false", again},
		{
			"killed and aside, other work in its place", func(k work) {
				k.killed()
				k.aside()
				k.killed(otherNumerics)
			},
			"resume at 3, 5 rows .old", nil,
		},
		{
			"two aside, the first one wanted", func(k work) {
				k.complete()
				k.aside()
				k.killed(otherNumerics)
				k.aside()
			},
			"keep .old", nil,
		},
		{
			"complete and aside, begun again", func(k work) { k.complete(); k.aside(); k.killed() },
			"resume at 3, 5 rows", nil,
		},
		{
			"complete and aside, begun again, --again", func(k work) { k.complete(); k.aside(); k.killed() },
			"resume at 3, 5 rows", again,
		},
		{"other work aside", func(k work) { k.killed(otherNumerics); k.aside() }, "new, aside false", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := wanted(t), Policy{}
			c.left(work{w, t})
			before := contents(t, w.Dir)
			if c.ask != nil {
				c.ask(w, &p)
			}
			d := must.Get(Decide(w, p))(t)
			got := strings.ReplaceAll(describe(d), w.Dir, "DIR")
			begins := strings.HasPrefix(c.want, "refuse ") && strings.HasPrefix(got, c.want) // whose end is long
			if got != c.want && !begins {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if after := contents(t, w.Dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%v\nwant nothing changed: %v", after, before)
			}
		})
	}
}

// contents returns the contents of all files below a folder, by their names.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			all[path] = string(must.Get(os.ReadFile(path))(t))
		}
		return nil
	})
	return all
}

// The rows of a run whose trace was named by another path are its rows: the content names the run.
func TestRowsUnderAnotherPath(t *testing.T) {
	w := wanted(t)
	w.Row.Params = results.NewParams("p=0.5", "trace=log.csv")
	kept := rows(w, 3)
	w.Row.Params = results.NewParams("p=0.5", "trace=./log.csv")
	must.OK(t, w.CheckRows(kept))
	w.Row.Params = results.NewParams("p=0.6", "trace=log.csv")
	if err := w.CheckRows(kept); err == nil {
		t.Error("rows of another p: no error")
	}
}
