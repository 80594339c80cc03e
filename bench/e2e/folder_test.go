package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/report"
)

func TestLinkedFolder(t *testing.T) {
	at := t.TempDir()
	out, link := filepath.Join(at, "out"), filepath.Join(at, "link")
	must.OK(t, os.Symlink(out, link))
	pass(t, smallSweep(out, "--methods", "fedawe,mifa", "--seeds", "3,4")...)
	o := pass(t, smallSweep(link, "--methods", "fedawe,mifa", "--seeds", "3,4")...)
	if strings.Contains(o.stderr, "round 0") || strings.Count(o.stderr, "2 finished runs kept") != 2 {
		t.Errorf("sweep: %s, want all kept", o.stderr)
	}
	cell := filepath.Base(filepath.Dir(filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json"))))
	for _, line := range []string{
		"results list DIR", "results verify DIR", "results verify DIR --json", "results diff DIR " + out,
		"results export sweep DIR", "results show " + cell + " --out DIR", "results merge DIR --out DIR-all",
		"report DIR --to DIR-report",
	} {
		said := map[string]string{}
		for _, dir := range []string{out, link} {
			o := pass(t, strings.Fields(strings.ReplaceAll(line, "DIR", dir))...)
			said[dir] = strings.ReplaceAll(o.stdout, dir, "DIR")
		}
		if of := strings.ReplaceAll(said[out], "DIR", out); of == "" ||
			of != strings.ReplaceAll(said[link], "DIR", out) {
			t.Errorf("%s: %q of the folder, %q of the link, want the same", line, said[out], said[link])
		}
	}
	for _, made := range []string{"-all", "-report"} {
		if a, b := filesBelow(t, out+made), filesBelow(t, link+made); len(a) != len(b) || len(a) == 0 {
			t.Errorf("%s: %d files and %d, want the same", made, len(a), len(b))
		}
	}
	if page := contents(t, filepath.Join(link+"-report", report.Page)); !strings.Contains(page, "mifa") {
		t.Error("the report of the link has no run")
	}
}

// An output folder that is a link to nothing, or in one, is told as that.
func TestFolderLinkedToNothing(t *testing.T) {
	at := t.TempDir()
	out, link := filepath.Join(at, "out"), filepath.Join(at, "link")
	pass(t, smallRun(out)...)
	must.OK(t, os.Symlink("nothing", link))
	for _, line := range [][]string{
		smallRun(link), smallRun(filepath.Join(link, "a", "b")),
		{"report", out, "--to", link},
		{"report", out, "--to", filepath.Join(link, "a")},
		{"bench", "--data", "leaf", "--out", link},
	} {
		oneLineError(t, rollcall(t, line...), statusFailure, link+" is a link to nothing, which is not there")
	}
	if _, err := os.Lstat(filepath.Join(at, "nothing")); err == nil {
		t.Error("the folder behind the link was made")
	}
}

// removeAll removes a folder into which a process writes meanwhile: what is written between the listing and the removal
// of a folder makes os.RemoveAll fail.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			break
		}
	}
	return err
}

// An output folder that goes away in the middle, or whose place something else takes, ends in an error or in all files.
func TestVanishedFolder(t *testing.T) {
	longtest.Only(t, "an output folder that vanishes at many moments")
	top := t.TempDir()
	for name, spoil := range map[string]func(out string) error{
		"removed": removeAll,
		"a file in its place": func(out string) error {
			if err := removeAll(out); err != nil {
				return err
			}
			return os.WriteFile(out, nil, 0o666)
		},
		"a link to nowhere in its place": func(out string) error {
			if err := removeAll(out); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(top, "nowhere"), out)
		},
	} {
		out := filepath.Join(top, strings.Fields(name)[0]+"out")
		o := meanwhile(t, "round 2/4", func() {
			if err := spoil(out); err != nil {
				t.Error(err)
			}
		}, smallSweep(out, "--methods", "fedawe", "--seeds", "3,4")...)
		if o.status == statusOK {
			pass(t, "results", "verify", out)
			if n := len(filesBelow(t, out)); n < 5 {
				t.Errorf("%s: status 0 and %d files, want two runs and a summary\n%s", name, n, o.stderr)
			}
		} else if o.status != statusFailure || !strings.Contains(o.stderr, out) {
			t.Errorf("%s: status %d, want 1 and the folder in\n%s", name, o.status, o.stderr)
		}
	}
}

