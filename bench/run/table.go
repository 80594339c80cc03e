package run

import (
	"context"
	"errors"
	"slices"
	"strings"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// ByData returns the cells' indices with those of one data set together, so that each is opened once.
func ByData(cells []Cell) []int {
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	first := map[string]int{}
	for i, c := range cells {
		if _, ok := first[c.Column.Data]; !ok {
			first[c.Column.Data] = i
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return first[cells[i].Column.Data] - first[cells[j].Column.Data] })
	return order
}

// CellLabel names a cell in log lines.
func CellLabel(place string, s settings.Settings, c papers.Column) string {
	label := strings.Join([]string{place, s.Method, s.Data, s.Availability}, " ")
	if c.Set != "" {
		label += " " + c.Set.Words(" ")
	}
	return label
}

// ColumnLabel names the column of a cell.
func ColumnLabel(c Cell) string {
	return CellLabel("", settings.Settings{Data: c.Settings.Data, Availability: c.Settings.Availability}, c.Column)
}

// Summarise returns a cell's rows from the curves of its finished seeds.
func Summarise(t *papers.Table, c Cell, runs, reference papers.CellRuns, printed []results.Printed, failed error) ([]results.SummaryRow, error) {
	s, curves := c.Settings, runs.Curves
	row := results.SummaryRow{Cell: s.Cell(t.ID), Params: s.Params(), N: len(curves), Status: results.CellOK, Version: Version(), Device: runs.Device}
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
	for _, e := range papers.Entries(t) {
		if e.Metric == results.TrainAcc && !s.EvalTrain {
			continue
		}
		r := row
		r.Metric = e.Metric
		if len(curves) > 0 {
			if err := e.Put(&r, runs, reference); err != nil {
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

// Cell is one method in one column of a table.
type Cell struct {
	Settings settings.Settings
	Column   papers.Column
}
