package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/papers"
)

// table runs the cells, data set by data set, writes the summary after each and prints it at the end, so that an interrupted table
// leaves what it has: a cell when it and all before it are done.
func (a *app) table(ctx context.Context, t papers.Table, cells []cell, machine machineFlags) error {
	dir := filepath.Join(machine.Out, t.ID)
	if err := writable(dir); err != nil {
		return err
	}
	printed, err := papers.PaperTable(t.ID)
	if err != nil && slices.Contains(papers.TableNames(), t.ID) {
		return err
	}
	var (
		p          = a.newPack(machine)
		order      = byData(cells)
		tasks      []task
		references = references{}
		summaries  = make([][]results.SummaryRow, len(cells))
		failures   int
		stopped    error
	)
	for n, i := range order {
		tasks = append(tasks, task{cells[i].settings, cellLabel(fmt.Sprintf("[%d/%d]", n+1, len(cells)), cells[i].settings, cells[i].column)})
	}
	settle := func(n int, runs cellRuns, failed error) error {
		c := cells[order[n]]
		rows, err := summarise(&t, c, runs, references.of(&t, c, runs), printed, failed)
		summaries[order[n]] = rows
		if failed != nil {
			failed = fmt.Errorf("%s: %w", tasks[n].label, failed)
		}
		if failed = errors.Join(failed, err); errors.Is(failed, context.Canceled) {
			stopped = failed
			return nil
		}
		if failed != nil {
			failures++
			logf(p.stderr, "rollcall: %s\n", oneLine(failed))
		}
		return results.WriteSummary(filepath.Join(dir, results.SummaryFile), slices.Concat(summaries...))
	}
	err = p.seeds(ctx, t.ID, tasks, t.Seeds, false, settle)
	if errors.Is(err, context.Canceled) {
		stopped, err = err, nil
	}
	if err := errors.Join(err, p.close()); err != nil {
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

// byData returns the cells' indices with those of one data set together, so that each is opened once.
func byData(cells []cell) []int {
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	first := map[string]int{}
	for i, c := range cells {
		if _, ok := first[c.column.Data]; !ok {
			first[c.column.Data] = i
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return first[cells[i].column.Data] - first[cells[j].column.Data] })
	return order
}

// cellLabel names a cell in log lines.
func cellLabel(place string, s Settings, c papers.Column) string {
	parts := []string{place, s.Method, s.Data, s.Availability}
	for _, set := range c.Set {
		parts = append(parts, set.Flag+"="+set.Value)
	}
	return strings.Join(parts, " ")
}

// summarise returns a cell's rows from the curves of its finished seeds.
func summarise(t *papers.Table, c cell, runs, reference cellRuns, printed []results.Printed, failed error) ([]results.SummaryRow, error) {
	s, curves := c.settings, runs.curves
	row := results.SummaryRow{Cell: s.cell(t.ID), Params: s.params(), N: len(curves), Status: results.CellOK, Version: versionName(), Device: runs.device}
	if len(curves) > 0 {
		last := curves[0][len(curves[0])-1]
		row.Version, row.Engine, row.Precision = last.Version, last.Engine, last.Precision
	}
	switch {
	case errors.Is(failed, context.Canceled):
		row.Status, row.Error = results.CellInterrupted, "interrupted"
	case failed != nil:
		row.Status, row.Error = results.CellFailed, failed.Error()
	}
	var rows []results.SummaryRow
	for _, e := range entries(t) {
		if e.metric == results.TrainAcc && !s.EvalTrain {
			continue
		}
		r := row
		r.Metric = e.metric
		if len(curves) > 0 {
			if err := e.put(&r, runs, reference); err != nil {
				return rows, err
			}
		}
		if p, ok := results.PrintedFor(printed, r); ok {
			r.Paper(p)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// entry is one number of a cell.
type entry struct {
	metric results.Metric
	fill   func(r *results.SummaryRow, curves [][]results.CurveRow) error
	whole  func(r *results.SummaryRow, runs, reference cellRuns) error // in its place, where curves are not enough
}

// entries returns the numbers a table prints of every cell.
func entries(t *papers.Table) (list []entry) {
	if t.Entry == papers.RoundsToGet {
		for i, m := range []results.Metric{results.RoundsTo25, results.RoundsTo50, results.RoundsTo75, results.RoundsTo100} {
			list = append(list, entry{metric: m, fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
				target := papers.FedAWE8Target(r.Data)
				if !target.Valid {
					return fmt.Errorf("table %s: no target accuracy for %s", t.ID, r.Data)
				}
				every, err := lookedAt(curves)
				if err != nil {
					return err
				}
				r.N = len(curves)
				r.Mean, err = results.FirstRound(curves, every, target.Value*float64(i+1)/4, results.TestAcc)
				return err
			}})
		}
		return list
	}
	if t.Entry == papers.PairedT || t.Entry == papers.ClientAccuracies {
		list = fedarEntries(t)
	}
	if t.Entry == papers.ClientAccuracies {
		return list
	}
	if t.Entry == papers.AccuracyOverTime {
		for _, m := range []results.Metric{results.TestAccMax, results.TestAccMean, results.TestAccStd} {
			list = append(list, entry{metric: m, fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
				e, err := results.OverTime(curves, m)
				if err == nil {
					r.Estimate(e)
				}
				return err
			}})
		}
		return list
	}
	for _, m := range []results.Metric{results.TestAcc, results.TrainAcc} {
		list = append(list, entry{metric: m, fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
			e, err := results.OverSeeds(curves, results.ProtocolRounds, m)
			if err == nil {
				r.Estimate(e)
			}
			return err
		}})
	}
	return list
}

// lookedAt returns the first multiple of FedAWE8Every at which all curves were evaluated all along.
func lookedAt(curves [][]results.CurveRow) (every int, err error) {
	for every = papers.FedAWE8Every; ; every += papers.FedAWE8Every {
		_, err := results.FirstRound(curves, every, 1, results.TestAcc)
		if last := curves[0][len(curves[0])-1].Round; err == nil || every > last {
			return every, err
		}
	}
}

// count reads "1 seed", "3 seeds".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