// A folder that is removed or moved under a run is told as that, and not made again. What is moved has the run up to
// then; a run whose folder is where it was, by whatever way, goes on.
func TestGoneFolder(t *testing.T) {
	seed := func(t *testing.T, out string) string { return must.Get(filepath.Glob(out + "/run/*/seed-3"))(t)[0] }
	moved := func(t *testing.T, out string) { must.OK(t, os.Rename(out, out+"2")) }
	remove := func(t *testing.T, path string) { must.OK(t, removeAll(path)) }
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, out string)
		moved  string // where a checkpoint of the run is then, below the folder of the output folder; empty: nowhere
		status int
	}{
		"removed":     {remove, "", statusFailure},
		"the seed's":  {func(t *testing.T, out string) { remove(t, seed(t, out)) }, "", statusFailure},
		"the table's": {func(t *testing.T, out string) { remove(t, out+"/run") }, "", statusFailure},
		"moved":       {moved, "out2/run/*/seed-3", statusFailure},
		"the seed moved": {
			func(t *testing.T, out string) { moved(t, seed(t, out)) }, "out/run/*/seed-32", statusFailure,
		},
		"another in its place": {func(t *testing.T, out string) {
			must.OK(t, errors.Join(os.Rename(out, out+"2"), os.Mkdir(out, 0o777)))
		}, "out2/run/*/seed-3", statusFailure},
		"a file in its place": {func(t *testing.T, out string) {
			must.OK(t, errors.Join(removeAll(out), os.WriteFile(out, nil, 0o666)))
		}, "", statusFailure},
		"another in the seed's place": {func(t *testing.T, out string) {
			dir := seed(t, out)
			moved(t, dir)
			must.OK(t, os.Mkdir(dir, 0o777))
		}, "out/run/*/seed-32", statusFailure},
		"a file in the seed's place": {func(t *testing.T, out string) {
			dir := seed(t, out)
			moved(t, dir)
			must.OK(t, os.WriteFile(dir, []byte("mine\n"), 0o666))
		}, "out/run/*/seed-32", statusFailure},
		"a link in the seed's place": {func(t *testing.T, out string) {
			dir := seed(t, out)
			moved(t, dir)
			must.OK(t, errors.Join(os.Mkdir(out+"/mine", 0o777), os.Symlink(out+"/mine", dir)))
		}, "out/run/*/seed-32", statusFailure},
		"a link to where it is": {func(t *testing.T, out string) {
			must.OK(t, errors.Join(os.Rename(out, out+"2"), os.Symlink("out2", out)))
		}, "", statusOK},
		"a copy of it": {func(t *testing.T, out string) {
			copyTree(t, out, out+"2")
			must.OK(t, errors.Join(removeAll(out), os.Rename(out+"2", out)))
		}, "", statusOK},
		"without its lock": {func(t *testing.T, out string) { remove(t, seed(t, out)+"/.lock") }, "", statusOK},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			o := meanwhile(t, ": round 2/", func() { c.spoil(t, out) },
				smallRun(out, "--rounds", "300", "--checkpoint-every", "1ms")...)
			if c.status == statusOK {
				succeeded(t, o, []string{name})
				pass(t, "results", "verify", out)
				return
			}
			oneLineError(t, o, statusFailure, "the output folder was removed or moved while the run was in it", out)
			again := filepath.Join(out, "run", "*", "seed-3")
			if strings.HasSuffix(name, "in the seed's place") {
				again += "/*"
			}
			if left := must.Get(filepath.Glob(again))(t); len(left) > 0 {
				t.Errorf("made again: %q", left)
			}
			if info, err := os.Lstat(out); name == "a file in its place" && (err != nil || !info.Mode().IsRegular()) {
				t.Errorf("%v, %v, want the file to stay", info, err)
			}
			if c.moved == "" {
				return
			}
			if runtime.GOOS != "linux" {
				t.Skip("the system does not say where a file was moved")
			}
			_, round, _ := strings.Cut(strings.TrimSpace(o.stderr), "now, with a checkpoint of round ")
			only(t, filepath.Dir(out), filepath.Join(c.moved, "checkpoint-"+round+".safetensors"))
		})
	}
	// A sweep ends with its folder, and makes no other run in it.
	out := filepath.Join(t.TempDir(), "out")
	o := meanwhile(t, "round 2/", func() { must.OK(t, removeAll(out)) },
		smallSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4", "--rounds", "100")...)
	if _, err := os.Stat(out); err == nil || o.status != statusFailure ||
		!strings.Contains(o.stderr, "the output folder was removed or moved") {
		t.Errorf("status %d, %q, folder %v, want an end without a new folder", o.status, o.stderr, err)
	}
}

