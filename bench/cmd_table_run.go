package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// table runs the cells, data set by data set, writes the summary after each and prints it at the end, so that an interrupted table
// leaves what it has: a cell when it and all before it are done.
func (a *app) table(ctx context.Context, t papers.Table, cells []run.Cell, machine run.Machine) error {
	dir := filepath.Join(machine.Out, t.ID)
	if err := run.Writable(dir); err != nil {
		return err
	}
	printed, err := papers.PaperTable(t.ID)
	if err != nil && slices.Contains(papers.TableNames(), t.ID) {
		return err
	}
	var (
		p          = run.NewPool(a.stderr, machine)
		order      = run.ByData(cells)
		tasks      []run.Task
		references = papers.References{}
		summaries  = make([][]results.SummaryRow, len(cells))
		failures   int
		stopped    error
	)
	for n, i := range order {
		tasks = append(tasks, run.Task{Settings: cells[i].Settings, Label: run.CellLabel(fmt.Sprintf("[%d/%d]", n+1, len(cells)), cells[i].Settings, cells[i].Column)})
	}
	settle := func(n int, runs papers.CellRuns, failed error) error {
		c := cells[order[n]]
		rows, err := run.Summarise(&t, c, runs, references.Of(&t, c.Settings.Method, run.ColumnLabel(c), runs), printed, failed)
		summaries[order[n]] = rows
		if failed != nil {
			failed = fmt.Errorf("%s: %w", tasks[n].Label, failed)
		}
		if failed = errors.Join(failed, err); errors.Is(failed, context.Canceled) {
			stopped = failed
			return nil
		}
		if failed != nil {
			failures++
			run.Logf(p.Stderr, "rollcall: %s\n", settings.OneLine(failed))
		}
		return results.WriteSummary(filepath.Join(dir, results.SummaryFile), slices.Concat(summaries...))
	}
	err = p.Seeds(ctx, t.ID, tasks, t.Seeds, false, settle)
	if errors.Is(err, context.Canceled) {
		stopped, err = err, nil
	}
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	rows := slices.Concat(summaries...)
	if err := results.WriteSummary(filepath.Join(dir, results.SummaryFile), rows); err != nil {
		return err
	}
	if err := a.printTable(t, rows, filepath.Join(dir, results.SummaryFile)); err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	if failures > 0 {
		return fmt.Errorf("table %s: %d of %d cells failed", t.ID, failures, len(cells))
	}
	return nil
}
