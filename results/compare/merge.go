package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/papers"
)

// Merging says what a merge has done.
type Merging struct {
	Runs   int      // copied
	Kept   int      // that were in the output folder already, or in two sources
	Tables []string // whose summaries were written
	Notes  []string // what there is to know: runs of a cell that are not alike, numbers that no run stands behind
}

// mergeRun is a run's folder below one source.
type mergeRun struct {
	source, place string // place: TABLE/CELL/seed-N
	run           results.Run
}

// Merge copies the runs of output folders into one, and writes the summaries of its tables anew, from the runs alone.
// Each source is an output folder, with TABLE/CELL/seed-N below it; into may exist, and then counts as the first
// source.
//
// A run that is there twice with the same numbers is kept once; time, version and device may differ. Where one is
// complete and the other is not, the complete one is taken. Everything is looked at before anything is written: a file
// that is not what it says, runs that differ and are in the same place, seeds with the same numbers, a folder that is
// no output folder are an error each, all are named, and nothing is written. Seeds of one cell that are not alike are a
// note, and stand apart in the summary unless they are to be mixed.
//
// Files appear whole, a run's run.json last, so that a merge that was stopped can be repeated.
func Merge(ctx context.Context, into string, sources []string, mixed bool) (m Merging, err error) {
	all := sources
	if _, err := os.Stat(into); err == nil {
		all = append([]string{into}, sources...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("results: merge: %w", err)
	}
	all = results.UniquePaths(all)
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
	refused = slices.Concat(refused, bad, results.RefuseTwins(runs))
	if len(refused) > 0 {
		return m, errors.Join(refused...)
	}
	m.notes(runs, all, mixed)
	for _, c := range chosen {
		if err := ctx.Err(); err != nil {
			return m, err
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
		var of []results.Run
		for _, c := range byTable[table] {
			of = append(of, c.run)
		}
		if !slices.ContainsFunc(all, func(source string) bool {
			_, err := os.Stat(filepath.Join(source, table, results.SummaryFile))
			return err == nil
		}) {
			continue // single runs, or those of a figure
		}
		rows := papers.Summaries(table, of, mixed)
		SortSummary(table, rows)
		if err := results.WriteSummary(filepath.Join(into, table, results.SummaryFile), rows); err != nil {
			return m, err
		}
		m.Tables = append(m.Tables, table)
	}
	if len(benches) == 0 {
		return m, nil
	}
	return m, files.WriteCSVFile(filepath.Join(into, results.BenchFile), benches)
}

// tableAt returns the table of a run's place below an output folder.
func tableAt(place string) string {
	table, _, _ := strings.Cut(filepath.ToSlash(place), "/")
	return table
}

// apart refuses folders of which one is in another: what is merged into would be a source the next time.
func apart(into string, folders []string) error {
	whole := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		return path
	}
	all := results.UniquePaths(append([]string{into}, folders...))
	for _, a := range all {
		for _, b := range all {
			if inside, err := filepath.Rel(whole(a), whole(b)); err == nil && a != b && filepath.IsLocal(inside) {
				return fmt.Errorf("results: merge: %s is in %s, or the same, want output folders beside one another",
					b, a)
			}
		}
	}
	return nil
}

// choose returns the run to take of each place, and why others cannot be.
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
				refused = append(refused,
					fmt.Errorf("results: merge: %s: a run at %s, want TABLE/CELL/seed-N: is %s the "+
						"folder that --out of run or table names?", source, place, source))
				continue
			}
			run, bad := results.ReadRunFolder(dir)
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

// betterRun reports whether b is to be taken instead of a, or how the two differ.
func betterRun(a, b *results.Run) (bool, error) {
	if done, other := a.Status() == results.RunComplete, b.Status() == results.RunComplete; !done || !other {
		return !done && (other || b.Rounds() > a.Rounds()), nil
	}
	file := func(r *results.Run, name string) string { return filepath.Join(r.Dir, name) }
	differ := a.Likeness().Unlike(b.Likeness())
	if a.Info.DataChecksum != b.Info.DataChecksum {
		differ = append(differ, fmt.Sprintf("data checksum %s and %s", a.Info.DataChecksum, b.Info.DataChecksum))
	}
	if differ != nil {
		return false, fmt.Errorf("results: merge: %s and %s: the same place, but they differ: %s",
			file(a, results.RunFile), file(b, results.RunFile), strings.Join(slices.Compact(differ), "; "))
	}
	if err := results.SameNumbers(a.Curve, b.Curve); err != nil {
		return false, fmt.Errorf("results: merge: %s and %s: the same run, but %w",
			file(a, results.CurveFile), file(b, results.CurveFile), err)
	}
	for _, name := range []string{results.DecisionsFile, results.ClientsFile} {
		if !slices.Contains(a.Extra, name) || !slices.Contains(b.Extra, name) {
			continue
		}
		x, errX := files.ReadRegular(file(a, name))
		y, errY := files.ReadRegular(file(b, name))
		if err := cmp.Or(errX, errY); err != nil {
			return false, fmt.Errorf("results: merge: %w", err)
		}
		if !bytes.Equal(x, y) {
			return false, fmt.Errorf("results: merge: %s and %s: the same run, but the files differ",
				file(a, name), file(b, name))
		}
	}
	return false, nil
}

// notes says of which cells the runs are not alike, and in what, and which numbers of summaries have no run behind
// them.
func (m *Merging) notes(runs []results.Run, sources []string, mixed bool) {
	what := "they stand apart"
	if mixed {
		what = "they are mixed, and compared with nothing"
	}
	keys, cells := results.Grouped(runs, func(r results.Run) results.CellKey { return r.Key() })
	for _, key := range keys {
		var first *results.Run
		said := map[string]bool{}
		for i := range cells[key] {
			r := &cells[key][i]
			if r.Info == nil {
				continue
			}
			if first == nil {
				first = r
			}
			if differ := strings.Join(first.Likeness().Unlike(r.Likeness()), "; "); differ != "" && !said[differ] {
				said[differ] = true
				m.Notes = append(m.Notes, fmt.Sprintf("%s and %s are not alike: %s: %s", first.Dir, r.Dir, differ,
					what))
			}
		}
	}
	for _, source := range sources {
		tables, _ := filepath.Glob(filepath.Join(source, "*", results.SummaryFile)) // no pattern but ours
		for _, path := range tables {
			rows, _, _ := files.ReadCSVFileLenient[results.SummaryRow](path)
			left := slices.DeleteFunc(rows, func(r results.SummaryRow) bool {
				return r.N == 0 ||
					cells[r.CellKey()] != nil
			})
			if len(left) > 0 {
				m.Notes = append(m.Notes, fmt.Sprintf("%s: %d numbers without runs are left out", path, len(left)))
			}
		}
	}
}

// benchRows returns the speed measurements of all sources together, in order of time, each once.
func benchRows(sources []string) (rows []results.BenchRow, refused []error) {
	for _, source := range sources {
		found, _, bad := files.ReadCSVFileLenient[results.BenchRow](filepath.Join(source, results.BenchFile))
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
