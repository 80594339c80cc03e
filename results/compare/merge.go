package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
)

// Merging says what a merge has done.
type Merging struct {
	Runs   int      // copied
	Kept   int      // that were in the output folder already, or in two sources
	Tables []string // whose summaries were written
	Bad    []error  // files that cannot be read, by name and line; they were left out
}

// mergeRun is a run's folder below one source.
type mergeRun struct {
	source, place string // place: TABLE/CELL/seed-N
	run           results.Run
}

// Merge copies the runs of output folders into one, and writes the summaries of its tables anew. Each source is an
// output folder, with TABLE/CELL/seed-N below it; into may exist, and then counts as the first source.
//
// A run that is there twice with the same numbers is kept once; time, version and device may differ. Where one is
// complete and the other is not, the complete one is taken. Two that differ are an error that names both files, and
// then nothing is written. A number whose runs are not there is taken from the sources' summaries, under the same
// rules.
//
// summarise returns the rows of a table from its runs. Files appear whole, a run's run.json last, so that a merge that
// was stopped can be repeated.
func Merge(ctx context.Context, into string, sources []string,
	summarise func(table string, runs []results.Run) ([]results.SummaryRow, error),
) (Merging, error) {
	var m Merging
	all := sources
	if _, err := os.Stat(into); err == nil {
		all = append([]string{into}, sources...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("results: merge: %w", err)
	}
	chosen, err := m.choose(ctx, results.UniquePaths(all))
	if err != nil {
		return m, err
	}
	numbers, bad, err := results.FindSummaries(ctx, all...)
	if err != nil {
		return m, err
	}
	summaries, err := m.summaries(chosen, numbers, bad, summarise)
	if err != nil {
		return m, err
	}
	for _, c := range chosen {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		if c.source == into {
			continue
		}
		if err := copyRun(c.run, filepath.Join(into, c.place)); err != nil {
			return m, err
		}
		m.Runs++
	}
	for _, s := range summaries {
		if err := results.WriteSummary(filepath.Join(into, s[0].Table, results.SummaryFile), s); err != nil {
			return m, err
		}
		m.Tables = append(m.Tables, s[0].Table)
	}
	return m, m.benches(into, all)
}

// choose returns the run to take of each place, and fails on two that differ.
func (m *Merging) choose(ctx context.Context, sources []string) (chosen []mergeRun, err error) {
	at := map[string]int{}
	var clashes []error
	for _, source := range sources {
		dirs, err := results.RunFolders(ctx, source)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			run, bad := results.ReadRunFolder(dir)
			m.Bad = append(m.Bad, bad...)
			if len(run.Curve) == 0 || len(bad) > 0 {
				continue
			}
			place, err := filepath.Rel(source, dir)
			if err != nil {
				return nil, fmt.Errorf("results: merge: %w", err)
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
				clashes = append(clashes, err)
			case better:
				chosen[i] = mergeRun{source, place, run}
			}
		}
	}
	return chosen, errors.Join(clashes...)
}

// betterRun reports whether b is to be taken instead of a, or how the two differ.
func betterRun(a, b *results.Run) (bool, error) {
	if done, other := a.Status() == results.RunComplete, b.Status() == results.RunComplete; !done || !other {
		return !done && (other || b.Rounds() > a.Rounds()), nil
	}
	file := func(r *results.Run, name string) string { return filepath.Join(r.Dir, name) }
	if a.Info.SettingsHash != b.Info.SettingsHash || a.Info.DataChecksum != b.Info.DataChecksum {
		return false, fmt.Errorf("results: merge: %s and %s: the same place, but settings or data differ",
			file(a, results.RunFile), file(b, results.RunFile))
	}
	if err := results.SameNumbers(a.Curve, b.Curve); err != nil {
		return false, fmt.Errorf("results: merge: %s and %s: the same run, but %w",
			file(a, results.CurveFile), file(b, results.CurveFile), err)
	}
	for _, name := range a.Extra {
		if !slices.Contains(b.Extra, name) {
			continue
		}
		x, errX := os.ReadFile(file(a, name))
		y, errY := os.ReadFile(file(b, name))
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

// summaries returns the summary of each table that has one in some source: computed where there are runs, which tables
// share, and taken over where there are none.
func (m *Merging) summaries(chosen []mergeRun, numbers []results.PlacedSummary, clashes []error,
	summarise func(string, []results.Run) ([]results.SummaryRow, error),
) (tables [][]results.SummaryRow, err error) {
	type cell struct {
		table string
		key   results.CellKey
	}
	wanted := map[cell]bool{}
	byTable := map[string][]results.SummaryRow{}
	for _, p := range numbers {
		wanted[cell{p.Table, p.CellKey()}] = true
		byTable[p.Table] = nil
	}
	var runs []results.Run
	for _, c := range chosen {
		runs = append(runs, c.run)
		wanted[cell{c.run.Table, c.run.Key()}] = true
	}
	runs, differing := results.OnlyOnce(runs) // one run may be there for two tables
	if len(differing) > 0 {
		return nil, errors.Join(differing...)
	}
	computed := map[results.SummaryKey]bool{}
	for table := range byTable {
		of := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return !wanted[cell{table, r.Key()}] })
		rows, err := summarise(table, of)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			computed[r.Key()] = true
		}
		byTable[table] = rows
	}
	// Complaints of numbers that were computed anew are moot: another machine had other seeds.
	for _, p := range numbers {
		if !computed[p.Key()] {
			byTable[p.Table] = append(byTable[p.Table], p.SummaryRow)
		}
	}
	var differ []error
	for _, err := range clashes {
		clash, ok := errors.AsType[*results.SummaryClash](err)
		switch {
		case !ok:
			m.Bad = append(m.Bad, err)
		case !computed[clash.A.Key()]:
			differ = append(differ, err)
		}
	}
	if len(differ) > 0 {
		return nil, errors.Join(differ...)
	}
	for _, table := range SummaryTables(slices.Concat(slices.Collect(maps.Values(byTable))...)) {
		SortSummary(table, byTable[table])
		tables = append(tables, byTable[table])
	}
	return tables, nil
}

// copyRun copies the files of a run, run.json last: it alone makes them a result.
func copyRun(r results.Run, to string) error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("results: merge: %w", err)
	}
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == results.RunFile }); i >= 0 {
		entries = append(slices.Delete(slices.Clone(entries), i, i+1), entries[i])
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.Dir, e.Name()))
		if err != nil {
			return fmt.Errorf("results: merge: %w", err)
		}
		err = files.WriteFile(filepath.Join(to, e.Name()), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// benches puts the speed measurements of all sources together, in order of time, each once.
func (m *Merging) benches(into string, sources []string) error {
	var rows []results.BenchRow
	for _, source := range sources {
		found, _, bad := files.ReadCSVFileLenient[results.BenchRow](filepath.Join(source, results.BenchFile))
		for _, err := range bad {
			if !errors.Is(err, fs.ErrNotExist) {
				m.Bad = append(m.Bad, err)
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
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b results.BenchRow) int { return a.Time.Compare(b.Time) })
	return files.WriteCSVFile(filepath.Join(into, results.BenchFile), rows)
}
