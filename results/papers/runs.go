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

// References are the runs of a table's reference method, by column.
type References map[string]Runs

// Of returns the runs that a cell is compared with, and remembers those of the reference method, which a table has
// before the others of its column.
func (refs References) Of(t *Table, method, column string, runs Runs) Runs {
	if t.Reference == "" {
		return Runs{}
	}
	if method == t.Reference {
		refs[column] = runs
		return Runs{}
	}
	return refs[column]
}

// Summaries returns the rows of a table, as `rollcall table` writes them, from runs that are there, whichever table
// they were made for. What has no table of its own, such as single runs, gets accuracies.
func Summaries(table string, runs []results.Run) (rows []results.SummaryRow, err error) {
	t, unknown := TableByID(table)
	if unknown != nil {
		t = Sweep(table, "", nil, nil)
	}
	cells := results.Cells(runs)
	for i := range cells {
		row, complete, err := summaryOf(&cells[i], table)
		if err != nil {
			return rows, err
		}
		reference, err := referenceOf(&t, &cells[i], complete, cells)
		if err != nil {
			return rows, err
		}
		for _, e := range t.Entries {
			r := row
			r.Metric = e.Metric
			if len(complete.Curves) > 0 {
				if err := e.Fill(&r, complete, reference); err != nil {
					if unknown == nil {
						return rows, err
					}
					continue // a single run without evaluations of the training set
				}
			}
			if p, ok := results.PrintedFor(t.Printed, r); ok {
				r.Paper(p)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// summaryOf returns what all rows of a cell have, and its complete runs.
func summaryOf(c *results.RunCell, table string) (row results.SummaryRow, complete Runs, err error) {
	row = results.SummaryRow{Cell: c.Runs[0].Cell, Params: c.Params, Status: results.CellOK}
	row.Table = table
	if complete, err = completeRuns(c); err != nil {
		return row, complete, err
	}
	row.N = len(complete.Curves)
	if row.N > 0 {
		last := complete.Curves[0][len(complete.Curves[0])-1]
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
	return row, complete, nil
}

// completeRuns returns the complete runs of a cell that are there already.
func completeRuns(c *results.RunCell) (runs Runs, err error) {
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Status() != results.RunComplete {
			continue
		}
		if err := runs.readClients(r.Dir); err != nil {
			return runs, err
		}
		runs.Curves = append(runs.Curves, r.Curve)
	}
	return runs, nil
}

// referenceOf returns the runs of the table's reference method in the column of a cell; none where the cell, whose runs
// are own, has other seeds.
func referenceOf(t *Table, c *results.RunCell, own Runs, cells []results.RunCell) (Runs, error) {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return Runs{}, nil
	}
	at := slices.IndexFunc(cells, func(other results.RunCell) bool {
		r := other.Runs[0]
		return r.Method == t.Reference && r.Preset == mine.Preset && r.Data == mine.Data && r.Net == mine.Net &&
			r.Availability == mine.Availability && r.Clients == mine.Clients && t.sameColumn(r.Params, mine.Params)
	})
	if at < 0 {
		return Runs{}, nil
	}
	runs, err := completeRuns(&cells[at])
	if err != nil || len(runs.Curves) != len(own.Curves) {
		return Runs{}, err
	}
	for k := range own.Curves {
		if own.Curves[k][0].Seed != runs.Curves[k][0].Seed {
			return Runs{}, nil
		}
	}
	return runs, nil
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
