package papers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Runs are the finished runs of one cell, one for each seed.
type Runs struct {
	Curves    [][]results.CurveRow
	Decisions [][]results.DecisionRow // empty unless they were asked for
	Clients   [][]results.ClientRow   // empty unless the split gives each client its own test samples
	Of        []*results.RunInfo      // the run.json of each run
	Diverged  []*results.Run          // diverged runs, which are not in the slices above
}

// Add appends a finished run, with its decisions if asked. It ignores a run whose seed it has already.
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
	if run.Wrote(results.ClientsFile) { // another file of that name is not the run's
		rows, err := results.ReadClients(filepath.Join(run.Dir, results.ClientsFile))
		if err != nil {
			return err
		}
		r.Clients = append(r.Clients, rows)
	}
	r.Curves, r.Of = append(r.Curves, run.Curve), append(r.Of, run.Info)
	return nil
}

// seeds returns the seeds of the runs in the slices.
func (r *Runs) seeds() (seeds []uint32) {
	for _, info := range r.Of {
		seeds = append(seeds, info.Seed)
	}
	return seeds
}

// mean sets a row to the mean of a number of every run in the slices.
func (r *Runs) mean(row *results.SummaryRow, values []float64) {
	row.Estimate(stats.EstimateOf(values))
	row.BySeed = results.NewBySeed(r.seeds(), values)
}

// Seeds returns the seeds of all runs, also of those that diverged.
func (r *Runs) Seeds() (seeds []uint32) {
	seeds = r.seeds()
	for _, run := range r.Diverged {
		seeds = append(seeds, run.Seed)
	}
	return seeds
}

// Rounds returns the number of rounds of the shortest run; 0 if there is no run.
func (r *Runs) Rounds() int {
	if len(r.Of) == 0 {
		return 0
	}
	return slices.MinFunc(r.Of, func(a, b *results.RunInfo) int { return a.Rounds - b.Rounds }).Rounds
}

// About sets the columns of a row that say how its runs were made, and which of them diverged.
func (r *Runs) About(row *results.SummaryRow) {
	infos := r.Of
	if len(r.Diverged) > 0 {
		first := r.Diverged[0]
		if row.Status == results.CellOK {
			row.Status = results.CellDiverged
			row.Error = fmt.Sprintf("%d diverged: seed %d: %s", len(r.Diverged), first.Seed, first.Info.Error)
		}
		if len(infos) == 0 {
			infos = []*results.RunInfo{first.Info}
		}
	}
	row.Rounds = r.Rounds()
	row.About(infos)
}

// Named returns the table of a name. One that is not a paper's table, such as the folder of single runs, has the
// accuracies of a sweep.
func Named(table string) Table {
	t, unknown := TableByID(table)
	if unknown != nil {
		return Sweep(table, "", nil, nil)
	}
	return t
}

// Summaries computes the rows of the table of a name from existing runs, as [Table.Summarise] does, with further
// metrics.
func Summaries(table string, runs []results.Run, mixed bool, further ...metrics.Metric) []results.SummaryRow {
	t := Named(table)
	t = t.With(further...)
	return t.Summarise(runs, mixed)
}

// Summarise computes the rows of a table from existing runs, whichever table they were made for. Runs of a cell that
// are not alike get separate rows, unless mixed is true.
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
				continue // the runs were not evaluated on the training set
			}
			if err != nil {
				r = about[i]
				r.Metric, r.Status, r.Error = e.Metric, results.CellFailed, err.Error()
			}
			rows = append(rows, r)
		}
	}
	t.Correct(rows)
	return rows
}

// Row returns the row of one number of a cell, with the printed number. about has the columns that all rows of the cell
// share; [Entry] explains reference.
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

// summaryOf returns the columns that all rows of a cell share, and the complete runs of the cell.
func summaryOf(c *results.Cell, table string) (row results.SummaryRow, complete Runs) {
	row = results.SummaryRow{Setup: c.Runs[0].Setup, Params: c.Params, Status: results.CellOK}
	row.Table = table
	// The row has the status of the worst run: a failed or damaged run outweighs an interrupted one.
	var left []*results.RunInfo // of runs that did not complete
	var failed []*results.Run
	for i := range c.Runs {
		r := &c.Runs[i]
		switch r.Status() {
		case results.RunComplete, results.RunDiverged:
			if err := complete.Add(r, false); err != nil {
				row.Status, row.Error = results.CellFailed, err.Error()
			}
		case results.RunFailed:
			failed, left = append(failed, r), append(left, r.Info)
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
	if failed != nil {
		row.Status, row.Error = results.CellFailed, whyFailed(failed)
	}
	complete.About(&row)
	if len(complete.Of)+len(complete.Diverged) == 0 {
		row.About(left)
	}
	return row, complete
}

// whyFailed says which runs of a cell failed, and why: "seeds 1, 2: no client trained: …; seed 4: …".
func whyFailed(runs []*results.Run) string {
	reasons, of := results.Grouped(runs, func(r *results.Run) string { return r.Info.Error })
	for i, reason := range reasons {
		var seeds []uint32
		for _, r := range of[reason] {
			seeds = append(seeds, r.Seed)
		}
		reasons[i] = results.OfSeeds(seeds, reason)
	}
	return strings.Join(reasons, "; ")
}

// referenceOf returns the index of the cell of the table's reference method in the same column as c; −1 if there is
// none.
func (t *Table) referenceOf(c *results.Cell, cells []results.Cell, mixed bool) int {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return -1
	}
	return slices.IndexFunc(cells, func(other results.Cell) bool {
		r := other.Runs[0]
		return r.Method == t.Reference && r.Preset == mine.Preset && r.Data == mine.Data && r.Net == mine.Net &&
			r.Availability == mine.Availability && r.Clients == mine.Clients && t.sameColumn(r.Params, mine.Params) &&
			(mixed || r.Likeness().SameConditions(mine.Likeness()))
	})
}

// sameSeeds reports whether two cells have the same seeds in the same order.
func sameSeeds(a, b Runs) bool {
	return slices.EqualFunc(a.Curves, b.Curves, func(x, y []results.CurveRow) bool { return x[0].Seed == y[0].Seed })
}

// sameColumn reports whether two runs agree in the settings that distinguish the columns of the table.
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
