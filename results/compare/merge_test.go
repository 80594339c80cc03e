package compare

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// summarised writes the summary of a table from its runs.
func summarised(t *testing.T, out, table string) {
	t.Helper()
	runs, _ := must.Get2(results.FindRuns(t.Context(), filepath.Join(out, table)))(t)
	path := filepath.Join(out, table, results.SummaryFile)
	must.OK(t, results.WriteSummary(path, papers.Summaries(table, runs, false)))
}

func TestMerge(t *testing.T) {
	a, b, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
	run := func(out, method string, seed uint32, acc float64, status results.RunStatus) string {
		r := resultstest.SmallRun{
			Table: "fedawe-2", Method: method, Seed: seed, Rounds: 1,
			Acc: []float64{0.1, acc}, Status: status, Version: filepath.Base(out),
		}
		if status != results.RunComplete {
			r.Acc = r.Acc[:1]
		}
		return resultstest.WriteRun(t, out, r)
	}
	run(a, "mifa", 3, 0.2, results.RunComplete)
	run(b, "mifa", 3, 0.2, results.RunComplete) // the same numbers of another version
	run(b, "mifa", 4, 0.4, results.RunComplete)
	run(a, "fedau", 3, 0.15, results.RunInterrupted)
	whole := run(b, "fedau", 3, 0.3, results.RunComplete) // replaces the interrupted one
	info := must.Get(results.ReadRunInfo(filepath.Join(whole, results.RunFile)))(t)
	for _, name := range []string{results.DecisionsFile, "id_rsa", ".rollcall-x.tmp"} { // known files alone are copied
		must.OK(t, os.WriteFile(filepath.Join(whole, name), []byte("x\n"), 0o666))
	}
	resultstest.Sign(t, whole, info)
	summarised(t, a, "fedawe-2")
	summarised(t, b, "fedawe-2")
	for _, out := range []string{a, b} {
		err := results.AppendBench(filepath.Join(out, results.BenchFile), results.BenchRow{Version: filepath.Base(out)})
		if err != nil {
			t.Fatal(err)
		}
	}
	m := must.Get(Merge(t.Context(), into, []string{a, b}, false))(t)
	if m.Runs != 3 || m.Kept != 2 {
		t.Errorf("%d copied, %d twice, want 3 and 2", m.Runs, m.Kept)
	}
	rows, err := results.ReadSummary(filepath.Join(into, "fedawe-2", results.SummaryFile))
	rows = slices.DeleteFunc(rows, func(r results.SummaryRow) bool { return r.Metric != metrics.TestAcc })
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %d rows, want fedau and mifa", err, len(rows))
	}
	// In the order of Table 2: fedau before mifa. mifa's mean is over both machines' seeds: (0.2 + 0.4) / 2.
	if rows[0].Method != "fedau" || rows[0].Mean.Value != 0.3 || rows[1].Method != "mifa" || rows[1].N != 2 ||
		rows[1].Mean != stats.Mean([]float64{0.2, 0.4}) {
		t.Errorf("%+v, want fedau 0.3 and mifa 0.3 of 2 seeds", rows)
	}
	want := filepath.Base(a) + " and " + filepath.Base(b)
	if rows[0].Version != filepath.Base(b) || rows[1].Version != want {
		t.Errorf("versions %q and %q, want the whole run's, and %q", rows[0].Version, rows[1].Version, want)
	}
	runs, bad, err := results.FindRuns(t.Context(), into)
	resultstest.MustHold(t, bad)
	if err != nil || len(runs) != 3 || runs[0].Status() != results.RunComplete || len(runs[0].Extra) != 1 {
		t.Errorf("%v, %d runs %+v, want 3, fedau's complete with its other file", err, len(runs), runs)
	}
	bench, err := files.ReadCSVFile[results.BenchRow](filepath.Join(into, results.BenchFile), files.MostTable)
	if err != nil || len(bench) != 2 {
		t.Errorf("%v, %d speed measurements, want both", err, len(bench))
	}
	// Again, and in the other order: nothing changes.
	before := must.Get(os.ReadFile(filepath.Join(into, "fedawe-2", results.SummaryFile)))(t)
	if m, err = Merge(t.Context(), into, []string{b, a}, false); err != nil || m.Runs != 0 {
		t.Errorf("again: %v, %d copied, want none", err, m.Runs)
	}
	if after, err := os.ReadFile(filepath.Join(into, "fedawe-2", results.SummaryFile)); err != nil ||
		string(after) != string(before) {
		t.Errorf("again: %v, the summary changed", err)
	}
}

