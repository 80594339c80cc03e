//go:build unix

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
	"rollcall/internal/must"
	"rollcall/results"
)

// Folders of runs with files beside the curve.
const (
	fedarRun     = "run/fedar_*/seed-3"
	decisionsRun = "run/ca-fed_*/seed-3"
	modelRun     = "run/mifa_*/seed-3"
)

// modelFile is the model that a run saves.
const modelFile = "model.safetensors"

// accidents stand by what they happen to: numerics and revisions, files beside the curve, the curve, run.json, whole
// folders, checkpoints, work that is aside, and locks.
var accidents = slices.Concat([]accident{
	{
		name: "another precision", as: "bf16", do: nothing, want: refused, runs: 4,
		said: "numerics cpu-fp32, want cpu-bf16",
	},
	{
		name: "other kernels", as: "generic", do: nothing, want: refused, runs: 4,
		said: "numerics cpu-fp32, want cpu-generic-fp32",
	},
	{name: "another precision", half: true, as: "bf16", do: nothing, want: refused, runs: 4, said: "; 4 rounds, "},
	{name: "other kernels", half: true, as: "generic", do: nothing, want: refused, runs: 4, said: "; 4 rounds, "},
	{
		name: "another precision, killed", half: true, as: "bf16", do: killed, want: refused, runs: 4,
		said: "; 4 rounds, ",
	},
	{
		name: "other kernels, killed", half: true, as: "generic", do: killed, want: refused, runs: 4,
		said: "; 4 rounds, ",
	},
	{
		name: "another precision, a checkpoint alone", half: true, as: "bf16", do: checkpointsAlone, want: refused,
		runs: 4, said: "; 4 rounds, ",
	},
	{
		name: "another revision", want: refused, said: "method revision 77, want ",
		do: func(c *corrupt) { c.revision() },
	},
	{
		name: "another revision", half: true, want: refused, said: "method revision 77, want ",
		do: func(c *corrupt) { c.revision() },
	},
	{
		name: "two versions on one folder", want: refused, runs: 2, said: "seeds 3, 4: method revision 77",
		do: func(c *corrupt) {
			c.revision()
			c.dir = c.seed("seed-3")
			c.revision()
			c.dir = c.seed("seed-4")
		},
	},
	{
		name: "another schema", want: refused, said: "schema 1, want 2",
		do: func(c *corrupt) { c.set("schema", 1) },
	},
	{
		name: "another schema", half: true, want: refused, said: "schema 1, want 2",
		do: func(c *corrupt) { c.set("schema", 1) },
	},
	{
		name: "a newer schema", want: refused, said: "schema 9, want",
		do: func(c *corrupt) { c.set("schema", 9) },
	},
	{
		name: "a newer schema", half: true, want: refused, said: "schema 9, want",
		do: func(c *corrupt) { c.set("schema", 9) },
	},
	{name: "nothing", want: kept, do: nothing},
	{name: "nothing", half: true, want: resumed, do: nothing},
	{name: "killed", half: true, want: resumed, do: killed},

	{name: "a picture beside it", want: kept, do: func(c *corrupt) { c.file("curve.png", "picture") }},
	{name: "clients.csv of another run", want: kept, do: func(c *corrupt) {
		c.from(fedarRun+"/clients.csv", results.ClientsFile)
	}},
	{name: "clients.csv changed", of: fedarRun, want: mended, do: func(c *corrupt) { c.number(results.ClientsFile) }},
	{name: "clients.csv empty", of: fedarRun, want: mended, do: func(c *corrupt) { c.whole(results.ClientsFile, "") }},
	{
		name: "clients.csv with semicolons", of: fedarRun, want: mended,
		do: func(c *corrupt) { c.semicolons(results.ClientsFile) },
	},
	{
		name: "decisions.csv changed", of: decisionsRun, want: mended,
		do: func(c *corrupt) { c.number(results.DecisionsFile) },
	},
	{name: "model changed", of: modelRun, want: mended, do: func(c *corrupt) { c.file(modelFile, "hi") }},

	{
		name: "curve.csv: a number", want: refused, said: "checksum",
		do: func(c *corrupt) { c.put(4, "test_acc", "0.75") },
	},
	{
		name: "curve.csv: a number", half: true, want: refused, said: "checksum",
		do: func(c *corrupt) { c.put(2, "test_acc", "0.75") },
	},
	{
		name: "curve.csv: a number, killed", half: true, want: refused, said: "round 2: test_acc 0.75, and ",
		do: func(c *corrupt) {
			c.put(2, "test_acc", "0.75")
			killed(c)
		},
	},
	{
		name: "curve.csv: a number after the checkpoint, killed", half: true, want: refused,
		said: "round 6: test_acc 0.75, and ",
		do: func(c *corrupt) {
			c.longer()
			c.put(6, "test_acc", "0.75")
		},
	},
	{
		name: "curve.csv: ahead of the checkpoint, killed", half: true, want: resumed,
		do: func(c *corrupt) { c.longer() },
	},
	{
		name: "curve.csv: of another seed", want: refused, said: "seed",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/curve.csv", results.CurveFile) },
	},
	{
		name: "curve.csv: of another seed, killed", half: true, want: refused, said: "row 1: of another run",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/curve.csv", results.CurveFile); killed(c) },
	},
	{
		name: "curve.csv: its last rows missing", want: refused, said: "curve.csv: ",
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return r[:4] }) },
	},
	{
		name: "curve.csv: its last rows missing", half: true, want: resumed,
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return r[:4] }) },
	},
	{
		name: "curve.csv: its last rows missing, and a number", half: true, want: refused,
		said: "round 1: test_acc 0.75, and ",
		do: func(c *corrupt) {
			c.put(1, "test_acc", "0.75")
			c.rows(func(r [][]string) [][]string { return r[:4] })
		},
	},
	{name: "curve.csv: none", want: refused, said: "curve.csv", do: func(c *corrupt) { c.gone(results.CurveFile) }},
	{
		name: "curve.csv: none, killed", half: true, want: resumed,
		do: func(c *corrupt) { c.gone(results.CurveFile); killed(c) },
	},
	{
		name: "curve.csv: behind the checkpoint, killed", half: true, want: resumed,
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return r[:3] }); killed(c) },
	},

	{name: "run.json: none", want: made, do: killed},
	{
		name: "run.json: of another seed", want: refused, said: "run.json: seed 3, want 4",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/run.json", results.RunFile) },
	},
	{
		name: "run.json: of another seed", half: true, want: refused, said: "run.json: seed 3, want 4",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/run.json", results.RunFile) },
	},
	{
		name: "run.json: of another cell", want: refused, said: "settings",
		do: func(c *corrupt) { c.from("sweep/mifa_*/seed-4/run.json", results.RunFile) },
	},
	{
		name: "run.json: of another cell", half: true, want: refused, said: "settings",
		do: func(c *corrupt) { c.from("sweep/mifa_*/seed-4/run.json", results.RunFile) },
	},
	{name: "run.json: a byte", want: refused, said: "run.json", do: func(c *corrupt) { c.set("device", "H200") }},
	{name: "run.json: a byte", half: true, want: resumed, do: func(c *corrupt) { c.set("device", "H200") }},

	{name: "curve and run.json gone", want: made, do: func(c *corrupt) { c.gone(results.CurveFile); killed(c) }},
	{name: "folder gone", want: made, do: func(c *corrupt) { c.check(os.RemoveAll(c.dir)) }},
	{name: "folder gone", half: true, want: made, do: func(c *corrupt) { c.check(os.RemoveAll(c.dir)) }},
	{
		name: "folder of another seed", want: refused, said: "seed 3, want 4 as the folder says",
		do: func(c *corrupt) { copyTree(c.t, c.seed("seed-3"), c.dir) },
	},
	{
		name: "folder of another cell", want: refused, said: "settings",
		do: func(c *corrupt) { copyTree(c.t, filepath.Dir(only(c.t, c.out, "sweep/mifa_*/seed-4/run.json")), c.dir) },
	},
	{name: "folder of another seed, killed", half: true, want: refused, said: "of another run", do: func(c *corrupt) {
		copyTree(c.t, c.seed("seed-3"), c.dir)
		killed(c)
	}},
	{name: "a copy beside it", want: kept, do: func(c *corrupt) { copyTree(c.t, c.dir, c.dir+".bak") }},

	{
		name: "newest checkpoint cut", half: true, want: resumed, from: 2, said: "not used",
		do: func(c *corrupt) { c.cut(4) },
	},
	{
		name: "newest checkpoint cut, killed", half: true, want: resumed, from: 2,
		do: func(c *corrupt) { c.cut(4); killed(c) },
	},
	{
		name: "all checkpoints cut", half: true, want: made, said: "not used",
		do: func(c *corrupt) { c.cut(2); c.cut(4) },
	},
	{
		name: "newest checkpoint renamed", half: true, want: resumed, from: 2, said: "as its name says",
		do: func(c *corrupt) {
			c.check(os.Rename(c.path(checkpoint.Name(4)), c.path(checkpoint.Name(5))))
		},
	},
	{name: "no checkpoint", half: true, want: made, do: func(c *corrupt) {
		c.gone(checkpoint.Name(2))
		c.gone(checkpoint.Name(4))
	}},
	{
		name: "a checkpoint of other numerics too", half: true, want: resumed,
		do: func(c *corrupt) { c.other("bf16", 4, 5) },
	},
	{
		name: "checkpoints of other numerics in their place, killed", half: true, want: refused, said: "numerics",
		do: func(c *corrupt) {
			killed(c)
			c.gone(results.CurveFile)
			c.other("bf16", 2, 2)
			c.other("bf16", 4, 4)
		},
	},
	{name: "a folder in place of a checkpoint", half: true, want: resumed, do: func(c *corrupt) {
		c.check(os.Mkdir(c.path(checkpoint.Name(6)), 0o777))
		c.file(checkpoint.Name(6)+"/mine", "mine")
	}},
	{name: "a pipe in place of a checkpoint", half: true, want: resumed, do: func(c *corrupt) {
		c.check(syscall.Mkfifo(c.path(checkpoint.Name(6)), 0o666))
	}},

	{name: "everything aside", want: kept, said: "moved back from .old\n", do: func(c *corrupt) { c.aside(".old", 9) }},
	{
		name: "everything aside", half: true, want: resumed, said: "moved back from .old\n",
		do: func(c *corrupt) { c.aside(".old", 9) },
	},
	{
		name: "killed while it was moved aside", want: kept, said: "moved back from .old\n",
		do: func(c *corrupt) { c.aside(".old-moving", 1) },
	},
	{
		name: "killed while it was moved aside", half: true, want: resumed, said: "moved back from .old\n",
		do: func(c *corrupt) { c.aside(".old-moving", 2) },
	},
	{name: "killed while it was taken back", want: kept, do: func(c *corrupt) { c.aside(".old-back", 1) }},
	{
		name: "killed while it was taken back", half: true, want: resumed,
		do: func(c *corrupt) { c.aside(".old-back", 2) },
	},
	{name: "the same aside", want: kept, do: func(c *corrupt) { c.copyAside(c.dir) }},
	{name: "another seed aside", want: kept, do: func(c *corrupt) { c.copyAside(c.seed("seed-3")) }},
	{name: "another seed aside", half: true, want: resumed, do: func(c *corrupt) { c.copyAside(c.seed("seed-3")) }},
	{name: "the wanted run aside, another in its place", want: kept, said: "moved back", do: func(c *corrupt) {
		c.aside(".old", 9)
		c.fill(c.seed("seed-3"))
	}},
	{
		name: "the wanted run aside, another in its place", half: true, want: resumed, said: "moved back",
		do: func(c *corrupt) {
			c.aside(".old", 9)
			c.fill(c.seed("seed-3"))
		},
	},
	{name: "notes in .old", want: kept, do: func(c *corrupt) {
		c.check(os.Mkdir(c.path(".old"), 0o777))
		c.file(".old/notes.txt", "mine")
	}},

	{
		name: ".lock: a folder", want: kept,
		do: func(c *corrupt) { c.gone(lock.File); c.check(os.Mkdir(c.path(lock.File), 0o777)) },
	},
	{name: ".lock: a folder", half: true, want: inError, said: "lock: ", do: func(c *corrupt) {
		c.gone(lock.File)
		c.check(os.Mkdir(c.path(lock.File), 0o777))
	}},
	{name: ".lock: a link", want: kept, do: func(c *corrupt) {
		c.gone(lock.File)
		c.file("target", "mine")
		c.check(os.Symlink("target", c.path(lock.File)))
	}},
	{name: ".lock: a link", half: true, want: inError, said: "lock: ", do: func(c *corrupt) {
		c.gone(lock.File)
		c.file("target", "mine")
		c.check(os.Symlink("target", c.path(lock.File)))
	}},
	{
		name: ".lock: text of another host", half: true, want: resumed,
		do: func(c *corrupt) { locked(c.t, c.dir, "far") },
	},
}, accidentTexts(), accidentKinds())

