package papers

import (
	"errors"
	"fmt"
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
	Of        []*results.RunInfo      // how each came about
	Diverged  []*results.Run          // those that did, which are in none of the above
}

// Add appends a finished run. A seed that is there already is left out.
func (r *Runs) Add(run *results.Run, decisions bool) error {
	if run.Status() == results.RunDiverged {
		r.Diverged = append(r.Diverged, run)
		return nil
	}
	if slices.ContainsFunc(r.Of, func(i *results.RunInfo) bool { return i.Seed == run.Seed }) {
		return nil
	}
	if decisions {
		rows, err := results.ReadDecisions(filepath.Join(run.Dir, results.DecisionsFile))
		if err != nil {
			return err
		}
		r.Decisions = append(r.Decisions, rows)
	}
	rows, err := results.ReadClients(filepath.Join(run.Dir, results.ClientsFile))
	if err == nil {
		r.Clients = append(r.Clients, rows)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Curves, r.Of = append(r.Curves, run.Curve), append(r.Of, run.Info)
	return nil
}

// Rounds returns the fewest rounds that a run has; 0 where there is none.
func (r *Runs) Rounds() int {
	if len(r.Of) == 0 {
		return 0
	}
	return slices.MinFunc(r.Of, func(a, b *results.RunInfo) int { return a.Rounds - b.Rounds }).Rounds
}

// About puts into a row how its runs came about, and which of them diverged.
func (r *Runs) About(row *results.SummaryRow) {
	of := r.Of
	if len(r.Diverged) > 0 {
		first := r.Diverged[0]
		if row.Status == results.CellOK {
			row.Status = results.CellDiverged
			row.Error = fmt.Sprintf("%d diverged: seed %d: %s", len(r.Diverged), first.Seed, first.Info.Error)
		}
		if len(of) == 0 {
			of = []*results.RunInfo{first.Info}
		}
	}
	row.Rounds = r.Rounds()
	row.About(of)
}

// Summaries returns the rows of the table of a name from runs that are there: see [Table.Summarise]. What has no table
// of its own, such as single runs, gets accuracies.
func Summaries(table string, runs []results.Run, mixed bool) (rows []results.SummaryRow) {
	t, unknown := TableByID(table)
	if unknown != nil {
		t = Sweep(table, "", nil, nil)
	}
	return t.Summarise(runs, mixed)
}

// Summarise returns the rows of a table from runs that are there, whichever table they were made for. Runs of a cell
// that are not alike have rows of their own, unless they are to be mixed.
func (t *Table) Summarise(runs []results.Run, mixed bool) (rows []results.SummaryRow) {
	cells := results.Cells(runs, mixed)
	about, complete := make([]results.SummaryRow, len(cells)), make([]Runs, len(cells))
	for i := range cells {
		about[i], complete[i] = summaryOf(&cells[i], t.ID)
	}
	for i := range cells {
		reference := Runs{}
		if at := t.referenceOf(&cells[i], cells, mixed); at >= 0 && sameSeeds(complete[at], complete[i]) {
			reference = complete[at]
		}
		for _, e := range t.Entries {
			r, err := t.Row(e, about[i], complete[i], reference)
			if err != nil && t.Source == "" {
				continue // runs without evaluations of the training set
			}
			if err != nil {
				r = about[i]
				r.Metric, r.Status, r.Error = e.Metric, results.CellFailed, err.Error()
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// Row returns the row of one number of a cell, of which about is what all its rows have; reference: see [Entry].
func (t *Table) Row(e Entry, about results.SummaryRow, runs, reference Runs) (row results.SummaryRow, err error) {
	row = about
	row.Metric = e.Metric
	if row.N = len(runs.Curves); row.N > 0 {
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
func summaryOf(c *results.RunCell, table string) (row results.SummaryRow, complete Runs) {
	row = results.SummaryRow{Cell: c.Runs[0].Cell, Params: c.Params, Status: results.CellOK}
	row.Table = table
	var left []*results.RunInfo // of runs that did not end
	for i := range c.Runs {
		r := &c.Runs[i]
		switch r.Status() {
		case results.RunComplete, results.RunDiverged:
			if err := complete.Add(r, false); err != nil {
				row.Status, row.Error = results.CellFailed, err.Error()
			}
		case results.RunFailed:
			row.Status, row.Error = results.CellFailed, r.Info.Error
			left = append(left, r.Info)
		case results.RunDamaged:
			row.Status, row.Error = results.CellFailed, fmt.Sprintf("seed %d: damaged", r.Seed)
		case results.RunInterrupted, results.RunUnfinished:
			if row.Status == results.CellOK {
				row.Status, row.Error = results.CellInterrupted, "interrupted"
			}
			if r.Info != nil {
				left = append(left, r.Info)
			}
		}
	}
	complete.About(&row)
	if len(complete.Of)+len(complete.Diverged) == 0 {
		row.About(left)
	}
	return row, complete
}

// referenceOf returns which cell is of the table's reference method, in the column of another one; −1 where none is.
func (t *Table) referenceOf(c *results.RunCell, cells []results.RunCell, mixed bool) int {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return -1
	}
	return slices.IndexFunc(cells, func(other results.RunCell) bool {
		r := other.Runs[0]
		return r.Method == t.Reference && r.Preset == mine.Preset && r.Data == mine.Data && r.Net == mine.Net &&
			r.Availability == mine.Availability && r.Clients == mine.Clients && t.sameColumn(r.Params, mine.Params) &&
			(mixed || r.Likeness().SameConditions(mine.Likeness()))
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