// Two that differ are named, and nothing is written.
func TestMergeClashes(t *testing.T) {
	good := resultstest.SmallRun{
		Table: "fedawe-2", Method: "mifa", Seed: 3, Acc: []float64{0.1, 0.2},
		Status: results.RunComplete, Checksum: "1",
	}
	for name, c := range map[string]struct {
		change func(r *resultstest.SmallRun)
		file   string
	}{
		"numbers": {func(r *resultstest.SmallRun) { r.Acc = []float64{0.1, 0.3} }, results.CurveFile},
		"data":    {func(r *resultstest.SmallRun) { r.Checksum = "2" }, results.RunFile},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
			other := good
			c.change(&other)
			x, y := resultstest.WriteRun(t, a, good), resultstest.WriteRun(t, b, other)
			_, err := Merge(t.Context(), into, []string{a, b}, false)
			if err == nil || !strings.Contains(err.Error(), filepath.Join(x, c.file)) ||
				!strings.Contains(err.Error(), filepath.Join(y, c.file)) {
				t.Errorf("%v, want both %s named", err, c.file)
			}
			if _, err := os.Stat(into); err == nil {
				t.Error("something was written, want nothing")
			}
		})
	}
}

// Numbers without their runs are left out, and said to be.
func TestMergeSummaries(t *testing.T) {
	a, into := filepath.Join(t.TempDir(), "[1"), filepath.Join(t.TempDir(), "all")
	resultstest.WriteRun(t, a, resultstest.Complete("fedawe-2", "mifa", 3, 0.1, 0.2))
	alone := results.SummaryRow{
		Setup:  results.Setup{Table: "../../elsewhere", Method: "mifa", Data: "svhn", Availability: "sine"},
		Metric: metrics.TestAcc, N: 3, Mean: files.Some(0.5), Status: results.CellOK,
	}
	path := filepath.Join(a, "fedawe-2", results.SummaryFile)
	must.OK(t, results.WriteSummary(path, []results.SummaryRow{alone}))
	filestest.Append(t, path, "damaged\n")
	m, err := Merge(t.Context(), into, []string{a}, false)
	if err != nil || len(m.Notes) != 2 || m.Notes[1] != path+": 1 numbers without runs are left out" ||
		!strings.Contains(m.Notes[0], path+": line 3: ") {
		t.Errorf("%v, notes %q, want the damaged line, and the one number that has no run", err, m.Notes)
	}
	rows, err := results.ReadSummary(filepath.Join(into, "fedawe-2", results.SummaryFile))
	if err != nil || len(rows) != 2 || rows[0].Method != "mifa" || rows[0].Data != "cifar10" {
		t.Errorf("%v, %+v, want the numbers of the run", err, rows)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(into), "elsewhere")); err == nil {
		t.Error("a path was made of what a summary says")
	}
}

// Seeds that are not alike are copied, said, and stand apart, or are mixed.
func TestMergeUnlike(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *resultstest.SmallRun)
		note   string
	}{
		"numerics": {
			func(r *resultstest.SmallRun) { r.Numerics = "cuda-sm90-tf32" },
			"numerics cpu-fp32 and cuda-sm90-tf32",
		},
		"revision": {func(r *resultstest.SmallRun) { r.Revisions.Net = 2 }, "net revision 0 and 2"},
		"data":     {func(r *resultstest.SmallRun) { r.Checksum = "2" }, "data checksum sha256: and sha256:2"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := t.TempDir(), t.TempDir()
			r := resultstest.Complete("fedawe-2", "mifa", 3, 0.1, 0.2)
			resultstest.WriteRun(t, a, r)
			summarised(t, a, "fedawe-2")
			r.Seed, r.Acc = 4, []float64{0.1, 0.4}
			c.change(&r)
			resultstest.WriteRun(t, b, r)
			for _, mixed := range []bool{false, true} {
				into := filepath.Join(t.TempDir(), "all")
				m, err := Merge(t.Context(), into, []string{a, b}, mixed)
				if err != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], c.note) {
					t.Errorf("%v, notes %q, want %q", err, m.Notes, c.note)
				}
				rows := must.Get(results.ReadSummary(filepath.Join(into, "fedawe-2", results.SummaryFile)))(t)
				if !mixed && (len(rows) != 4 || rows[0].N != 1 || rows[0].Status != results.CellOK) {
					t.Errorf("%+v, want two rows of one seed for each metric", rows)
				}
				if mixed && (len(rows) != 2 || rows[0].N != 2 || rows[0].Status != results.CellMixed ||
					rows[0].Error == "") {
					t.Errorf("%+v, want a row of two seeds for each metric, mixed", rows)
				}
			}
		})
	}
}