// accidentTexts are files that an editor or a full disk has spoilt.
func accidentTexts() (all []accident) {
	for _, half := range []bool{false, true} {
		for _, curve := range []struct {
			name       string
			unreadable bool
			edit       func(text string) string
		}{
			{"cut", true, func(s string) string { return s[:len(s)-60] }},
			{"half of it", true, func(s string) string { return s[:len(s)/2] }},
			{"doubled", false, func(s string) string { return s + s[strings.Index(s, "\n")+1:] }},
			{"semicolons", true, func(s string) string { return strings.ReplaceAll(s, ",", ";") }},
			{"empty", true, func(string) string { return "" }},
			{"a last row more", false, func(s string) string {
				return s + strings.Replace(s[strings.LastIndex(s[:len(s)-1], "\n")+1:], ",4,", ",7,", 1)
			}},
		} {
			a := accident{
				name: "curve.csv: " + curve.name, half: half, want: refused, said: results.CurveFile,
				do: func(c *corrupt) { c.text(results.CurveFile, curve.edit) },
			}
			if half && curve.unreadable { // the checkpoints have it
				a.want, a.said = resumed, ""
			}
			all = append(all, a)
		}
		for name, text := range map[string]string{
			"cut": "{\n  \"schema\": 2,", "empty": "", "null": "null\n", "zeros": "\x00\x00",
		} {
			a := accident{
				name: "run.json: " + name, half: half, want: refused, said: results.RunFile,
				do: func(c *corrupt) { c.whole(results.RunFile, text) },
			}
			if half { // the checkpoints say what it is
				a.want, a.said = resumed, ""
			}
			all = append(all, a)
		}
	}
	return all
}

