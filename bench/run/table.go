package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Cell is one method in one column of a table.
type Cell struct {
	Settings settings.Settings
	Column   papers.Column
}

// Cells returns the cells of a table that are wanted, in its order, and puts the seeds and rounds that are wanted into
// t. The table's reference method is always there.
func Cells(t *papers.Table, w *Wanted) ([]Cell, error) {
	method, err := narrow("methods", w.Methods, t.Methods)
	if err != nil {
		return nil, err
	}
	var sets, processes []string
	for _, c := range t.Columns {
		sets, processes = append(sets, c.Data), append(processes, c.Availability)
	}
	data, err := narrow("data", w.Data, sets)
	if err != nil {
		return nil, err
	}
	process, err := narrow("availability", w.Availability, processes)
	if err != nil {
		return nil, err
	}
	if err := w.table(t); err != nil {
		return nil, err
	}
	var cells []Cell
	for _, column := range t.Columns {
		if !data(column.Data) || !process(column.Availability) {
			continue
		}
		for _, name := range t.Methods {
			if !method(name) && name != t.Reference {
				continue
			}
			s, err := w.settings("table "+t.ID, t.Rounds, column, name)
			if err != nil {
				return nil, err
			}
			cells = append(cells, Cell{s, column})
		}
	}
	if len(cells) == 0 {
		return nil, settings.Usagef("table %s: no cell is left of these methods, data and availability", t.ID)
	}
	return cells, nil
}

// Summary is what has become of a table.
type Summary struct {
	Path   string // of summary.csv
	Rows   []results.SummaryRow
	Failed int // cells

	Elsewhere int // runs that other processes make and that were not waited for
	Lacking   int // cells that have failed in nothing, and lack such runs
	Diverged  int // cells, in some seed; each of these has been said

	Stopped error // why the table was interrupted; nil: it was not
}

// Table runs the cells, data set by data set, and writes the summary after each, so that an interrupted table leaves
// what it has: a cell when it and all before it are done. The summary is of all runs in the table's folder; the rows
// that are returned, of the seeds that were asked for.
func (p *Pool) Table(ctx context.Context, t *papers.Table, cells []Cell) (Summary, error) {
	var (
		done       = Summary{Path: filepath.Join(p.Sessions[0].Machine.Out, t.ID, results.SummaryFile)}
		order      = byData(cells)
		tasks      = tableTasks(cells, order)
		references = map[string]papers.Runs{} // of the reference method, which a table has first, by column
		rows       = make([][]results.SummaryRow, len(cells))
		folder     = p.summary(t, cells)
	)
	elsewhere, err := p.Seeds(ctx, t.ID, tasks, t.Seeds, false, func(n int, runs papers.Runs, failed error) error {
		c := cells[order[n]]
		column := columnLabel(c)
		of, err := summarise(t, c, runs, references[column], failed)
		rows[order[n]] = of
		elsewhere := failed != nil && isElsewhere(failed)
		if failed != nil && !elsewhere {
			folder.failed = append(folder.failed, of...)
		}
		if c.Settings.Method == t.Reference {
			references[column] = runs
		}
		if failed != nil {
			failed = fmt.Errorf("%s: %w", tasks[n].Label, failed)
		}
		if failed = errors.Join(failed, err); errors.Is(failed, context.Canceled) {
			done.Stopped = failed
			return nil
		}
		if elsewhere && err == nil {
			done.Lacking++
		} else if failed != nil {
			done.Failed++
			Logf(p.Stderr, "rollcall: %s\n", settings.OneLine(failed))
		} else if len(runs.Diverged) > 0 {
			done.Diverged++
		}
		if err := folder.write(ctx); err != nil && ctx.Err() == nil {
			folder.say(fmt.Errorf("%w: the table goes on, and writes it with the next cell", err))
		}
		return nil
	})
	done.Elsewhere = elsewhere
	if errors.Is(err, context.Canceled) {
		done.Stopped, err = err, nil
	}
	done.Rows = slices.Concat(rows...)
	whole := context.WithoutCancel(ctx)
	return done, errors.Join(err, withRetries(ctx, func() error { return folder.write(whole) }))
}

// tableTasks returns what is trained for the cells of a table, in some order.
func tableTasks(cells []Cell, order []int) (tasks []Task) {
	for n, i := range order {
		place := fmt.Sprintf("[%d/%d]", n+1, len(cells))
		tasks = append(tasks, Task{
			Settings: cells[i].Settings, Label: cellLabel(place, cells[i].Settings, cells[i].Column), Own: true,
		})
	}
	return tasks
}

// byData returns the cells' indices with those of one data set together, so that each is opened once.
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

// cellLabel names a cell in log lines.
func cellLabel(place string, s settings.Settings, c papers.Column) string {
	label := strings.Join([]string{place, s.Method, s.Data, s.Availability}, " ")
	if c.Set != "" {
		label += " " + c.Set.Words(" ")
	}
	return label
}

// columnLabel names the column of a cell.
func columnLabel(c Cell) string {
	return cellLabel("", settings.Settings{Data: c.Settings.Data, Availability: c.Settings.Availability}, c.Column)
}

// summarise returns a cell's rows from its finished runs.
func summarise(t *papers.Table, c Cell, runs, reference papers.Runs, failed error) ([]results.SummaryRow, error) {
	s := c.Settings
	row := results.SummaryRow{
		Cell: s.Cell(t.ID), Params: s.Params(), Status: results.CellOK, Version: Version(),
	}
	switch {
	case errors.Is(failed, context.Canceled):
		row.Status, row.Error = results.CellInterrupted, "interrupted"
	case failed != nil && isElsewhere(failed):
		row.Status, row.Error = results.CellRunning, failed.Error()
	case failed != nil:
		row.Status, row.Error = results.CellFailed, failed.Error()
	}
	if len(runs.Of)+len(runs.Diverged) > 0 {
		runs.About(&row)
	}
	var rows []results.SummaryRow
	for _, e := range t.Entries {
		if e.Metric == metrics.TrainAcc && !s.EvalTrain {
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
