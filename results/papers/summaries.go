package papers

import (
	"rollcall/results"
)

// Summaries returns the rows of a table, as `rollcall table` writes them, from runs that are there, whichever table they were
// made for. What has no table of its own, such as single runs, gets accuracies.
func Summaries(table string, runs []results.Run) (rows []results.SummaryRow, err error) {
	t, err := TableByID(table)
	if err != nil {
		t = Table{ID: table}
	}
	printed, err := PaperTable(table)
	if err != nil {
		printed = nil // no paper has it
	}
	cells := results.Cells(runs)
	for _, c := range cells {
		row := results.SummaryRow{Cell: c.Runs[0].Cell, Params: c.Params, Status: results.CellOK}
		row.Table = table
		curves := c.Complete()
		if len(curves) > 0 {
			last := curves[0][len(curves[0])-1]
			row.Version, row.Engine, row.Precision = last.Version, last.Engine, last.Precision
		}
		for i := range c.Runs {
			if row.Device == "" {
				row.Device = c.Runs[i].Device()
			}
			switch r := &c.Runs[i]; r.Status() {
			case results.RunComplete:
			case results.RunFailed:
				row.Status, row.Error = results.CellFailed, r.Info.Error
			case results.RunInterrupted, results.RunUnfinished:
				if row.Status == results.CellOK {
					row.Status, row.Error = results.CellInterrupted, "interrupted"
				}
			}
		}
		row.N = len(curves)
		whole, err := wholeRuns(&c)
		if err != nil {
			return rows, err
		}
		reference, err := referenceOf(&t, &c, cells)
		if err != nil {
			return rows, err
		}
		for _, e := range Entries(&t) {
			r := row
			r.Metric = e.Metric
			if len(curves) > 0 {
				if err := e.Put(&r, whole, reference); err != nil {
					if t.Title != "" {
						return rows, err
					}
					continue // a single run without evaluations of the training set
				}
			}
			if p, ok := results.PrintedFor(printed, r); ok {
				r.Paper(p)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}
