package many

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// folderSummary is the summary of a table's folder. It has every run in the folder, whichever command made it and when,
// and every metric that a command has asked for. So a command for a part of the table, or a second command at the same
// time, does not lose the rows of others.
type folderSummary struct {
	pool   *Pool
	table  *papers.Table
	dir    string
	places map[results.CellKey]int // the order of the cells that were asked for, which come first
	read   map[string]readRun      // by folder
	said   map[string]bool         // errors that were logged
	failed []results.SummaryRow    // rows of cells with a seed that failed here, or that did not begin
}

// readRun is a run as it was read when its files had these times and sizes.
type readRun struct {
	at  [2]fileState
	run results.Run
	bad []error
}

// fileState tells one version of a file from another; the zero value stands for no file.
type fileState struct {
	time time.Time
	size int64
}

// summary returns the summary of a table's folder, before anything is read.
func (p *Pool) summary(t *papers.Table, cells []Cell) *folderSummary {
	s := &folderSummary{
		pool: p, table: t, dir: filepath.Join(p.Sessions[0].Machine.Out, t.ID), places: map[results.CellKey]int{},
		read: map[string]readRun{}, said: map[string]bool{},
	}
	for i, c := range cells {
		key := c.Settings.Setup(t.ID).Key(c.Settings.Params())
		if _, twice := s.places[key]; !twice {
			s.places[key] = i
		}
	}
	return s
}

// write writes the summary of the folder's runs. If another process has finished a run meanwhile, it writes again: this
// summary may have replaced the other process's, which had that run.
func (s *folderSummary) write(ctx context.Context) error {
	for {
		dirs, err := results.RunFolders(ctx, s.dir)
		if err != nil {
			return err
		}
		path := filepath.Join(s.dir, results.SummaryFile)
		if err := results.WriteSummary(path, s.rows(dirs, results.MetricsIn(path))); err != nil {
			return err
		}
		after, err := results.RunFolders(ctx, s.dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(after, s.finished) {
			return nil
		}
	}
}

// finished reports whether the run in dir has ended since it was read. A run writes run.json last.
func (s *folderSummary) finished(dir string) bool {
	at, err := stateOf(dir)
	return err == nil && at[1] != s.read[dir].at[1]
}

// rows returns the summary of the runs in these folders, with further metrics. It reads only the runs that are new or
// have changed.
func (s *folderSummary) rows(dirs []string, further []metrics.Metric) []results.SummaryRow {
	var runs []results.Run
	var bad []error
	for _, dir := range dirs {
		r := s.readFolder(dir)
		bad = append(bad, r.bad...)
		if len(r.run.Curve) > 0 {
			runs = append(runs, r.run)
		}
	}
	runs, doubles := results.OnlyOnce(runs)
	for _, err := range slices.Concat(bad, doubles, results.RefuseTwins(runs)) {
		s.say(err)
	}
	t := s.table.With(further...)
	rows := t.Summarise(runs, s.pool.Keep.Mixed)
	// The failure goes to the row of the cell's other seeds, if there are any. A cell without any run has no numerics.
	for _, r := range s.failed {
		at := slices.IndexFunc(rows, func(o results.SummaryRow) bool {
			return o.CellKey() == r.CellKey() && o.Metric == r.Metric && (r.Numerics == "" || o.Numerics == r.Numerics)
		})
		if at < 0 {
			rows = append(rows, r)
		} else if rows[at].Status == results.CellOK || r.Status == results.CellRefused { // which says most
			rows[at].Status, rows[at].Error = r.Status, r.Error
		}
	}
	compare.SortSummary(s.table.ID, rows)
	place := func(r results.SummaryRow) int {
		if i, asked := s.places[r.CellKey()]; asked {
			return i
		}
		return len(s.places)
	}
	slices.SortStableFunc(rows, func(a, b results.SummaryRow) int { return cmp.Compare(place(a), place(b)) })
	return rows
}

// say logs an error, once.
func (s *folderSummary) say(err error) {
	if text := settings.ErrorLine(err); !s.said[text] {
		s.said[text] = true
		run.Logf(s.pool.Stderr, "rollcall: %s\n", text)
	}
}

// stateOf returns the states of curve.csv and run.json in a folder.
func stateOf(dir string) (at [2]fileState, err error) {
	for i, name := range []string{results.CurveFile, results.RunFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			at[i] = fileState{info.ModTime(), info.Size()}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
	}
	return at, nil
}

// readFolder returns the run in a folder, from memory if its files have not changed. If it cannot read their states it
// reads the run, whose errors say why.
func (s *folderSummary) readFolder(dir string) readRun {
	at, err := stateOf(dir)
	if known, ok := s.read[dir]; ok && err == nil && known.at == at {
		return known
	}
	run, bad := results.ReadRunFolder(dir)
	s.read[dir] = readRun{at, run, bad}
	return s.read[dir]
}

// finishedRun returns the run in a folder, as [folderSummary.readFolder] does. One that is not finished is a fault.
func (s *folderSummary) finishedRun(dir string) (results.Run, []error) {
	r := s.readFolder(dir)
	if status := r.run.Status(); len(r.bad) == 0 && status != results.RunComplete && status != results.RunDiverged {
		return r.run, []error{fmt.Errorf("%s: %s, and was finished before", dir, status)}
	}
	return r.run, r.bad
}