// accidentKinds are other things in place of a file, and files that the run has never written.
func accidentKinds() (all []accident) {
	kinds := map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"a folder with a file": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o777), os.WriteFile(filepath.Join(path, "mine"), []byte("mine"), 0o666))
		},
		"a link to itself":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"a link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"nothing":            func(string) error { return nil },
	}
	for kind, put := range kinds {
		for _, x := range []struct {
			name, of string
			half     bool
			want     decision
		}{
			{results.CurveFile, "", false, refused},
			{results.CurveFile, "", true, resumed},
			{results.RunFile, "", false, refused},
			{results.RunFile, "", true, resumed},
			{results.ClientsFile, fedarRun, false, mended},
			{results.DecisionsFile, decisionsRun, false, mended},
			{modelFile, modelRun, false, mended},
			{results.ClientsFile, accidentRun, false, kept},
			{results.DecisionsFile, accidentRun, true, resumed},
			{modelFile, accidentRun, false, kept},
			{modelFile, accidentRun, true, resumed},
			{"model-client-1.safetensors", accidentRun, false, kept},
		} {
			own := x.want != kept && (x.of == "" || x.of != accidentRun)
			if kind == "nothing" && (!own || x.of == "") {
				continue // nothing has happened, or it is above
			}
			a := accident{name: fmt.Sprintf("%s of %s: %s", x.name, x.of, kind), of: x.of, half: x.half, want: x.want}
			a.do = func(c *corrupt) {
				if own {
					c.gone(x.name)
				}
				c.check(put(c.path(x.name)))
			}
			all = append(all, a)
		}
	}
	for _, name := range []string{results.ClientsFile, results.DecisionsFile, modelFile, "model-client-1.safetensors"} {
		for _, half := range []bool{false, true} {
			a := accident{name: name + " of nobody", half: half, want: kept}
			a.do = func(c *corrupt) { c.file(name, "hi\n") }
			if half {
				a.want = resumed
			}
			all = append(all, a)
		}
	}
	return all
}

