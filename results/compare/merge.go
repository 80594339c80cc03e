package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Merging says what [Merge] did.
type Merging struct {
	Runs   int      // copied
	Kept   int      // runs that the output folder had already, or that two sources had
	Tables []string // the tables whose summaries were written
	Notes  []string // runs of a cell that are not alike, damaged summaries, and numbers without runs
}

type mergeRun struct {
	source, place string // place is the run's folder below source: TABLE/CELL/seed-N
	run           results.Run
}

// Merge copies the runs of several output folders into one, and computes the summaries of its tables from the runs.
// Each source is an output folder with runs at TABLE/CELL/seed-N. If into exists, it is the first source.
//
// Two copies of a run with the same numbers become one; time, version and device may differ. A complete run replaces an
// incomplete one. Seeds of one cell that are not alike become a note, and are separate rows of the summary unless mixed
// is true.
//
// Merge checks everything before it writes anything. The error names all damaged files, all runs that differ in the
// same place, all seeds with the same numbers, all folders that are not output folders, and all files and links in the
// way; then nothing is written. Files appear complete, the run.json of a run last, so that an interrupted merge can be
// repeated.
func Merge(ctx context.Context, into string, sources []string, mixed bool) (m Merging, err error) {
	all := sources
	if _, err := os.Stat(into); err == nil {
		all = append([]string{into}, sources...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("results: merge: %w", err)
	}
	all = files.UniquePaths(all) // a folder that is named twice is one source
	if err := apart(into, all); err != nil {
		return m, err
	}
	chosen, refused, err := m.choose(ctx, all)
	if err != nil {
		return m, err
	}
	runs := make([]results.Run, len(chosen))
	for i, c := range chosen {
		runs[i] = c.run
	}
	benches, bad := benchRows(all)
	refused = slices.Concat(refused, bad, results.RefuseTwins(runs), checkPlaces(into, chosen))
	if len(refused) > 0 {
		return m, errors.Join(refused...)
	}
	// From here on nothing is refused, so writing may begin.
	m.notes(runs, all, mixed)
	swept := map[string]bool{}
	for _, c := range chosen {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		// A killed merge may have left something where nothing is written now.
		for place := c.place; !swept[place]; place = filepath.Dir(place) { // up to "."
			swept[place] = true
			files.Sweep(filepath.Join(into, place))
		}
		if c.source == into {
			continue
		}
		if err := results.CopyRun(&c.run, filepath.Join(into, c.place)); err != nil {
			return m, err
		}
		m.Runs++
	}
	tables, byTable := results.Grouped(chosen, func(c mergeRun) string { return tableAt(c.place) })
	for _, table := range tables {
		var inTable []results.Run
		for _, c := range byTable[table] {
			inTable = append(inTable, c.run)
		}
		// A table that no source has summarised gets no summary here either.
		var summaries []string
		for _, source := range all {
			path := filepath.Join(source, table, results.SummaryFile)
			if _, err := os.Stat(path); err == nil {
				summaries = append(summaries, path)
			}
		}
		if len(summaries) == 0 {
			continue // single runs, or the runs of a figure, which have no summary
		}
		path := filepath.Join(into, table, results.SummaryFile)
		if err := WriteSummary(path, table, inTable, mixed, summaries...); err != nil {
			return m, err
		}
		m.Tables = append(m.Tables, table)
		for _, source := range all {
			if err := addAbout(filepath.Join(into, table), filepath.Join(source, table)); err != nil {
				return m, err
			}
		}
	}
	if len(benches) == 0 {
		return m, nil
	}
	return m, files.WriteCSVFile(filepath.Join(into, results.BenchFile), benches)
}

// addAbout adds what the folder of a table says of its runs, names of cells and command lines, to another one.
func addAbout(into, from string) error {
	labels, err := results.ReadLabels(from)
	if err == nil && labels != nil {
		err = results.AddLabels(into, labels)
	}
	return cmp.Or(err, results.AddCommands(into, results.Commands(from)...))
}

// checkPlaces returns an error for each folder and each file of the output folder that cannot be written, and for each
// folder that is another one too, as links lead to it: two runs would be written to one place.
func checkPlaces(into string, chosen []mergeRun) (refused []error) {
	root := files.RealPath(into)
	checked := map[string]bool{}
	is := map[string]string{} // which folder has a path without links
	folder := func(path string) {
		if checked[path] {
			return
		}
		checked[path] = true
		real := files.RealPath(path)
		info, err := os.Stat(path)
		_, missing := os.Lstat(path)
		what := ""
		switch {
		case err != nil && missing == nil:
			what = fmt.Sprintf("a link, %v, want a folder", files.Cause(err))
		case err == nil && !info.IsDir():
			what = "a file, want a folder"
		case path != into && files.Contains(real, root):
			what = "a link to a folder that has the output folder in it, want one outside of that"
		case is[real] != "":
			what = fmt.Sprintf("the same folder as %s, want one of its own", is[real])
		}
		if what != "" {
			refused = append(refused, fmt.Errorf("results: merge: %s: %s", path, what))
		}
		is[real] = path
	}
	file := func(path string) {
		if err := files.CheckPlace(path); err != nil && !checked[path] {
			refused = append(refused, fmt.Errorf("results: merge: %s: %w", path, err))
		}
		checked[path] = true
	}
	folder(into)
	file(filepath.Join(into, results.BenchFile))
	for _, c := range chosen {
		cell := filepath.Dir(c.place)
		for _, place := range []string{filepath.Dir(cell), cell, c.place} {
			folder(filepath.Join(into, place))
		}
		file(filepath.Join(into, filepath.Dir(cell), results.SummaryFile))
		if c.source == into {
			continue
		}
		for _, name := range slices.Concat(c.run.Written(), results.RunFiles) {
			file(filepath.Join(into, c.place, name))
		}
	}
	return refused
}

// WriteSummary writes the summary of the runs of a table, those that are not alike in rows of their own unless mixed.
// It has the table's metrics and those of the older summaries, and their order where the paper has none.
func WriteSummary(path, table string, runs []results.Run, mixed bool, older ...string) error {
	rows := papers.Summaries(table, runs, mixed, results.MetricsIn(older...)...)
	results.InGivenOrder(rows, older...)
	SortSummary(table, rows)
	return results.WriteSummary(path, rows)
}

// tableAt returns the table in a run's place, TABLE/CELL/seed-N.
func tableAt(place string) string {
	table, _, _ := strings.Cut(filepath.ToSlash(place), "/")
	return table
}

// apart returns an error if one of the folders contains another, since the runs would then be sources of themselves.
func apart(into string, folders []string) error {
	all := files.UniquePaths(append([]string{into}, folders...))
	for _, a := range all {
		for _, b := range all {
			if a != b && files.Contains(files.RealPath(a), files.RealPath(b)) {
				return fmt.Errorf("results: merge: %s is in %s, or the same, want output folders "+
					"that are not inside each other",
					b, a)
			}
		}
	}
	return nil
}

// choose returns the best run for each place, and an error for each run that cannot be merged.
func (m *Merging) choose(ctx context.Context, sources []string) (chosen []mergeRun, refused []error, err error) {
	at := map[string]int{}
	for _, source := range sources {
		dirs, err := results.RunFolders(ctx, source)
		if err != nil {
			return nil, nil, err
		}
		for _, dir := range dirs {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			place, err := filepath.Rel(source, dir)
			if err != nil {
				return nil, nil, fmt.Errorf("results: merge: %w", err)
			}
			if strings.Count(filepath.ToSlash(place), "/") != 2 {
				refused = append(refused, fmt.Errorf("results: merge: %s: a run at %s, want TABLE/CELL/seed-N: "+
					"is %s the folder that --out of run or table names?", source, place, source))
				continue
			}
			run, bad := results.ReadRunFolder(dir)
			for _, f := range run.Beside {
				if !f.Foreign { // or the merged run would lack it without a word
					bad = append(bad, f.Err)
				}
			}
			if refused = append(refused, bad...); run.Damaged || len(run.Curve) == 0 {
				continue
			}
			i, twice := at[place]
			if !twice {
				at[place] = len(chosen)
				chosen = append(chosen, mergeRun{source, place, run})
				continue
			}
			m.Kept++
			switch better, err := betterRun(&chosen[i].run, &run); {
			case err != nil:
				refused = append(refused, err)
			case better:
				chosen[i] = mergeRun{source, place, run}
			}
		}
	}
	return chosen, refused, nil
}

// betterRun reports whether b, a run in the same place, is better than a. It is an error if both are complete but
// differ.
func betterRun(a, b *results.Run) (bool, error) {
	// Of two runs that are not both complete, the complete one wins, then the longer one.
	if done, other := a.Status() == results.RunComplete, b.Status() == results.RunComplete; !done || !other {
		return !done && (other || b.Rounds() > a.Rounds()), nil
	}
	file := func(r *results.Run, name string) string { return filepath.Join(r.Dir, name) }
	differ := a.Likeness().Unlike(b.Likeness())
	if a.Info.DataChecksum != b.Info.DataChecksum {
		differ = append(differ, fmt.Sprintf("data checksum %s and %s", a.Info.DataChecksum, b.Info.DataChecksum))
	}
	// Compact drops the second of two equal words: the likeness has the checksum too, unless the data were generated.
	if differ != nil {
		return false, fmt.Errorf("results: merge: %s and %s: the same place, but they differ: %s",
			file(a, results.RunFile), file(b, results.RunFile), strings.Join(slices.Compact(differ), "; "))
	}
	if err := results.SameNumbers(a.Curve, b.Curve); err != nil {
		return false, fmt.Errorf("results: merge: %s and %s: the same run, but %w",
			file(a, results.CurveFile), file(b, results.CurveFile), err)
	}
	// The files that statuses and curves do not cover must be the same bytes.
	for _, name := range []string{results.DecisionsFile, results.ClientsFile} {
		if !slices.Contains(a.Extra, name) || !slices.Contains(b.Extra, name) {
			continue
		}
		same, err := files.Same(file(a, name), file(b, name))
		if err != nil {
			return false, fmt.Errorf("results: merge: %w", err)
		}
		if !same {
			return false, fmt.Errorf("results: merge: %s and %s: the same run, but the files differ",
				file(a, name), file(b, name))
		}
	}
	return false, nil
}

// notes adds a note for each difference between runs of one cell, and for each summary with numbers that have no runs.
func (m *Merging) notes(runs []results.Run, sources []string, mixed bool) {
	consequence := "they have separate rows"
	if mixed {
		consequence = "they are mixed, and compared with nothing"
	}
	keys, cells := results.Grouped(runs, func(r results.Run) results.CellKey { return r.Key() })
	for _, key := range keys {
		var first *results.Run
		said := map[string]bool{}
		for i := range cells[key] {
			r := &cells[key][i]
			if r.Info == nil { // a run without run.json has no likeness
				continue
			}
			if first == nil {
				first = r
			}
			if differ := strings.Join(first.Likeness().Unlike(r.Likeness()), "; "); differ != "" && !said[differ] {
				said[differ] = true
				m.Notes = append(m.Notes, fmt.Sprintf("%s and %s are not alike: %s: %s",
					first.Dir, r.Dir, differ, consequence))
			}
		}
	}
	for _, source := range sources {
		// Summaries are not copied, because they would vouch for runs that the merge did not see.
		tables, _ := fs.Glob(os.DirFS(source), "*/"+results.SummaryFile) // the pattern is well formed
		for _, name := range tables {
			path := filepath.Join(source, name)
			rows, _, bad := files.ReadCSVFileLenient[results.SummaryRow](path, files.MostTable)
			for _, err := range bad {
				m.Notes = append(m.Notes, err.Error())
			}
			left := slices.DeleteFunc(rows, func(r results.SummaryRow) bool {
				return r.N == 0 || cells[r.CellKey()] != nil
			})
			if len(left) > 0 {
				m.Notes = append(m.Notes, fmt.Sprintf("%s: %d numbers without runs are left out", path, len(left)))
			}
		}
	}
}

// benchRows returns the speed measurements of all sources, each once, in the order of time.
func benchRows(sources []string) (rows []results.BenchRow, refused []error) {
	for _, source := range sources {
		path := filepath.Join(source, results.BenchFile)
		found, _, bad := files.ReadCSVFileLenient[results.BenchRow](path, files.MostTable)
		for _, err := range bad {
			if !errors.Is(err, fs.ErrNotExist) {
				refused = append(refused, err)
			}
		}
		for _, r := range found {
			if !slices.ContainsFunc(rows, func(o results.BenchRow) bool {
				return o.Time.Equal(r.Time) && fmt.Sprint(o) == fmt.Sprint(r)
			}) {
				rows = append(rows, r)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b results.BenchRow) int { return a.Time.Compare(b.Time) })
	return rows, refused
}
