package papers

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"rollcall/results"
)

// Runs are the finished runs of one cell, one for each seed.
type Runs struct {
	Curves    [][]results.CurveRow
	Decisions [][]results.DecisionRow // where they were asked for
	Clients   [][]results.ClientRow   // of a split that has them
	Device    string
}

// Read appends a finished run.
func (r *Runs) Read(dir string, decisions bool) error {
	curve, err := results.ReadCurve(filepath.Join(dir, results.CurveFile))
	if err != nil {
		return err
	}
	info, err := results.ReadRunInfo(filepath.Join(dir, results.RunFile))
	if err != nil {
		return err
	}
	if decisions {
		rows, err := results.ReadDecisions(filepath.Join(dir, results.DecisionsFile))
		if err != nil {
			return err
		}
		r.Decisions = append(r.Decisions, rows)
	}
	if err := r.readClients(dir); err != nil {
		return err
	}
	r.Curves, r.Device = append(r.Curves, curve), info.Device
	return nil
}

// readClients reads the clients' accuracies of a finished run, where it has them.
func (r *Runs) readClients(dir string) error {
	rows, err := results.ReadClients(filepath.Join(dir, results.ClientsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.Clients = append(r.Clients, rows)
	return err
}

// Add appends other runs.
func (r *Runs) Add(other *Runs) {
	r.Curves = append(r.Curves, other.Curves...)
	r.Decisions = append(r.Decisions, other.Decisions...)
	r.Clients = append(r.Clients, other.Clients...)
	r.Device = other.Device
}

// Summaries returns the rows of a table, as `rollcall table` writes them, from runs that are there, whichever table
// they were made for. What has no table of its own, such as single runs, gets accuracies.
func Summaries(table string, runs []results.Run) (rows []results.SummaryRow, err error) {
	t, unknown := TableByID(table)
	if unknown != nil {
		t = Sweep(table, "", nil, nil)
	}
	cells := results.Cells(runs)
	about, complete := make([]results.SummaryRow, len(cells)), make([]Runs, len(cells))
	for i := range cells {
		if about[i], complete[i], err = summaryOf(&cells[i], table); err != nil {
			return nil, err
		}
	}
	for i := range cells {
		reference := Runs{}
		if at := t.referenceOf(&cells[i], cells); at >= 0 && sameSeeds(complete[at], complete[i]) {
			reference = complete[at]
		}
		for _, e := range t.Entries {
			r, err := t.Row(e, about[i], complete[i], reference)
			if err != nil && unknown != nil {
				continue // a single run without evaluations of the training set
			}
			if err != nil {
				return rows, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// Row returns the row of one number of a cell, of which about is what all its rows have; reference: see [Entry].
func (t *Table) Row(e Entry, about results.SummaryRow, runs, reference Runs) (row results.SummaryRow, err error) {
	row = about
	row.Metric = e.Metric
	if row.N = len(runs.Curves); row.N > 0 {
		last := runs.Curves[0][len(runs.Curves[0])-1]
		row.Version, row.Engine, row.Precision = last.Version, last.Engine, last.Precision
		if err := e.Fill(&row, runs, reference); err != nil {
			return row, err
		}
	}
	if p, ok := results.PrintedFor(t.Printed, row); ok {
		row.Paper(p)
	}
	return row, nil
}

// summaryOf returns what all rows of a cell have, and its complete runs.
func summaryOf(c *results.RunCell, table string) (row results.SummaryRow, complete Runs, err error) {
	row = results.SummaryRow{Cell: c.Runs[0].Cell, Params: c.Params, Status: results.CellOK}
	row.Table = table
	for i := range c.Runs {
		r := &c.Runs[i]
		if row.Device == "" {
			row.Device = r.Device()
		}
		switch r.Status() {
		case results.RunComplete:
			if err := complete.readClients(r.Dir); err != nil {
				return row, complete, err
			}
			complete.Curves = append(complete.Curves, r.Curve)
		case results.RunFailed:
			row.Status, row.Error = results.CellFailed, r.Info.Error
		case results.RunInterrupted, results.RunUnfinished:
			if row.Status == results.CellOK {
				row.Status, row.Error = results.CellInterrupted, "interrupted"
			}
		}
	}
	return row, complete, nil
}

// referenceOf returns which cell is of the table's reference method, in the column of another one; −1 where none is.
func (t *Table) referenceOf(c *results.RunCell, cells []results.RunCell) int {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return -1
	}
	return slices.IndexFunc(cells, func(other results.RunCell) bool {
		r := other.Runs[0]
		return r.Method == t.Reference && r.Preset == mine.Preset && r.Data == mine.Data && r.Net == mine.Net &&
			r.Availability == mine.Availability && r.Clients == mine.Clients && t.sameColumn(r.Params, mine.Params)
	})
}

// sameSeeds reports whether the curves of two cells are of the same seeds.
func sameSeeds(a, b Runs) bool {
	return slices.EqualFunc(a.Curves, b.Curves, func(x, y []results.CurveRow) bool { return x[0].Seed == y[0].Seed })
}

// sameColumn reports whether two runs agree in the settings that set the columns of the table apart.
func (t *Table) sameColumn(a, b results.Params) bool {
	for _, column := range t.Columns {
		for name := range column.Set.All() {
			if a.Get(name) != b.Get(name) {
				return false
			}
		}
	}
	return true
}