func nothing(*corrupt) {}

// killed leaves what a killed process leaves.
func killed(c *corrupt) { c.gone(results.RunFile) }

// checkpointsAlone leaves nothing but the checkpoints.
func checkpointsAlone(c *corrupt) {
	killed(c)
	c.gone(results.CurveFile)
}

func (c *corrupt) gone(name string) { c.check(os.Remove(c.path(name))) }

// file writes a file.
func (c *corrupt) file(name, text string) { c.check(os.WriteFile(c.path(name), []byte(text), 0o666)) }

// revision writes another revision of the method, with checksums that are right.
func (c *corrupt) revision() {
	c.info(func(m map[string]any) { m["revisions"].(map[string]any)["method"] = json.Number("77") })
	c.forge()
}

// semicolons is what some spreadsheets save.
func (c *corrupt) semicolons(name string) {
	c.text(name, func(s string) string { return strings.ReplaceAll(s, ",", ";") })
}

// longer leaves the whole curve, as a process that was killed long after its last checkpoint.
func (c *corrupt) longer() {
	killed(c)
	c.copy(filepath.Join(only(c.t, c.bases[""].whole, accidentRun), results.CurveFile), results.CurveFile)
}

// other puts a checkpoint of a variant in the place of another round.
func (c *corrupt) other(as string, round, to int) {
	c.copy(filepath.Join(only(c.t, c.bases[as].half, accidentRun), checkpoint.Name(round)), checkpoint.Name(to))
}