// What cannot be merged is named, all of it, and nothing is written.
func TestMergeRefuses(t *testing.T) {
	whole := func(t *testing.T) (out string) {
		out = t.TempDir()
		for i, seed := range []uint32{3, 4} {
			resultstest.WriteRun(t, out, resultstest.SmallRun{
				Table: "run", Method: "mifa", Seed: seed,
				Acc: []float64{0.1, 0.2 + 0.1*float64(i)}, Status: results.RunComplete,
			})
		}
		return out
	}
	for name, c := range map[string]struct {
		source func(t *testing.T, out string) (source string)
		want   string
	}{
		"damaged": {func(t *testing.T, out string) string {
			found, _ := filepath.Glob(filepath.Join(out, "run", "*", "seed-4", results.CurveFile))
			filestest.Append(t, found[0], "run,mifa")
			return out
		}, "curve.csv: line 4"},
		"table's folder": {
			func(_ *testing.T, out string) string { return filepath.Join(out, "run") },
			"want TABLE/CELL/seed-N",
		},
		"bench.csv": {func(t *testing.T, out string) string {
			must.OK(t, os.WriteFile(filepath.Join(out, results.BenchFile), []byte("x\n"), 0o666))
			return out
		}, "bench.csv: line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "all")
			_, err := Merge(t.Context(), into, []string{c.source(t, whole(t))}, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Stat(into); err == nil {
				t.Error("something was written, want nothing")
			}
		})
	}
	out := whole(t)
	if _, err := Merge(t.Context(), filepath.Join(out, "all"), []string{out}, false); err == nil ||
		!strings.Contains(err.Error(), "is in "+out) {
		t.Errorf("into a folder of a source: %v, want it refused", err)
	}
}

