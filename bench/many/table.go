package many

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Cell is one method in one column of a table, with every seed.
type Cell struct {
	Settings settings.Settings
	Column   papers.Column
}

// Cells returns the wanted cells of a table in the table's order, in each column the further methods last, and puts the
// wanted seeds and rounds into t. The table's reference method, with which the others are compared, is always included.
func Cells(t *papers.Table, w *Wanted) ([]Cell, error) {
	method, err := narrow("methods", w.Methods, t.Methods)
	if err != nil {
		return nil, err
	}
	if err := w.validateAlso(t); err != nil {
		return nil, err
	}
	var sets, models []string
	for _, c := range t.Columns {
		sets, models = append(sets, c.Data), append(models, c.Availability)
	}
	data, err := narrow("data", w.Data, sets)
	if err != nil {
		return nil, err
	}
	model, err := narrow("availability", w.Availability, models)
	if err != nil {
		return nil, err
	}
	wanted, err := w.column("table "+t.ID, t.Columns)
	if err != nil {
		return nil, err
	}
	if err := w.table(t); err != nil {
		return nil, err
	}
	var cells []Cell
	for _, column := range t.Columns {
		if !data(column.Data) || !model(column.Availability) || !wanted(&column) {
			continue
		}
		for _, name := range slices.Concat(t.Methods, w.Also) {
			like := name
			switch {
			case !t.Has(name):
				like = t.Methods[0] // all of them train alike in a column
			case !method(name) && name != t.Reference:
				continue
			}
			s, err := w.settingsLike("table "+t.ID, t.Rounds, column, name, like)
			if err != nil {
				return nil, err
			}
			cells = append(cells, Cell{s, column})
		}
	}
	if len(cells) == 0 {
		return nil, settings.Usagef("table %s: no cell is left of these methods, data, availability and columns", t.ID)
	}
	return cells, nil
}

// Summary is the outcome of a table.
type Summary struct {
	Path   string // summary.csv
	Rows   []results.SummaryRow
	Failed int // how many cells failed

	Undone   Undone // runs that were not made
	Lacking  int    // cells without a failure that lack such runs
	Diverged int    // cells with a seed that diverged; a line has named each of them

	Stopped error // why the table was interrupted; nil: it was not
}

// Table makes the runs of the cells, one data set after the other. After each cell, once all cells before it are done,
// it writes the summary, so that an interrupted table leaves what it has. summary.csv has all runs in the table's
// folder; the returned rows have the seeds that were asked for, as they are on disk once all is done.
func (p *Pool) Table(ctx context.Context, t *papers.Table, cells []Cell) (Summary, error) {
	var (
		done       = Summary{Path: filepath.Join(p.Sessions[0].Machine.Out, t.ID, results.SummaryFile)}
		order      = byData(cells)
		tasks      = tableTasks(cells, order)
		references = map[string]papers.Runs{} // by column: the runs of the reference method, which comes first
		ended      []endedCell
		folder     = p.summary(t, cells)
	)
	left, err := p.Seeds(ctx, t.ID, tasks, t.Seeds, false, func(n int, runs papers.Runs, failed error) error {
		c := cells[order[n]]
		column := columnLabel(c)
		of, err := summarise(t, c, runs, references[column], failed)
		ended = append(ended, endedCell{order[n], runs.Seeds(), failed})
		// Failed cells have no run to be read back, so that the summary gets their rows from here.
		elsewhere := failed != nil && IsElsewhere(failed)
		if failed != nil && !elsewhere {
			folder.failed = append(folder.failed, of...)
		}
		if c.Settings.Method == t.Reference {
			references[column] = runs
		}
		if failed != nil {
			failed = fmt.Errorf("%s: %w", tasks[n].Label, failed)
		}
		if failed = errors.Join(failed, err); isInterrupted(failed) {
			done.Stopped = failed
			return nil // an error would leave the other cells that have begun without their rows
		}
		if elsewhere && err == nil {
			done.Lacking++
		} else if failed != nil {
			done.Failed++
			run.Logf(p.Stderr, "rollcall: %s\n", settings.ErrorLine(failed))
		} else if len(runs.Diverged) > 0 {
			done.Diverged++
		}
		if err := folder.write(ctx); err != nil && ctx.Err() == nil {
			folder.say(fmt.Errorf("%w: the table continues, and writes it with the next cell", err))
		}
		return nil
	})
	if _, missing := errors.AsType[*MissingError](err); missing {
		return done, err
	}
	done.Undone = left
	if isInterrupted(err) {
		done.Stopped, err = err, nil
	}
	whole := context.WithoutCancel(ctx) // an interrupted table leaves its summary, too
	err = errors.Join(err, run.WithRetries(ctx, func() error { return folder.write(whole) }))
	done.Rows = folder.onDisk(t, cells, ended, &done)
	return done, err
}