func (c *corrupt) copy(from, name string) { c.file(name, contents(c.t, from)) }

// cut cuts a checkpoint.
func (c *corrupt) cut(round int) { c.check(os.Truncate(c.path(checkpoint.Name(round)), 300)) }

// aside moves so many files of the run to a folder in it, run.json first and its curve next.
func (c *corrupt) aside(name string, most int) {
	c.check(os.Mkdir(c.path(name), 0o777))
	names := []string{results.RunFile, results.CurveFile}
	for _, path := range must.Get(filepath.Glob(c.path("checkpoint-*")))(c.t) {
		names = append(names, filepath.Base(path))
	}
	for _, file := range names[:min(most, len(names))] {
		c.check(os.Rename(c.path(file), filepath.Join(c.path(name), file)))
	}
}

// fill copies the files of another run into the folder.
func (c *corrupt) fill(dir string) {
	for _, name := range []string{results.CurveFile, results.RunFile} {
		c.copy(filepath.Join(dir, name), name)
	}
}

// copyAside copies the files of a run to .old.
func (c *corrupt) copyAside(dir string) {
	c.check(os.Mkdir(c.path(".old"), 0o777))
	for _, name := range []string{results.CurveFile, results.RunFile} {
		c.copy(filepath.Join(dir, name), filepath.Join(".old", name))
	}
}