// Links in the output folder are followed, and what cannot be written is found before anything is.
func TestMergeIntoLinks(t *testing.T) {
	write := func(t *testing.T, out string, seed uint32, acc float64) (dir string) {
		return resultstest.WriteRun(t, out, resultstest.SmallRun{
			Table: "run", Method: "mifa", Seed: seed, Acc: []float64{0.1, acc}, Status: results.RunComplete,
		})
	}
	link := func(t *testing.T, to, path string) {
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.OK(t, os.Symlink(to, path))
	}
	file := func(t *testing.T, path string) {
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.OK(t, os.WriteFile(path, []byte("mine\n"), 0o666))
	}
	// into is the output folder, other another one, and place the folder of seed 3 in the source: run/CELL/seed-3.
	for name, c := range map[string]struct {
		prepare func(t *testing.T, into, other, place string)
		want    string // of the error; "": there is none
	}{
		"table with other numbers": {func(t *testing.T, into, other, _ string) {
			write(t, other, 3, 0.9)
			link(t, filepath.Join(other, "run"), filepath.Join(into, "run"))
		}, "they differ in line 3"},
		"cell with other numbers": {func(t *testing.T, into, other, place string) {
			write(t, other, 3, 0.9)
			link(t, filepath.Join(other, filepath.Dir(place)), filepath.Join(into, filepath.Dir(place)))
		}, "they differ in line 3"},
		"seed with other numbers": {func(t *testing.T, into, other, place string) {
			link(t, write(t, other, 3, 0.9), filepath.Join(into, place))
		}, "they differ in line 3"},
		"seed with another's file": {func(t *testing.T, into, other, place string) {
			file(t, filepath.Join(other, results.CurveFile))
			link(t, other, filepath.Join(into, place))
		}, "curve.csv: line 1: unknown column"},
		"table with the same numbers": {func(t *testing.T, into, other, _ string) {
			write(t, other, 3, 0.2)
			link(t, filepath.Join(other, "run"), filepath.Join(into, "run"))
		}, ""},
		"empty table": {func(t *testing.T, into, other, _ string) {
			link(t, other, filepath.Join(into, "run"))
		}, ""},
		"two tables in one folder": {func(t *testing.T, into, other, _ string) {
			resultstest.WriteRun(t, into, resultstest.Complete("sweep", "mifa", 5, 0.1, 0.5))
			link(t, "sweep", filepath.Join(into, "run"))
		}, "run: the same folder as "},
		"two seeds in one folder": {func(t *testing.T, into, other, place string) {
			link(t, other, filepath.Join(into, place))
			link(t, other, filepath.Join(into, filepath.Dir(place), "seed-4"))
		}, "seed-4: the same folder as "},
		"table is the output folder": {func(t *testing.T, into, _, _ string) {
			link(t, ".", filepath.Join(into, "run"))
		}, "run: a link to a folder that has the output folder in it"},
		"table is above the output folder": {func(t *testing.T, into, _, _ string) {
			link(t, "..", filepath.Join(into, "run"))
		}, "run: a link to a folder that has the output folder in it"},
		"link to nothing": {func(t *testing.T, into, _, _ string) {
			link(t, "nothing", filepath.Join(into, "run"))
		}, "run: a link, no such file or directory, want a folder"},
		"link to itself": {func(t *testing.T, into, _, _ string) {
			link(t, "run", filepath.Join(into, "run"))
		}, "run: a link, too many levels of symbolic links, want a folder"},
		"output folder is a link to nothing": {func(t *testing.T, into, _, _ string) {
			must.OK(t, os.Remove(into))
			link(t, "nothing", into)
		}, "all: a link, no such file or directory, want a folder"},
		"table is a file": {
			func(t *testing.T, into, _, _ string) { file(t, filepath.Join(into, "run")) },
			"run: a file, want a folder",
		},
		"cell is a file": {func(t *testing.T, into, _, place string) {
			file(t, filepath.Join(into, filepath.Dir(place)))
		}, ": a file, want a folder"},
		"seed is a file": {
			func(t *testing.T, into, _, place string) { file(t, filepath.Join(into, place)) },
			"seed-3: a file, want a folder",
		},
		"file of a run is a folder": {func(t *testing.T, into, _, place string) {
			must.OK(t, os.MkdirAll(filepath.Join(into, place, results.ClientsFile), 0o777))
		}, "clients.csv: a folder, want a file"},
		"summary is a folder": {func(t *testing.T, into, _, _ string) {
			must.OK(t, os.MkdirAll(filepath.Join(into, "run", results.SummaryFile), 0o777))
		}, "summary.csv: a folder, want a file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			source, into, other := filepath.Join(dir, "out"), filepath.Join(dir, "all"), filepath.Join(dir, "other")
			must.OK(t, os.Mkdir(into, 0o777))
			must.OK(t, os.Mkdir(other, 0o777))
			place := must.Get(filepath.Rel(source, write(t, source, 3, 0.2)))(t)
			write(t, source, 4, 0.4)
			c.prepare(t, into, other, place)
			before := tree(t, dir)
			_, err := Merge(t.Context(), into, []string{source}, false)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
				runs, bad := must.Get2(results.FindRuns(t.Context(), into))(t)
				resultstest.MustHold(t, bad)
				if len(runs) != 2 {
					t.Errorf("%d runs in the output folder, want 2", len(runs))
				}
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %q", err, c.want)
			case tree(t, dir) != before:
				t.Errorf("the files are\n%s\nwere\n%s\nwant no change", tree(t, dir), before)
			}
		})
	}
}

// tree returns the paths below a folder with what is in the files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		text, _ := os.ReadFile(path) // none of a folder and of a link
		all.WriteString(path + "\n" + string(text))
		return err
	}))
	return all.String()
}

// A folder that does not exist yet is in a source if the source is a link.
func TestMergeThroughLink(t *testing.T) {
	dir := t.TempDir()
	out, linked := filepath.Join(dir, "out"), filepath.Join(dir, "linked")
	resultstest.WriteRun(t, out, resultstest.Complete("run", "mifa", 3, 0.1, 0.2))
	must.OK(t, os.Symlink("out", linked))
	for _, c := range []struct{ source, into string }{
		{linked, filepath.Join(linked, "sub")},
		{linked, filepath.Join(linked, "a", "b")},
		{linked, filepath.Join(out, "sub")},
		{out, filepath.Join(linked, "sub")},
		{filepath.Join(linked, "run"), filepath.Join(out, "run", "sub")},
	} {
		_, err := Merge(t.Context(), c.into, []string{c.source}, false)
		if err == nil || !strings.Contains(err.Error(), c.into+" is in "+c.source) {
			t.Errorf("%s into %s: %v, want it refused", c.source, c.into, err)
		}
		if names := filestest.FileNames(t, out); names != "run" {
			t.Errorf("%s into %s: the source has %s, want run", c.source, c.into, names)
		}
	}
}