// endedCell is a cell whose runs are done.
type endedCell struct {
	cell   int
	seeds  []uint32 // that have a run
	failed error    // why others have none; nil: all have
}

// onDisk returns the rows of the cells that have ended from what is on disk now, in the order of the cells. A run that
// somebody has changed since it was done is a failure of its cell.
func (s *folderSummary) onDisk(
	t *papers.Table, cells []Cell, ended []endedCell, done *Summary,
) []results.SummaryRow {
	rows, references := make([][]results.SummaryRow, len(cells)), map[string]papers.Runs{}
	for _, e := range ended {
		c := &cells[e.cell]
		var list []results.Run
		var bad []error
		for _, seed := range e.seeds {
			run, faults := s.finishedRun(run.Folder(filepath.Dir(s.dir), t.ID, c.Settings, seed))
			if bad = append(bad, faults...); len(faults) == 0 {
				list = append(list, run)
			}
		}
		runs, err := joinSeeds(list, false, s.pool.Keep.Mixed)
		if err = errors.Join(append(bad, err)...); err != nil && e.failed == nil {
			done.Failed++
			s.say(err)
		}
		column := columnLabel(*c)
		// What cannot be summarised was named when the cell was done.
		rows[e.cell], _ = summarise(t, *c, runs, references[column], errors.Join(e.failed, err))
		if c.Settings.Method == t.Reference {
			references[column] = runs
		}
	}
	all := slices.Concat(rows...)
	t.Correct(all)
	return all
}

// tableTasks returns the runs of the cells of a table, in the given order of cells.
func tableTasks(cells []Cell, order []int) (tasks []Task) {
	for n, i := range order {
		place := fmt.Sprintf("[%d/%d]", n+1, len(cells))
		tasks = append(tasks, Task{
			Settings: cells[i].Settings, Label: cellLabel(place, cells[i].Settings, cells[i].Column), Own: true,
		})
	}
	return tasks
}

// byData returns the indices of the cells, those of a data set together, so that each data set is opened once.
func byData(cells []Cell) []int {
	order := make([]int, len(cells))
	first := map[string]int{}
	for i, c := range cells {
		order[i] = i
		if _, ok := first[c.Column.Data]; !ok {
			first[c.Column.Data] = i
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return first[cells[i].Column.Data] - first[cells[j].Column.Data]
	})
	return order
}

// cellLabel returns the name of a cell in log lines. place is its number, such as [2/10].
func cellLabel(place string, s settings.Settings, c papers.Column) string {
	label := strings.Join([]string{place, s.Method, s.Data, s.Availability}, " ")
	if c.Set != "" {
		label += " " + c.Set.Words(" ")
	}
	return label
}

// columnLabel returns the name of a cell's column, without the method.
func columnLabel(c Cell) string {
	return cellLabel("", settings.Settings{Data: c.Settings.Data, Availability: c.Settings.Availability}, c.Column)
}

// summarise returns the rows of a cell, one per entry of the table. failed is the reason why runs are missing; nil:
// none are. reference is the runs of the reference method in the same column.
func summarise(t *papers.Table, c Cell, runs, reference papers.Runs, failed error) ([]results.SummaryRow, error) {
	s := c.Settings
	row := results.SummaryRow{
		Setup: s.Setup(t.ID), Params: s.Params(), Status: results.CellOK, Version: run.Version(),
	}
	switch {
	case isInterrupted(failed):
		row.Status, row.Error = results.CellInterrupted, "interrupted"
	case failed != nil && IsElsewhere(failed):
		row.Status, row.Error = results.CellRunning, failed.Error()
	case run.IsRefused(failed):
		row.Status, row.Error = results.CellRefused, failed.Error()
	case failed != nil:
		row.Status, row.Error = results.CellFailed, failed.Error()
	}
	if len(runs.Of)+len(runs.Diverged) > 0 {
		runs.About(&row)
	}
	var rows []results.SummaryRow
	for _, e := range t.Entries {
		if (e.Metric == metrics.TrainAcc || e.Metric == metrics.TrainLoss) && !s.EvalTrain {
			continue
		}
		r, err := t.Row(e, row, runs, reference)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