// What is no file is an error at once of the commands that read it, which names it, and of no others. See also
// [irregularFiles].
func TestIrregularFiles(t *testing.T) {
	source := t.TempDir()
	pass(t, smallSweep(source, "--methods", "ca-fed")...)
	seed := must.Get(filepath.Rel(source, filepath.Dir(only(t, source, "sweep/*/seed-3/run.json"))))(t)
	for _, kind := range []string{"a pipe", "a folder", "a link to a device"} {
		put := irregular[kind]
		for _, c := range []struct {
			file           string
			report, merges int // status of `report` and `results merge`
		}{
			{filepath.Join(seed, "mine.csv"), statusFailure, statusOK},
			{filepath.Join("sweep", results.SummaryFile), statusFailure, statusOK},
			{results.BenchFile, statusFailure, statusFailure},
		} {
			t.Run(filepath.Base(c.file)+"/"+kind, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out")
				copyTree(t, source, out)
				path := filepath.Join(out, c.file)
				must.OK(t, errors.Join(os.RemoveAll(path), put(path)))
				if kind == "a folder" && filepath.Base(c.file) == "mine.csv" {
					c.report = statusOK
				}
				for line, status := range map[string]int{
					"report OUT --to OUT-report": c.report, "results merge OUT --out OUT-all": c.merges,
					"results list OUT": statusOK, "results verify OUT": statusOK, "results export sweep OUT": statusOK,
				} {
					o := rollcall(t, strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
					if o.status != status || status != statusOK && !strings.Contains(o.stderr, filepath.Base(c.file)) {
						t.Errorf("%s: status %d, %q, want %d and the file named", line, o.status, o.stderr, status)
					}
				}
			})
		}
		path, dir := filepath.Join(t.TempDir(), "trace.csv"), t.TempDir()
		must.OK(t, errors.Join(put(path), put(filepath.Join(dir, "history.csv"))))
		o := rollcall(t, small(t.TempDir(), "--availability", "trace", "--trace", path)...)
		if o.status == statusOK || !strings.Contains(o.stderr, "--trace: "+path) ||
			!strings.Contains(o.stderr, "want a file") {
			t.Errorf("%s: status %d, %q, want that --trace is no file", kind, o.status, o.stderr)
		}
		o = rollcall(t, "track", "status", "--history", dir)
		if o.status == statusOK || kind != "a folder" && !strings.Contains(o.stderr, "history.csv: ") {
			t.Errorf("%s: status %d, %q, want an error that names it", kind, o.status, o.stderr)
		}
	}
}
