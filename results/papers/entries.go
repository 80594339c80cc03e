package papers

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"rollcall/results"
)

// CellRuns are the complete runs of one cell, one for each seed.
type CellRuns struct {
	Curves    [][]results.CurveRow
	Decisions [][]results.DecisionRow // where they were asked for
	Clients   [][]results.ClientRow   // of a split that has them
	Device    string
}

// Read appends a finished run.
func (r *CellRuns) Read(dir string, decisions bool) error {
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

// Add appends other runs.
func (r *CellRuns) Add(other *CellRuns) {
	r.Curves, r.Decisions, r.Clients = append(r.Curves, other.Curves...), append(r.Decisions, other.Decisions...), append(r.Clients, other.Clients...)
	r.Device = other.Device
}

// entry is one number of a cell.
type entry struct {
	Metric results.Metric
	Fill   func(r *results.SummaryRow, curves [][]results.CurveRow) error
	whole  func(r *results.SummaryRow, runs, reference CellRuns) error // in its place, where curves are not enough
}

// Entries returns the numbers a table prints of every cell.
func Entries(t *Table) (list []entry) {
	if t.Entry == RoundsToGet {
		for i, m := range []results.Metric{results.RoundsTo25, results.RoundsTo50, results.RoundsTo75, results.RoundsTo100} {
			list = append(list, entry{Metric: m, Fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
				target := FedAWE8Target(r.Data)
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
	if t.Entry == PairedT || t.Entry == ClientAccuracies {
		list = fedarEntries(t)
	}
	if t.Entry == ClientAccuracies {
		return list
	}
	if t.Entry == AccuracyOverTime {
		for _, m := range []results.Metric{results.TestAccMax, results.TestAccMean, results.TestAccStd} {
			list = append(list, entry{Metric: m, Fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
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
		list = append(list, entry{Metric: m, Fill: func(r *results.SummaryRow, curves [][]results.CurveRow) error {
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
	for every = FedAWE8Every; ; every += FedAWE8Every {
		_, err := results.FirstRound(curves, every, 1, results.TestAcc)
		if last := curves[0][len(curves[0])-1].Round; err == nil || every > last {
			return every, err
		}
	}
}

// fedarEntries returns what FedAR's tables have beside accuracies.
func fedarEntries(t *Table) (list []entry) {
	if t.Entry == PairedT {
		for _, m := range []results.Metric{results.PRounds, results.PSeeds} {
			list = append(list, entry{Metric: m, whole: pValue(m)})
		}
		return list
	}
	for _, m := range results.ClientMetrics {
		list = append(list, entry{Metric: m, whole: func(r *results.SummaryRow, runs, _ CellRuns) error {
			e, err := results.ClientsOverSeeds(runs.Clients, m)
			if err == nil {
				r.Estimate(e)
			}
			return err
		}})
	}
	return list
}

// pValue returns what fills in a p-value: nothing where there is no reference, for the reference itself, and for fewer than two values.
func pValue(m results.Metric) func(r *results.SummaryRow, runs, reference CellRuns) error {
	return func(r *results.SummaryRow, runs, reference CellRuns) (err error) {
		r.N = len(runs.Curves)
		if len(reference.Curves) != len(runs.Curves) { // none, or the reference failed in a seed, which its own rows say
			return nil
		}
		if m == results.PRounds {
			r.Mean, err = results.RoundsTTest(reference.Curves, runs.Curves)
		} else {
			r.Mean, err = results.SeedsTTest(reference.Curves, runs.Curves, results.ProtocolRounds)
		}
		return err
	}
}

// Put fills in a row; what there is to fill it with is there.
func (e *entry) Put(r *results.SummaryRow, runs, reference CellRuns) error {
	if e.whole != nil {
		return e.whole(r, runs, reference)
	}
	return e.Fill(r, runs.Curves)
}

// References are the runs of a table's reference method, by column.
type References map[string]CellRuns

// Of returns the runs a cell is compared with, and keeps those of a reference. A table has it before the others of its column.
func (refs References) Of(t *Table, method, column string, runs CellRuns) CellRuns {
	if t.Reference == "" {
		return CellRuns{}
	}
	if method == t.Reference {
		refs[column] = runs
		return CellRuns{}
	}
	return refs[column]
}

// readClients reads the clients' accuracies of a finished run, where it has them.
func (r *CellRuns) readClients(dir string) error {
	rows, err := results.ReadClients(filepath.Join(dir, results.ClientsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.Clients = append(r.Clients, rows)
	return err
}

// wholeRuns returns the complete runs of a cell that are there already.
func wholeRuns(c *results.RunCell) (runs CellRuns, err error) {
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

// referenceOf returns the runs of the table's reference method in the column of a cell; nothing where those of both are not of the same
// seeds.
func referenceOf(t *Table, c *results.RunCell, cells []results.RunCell) (CellRuns, error) {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return CellRuns{}, nil
	}
	for i := range cells {
		of := cells[i].Runs[0]
		if of.Method != t.Reference || of.Preset != mine.Preset || of.Data != mine.Data || of.Net != mine.Net || of.Availability != mine.Availability || of.Clients != mine.Clients {
			continue
		}
		if !sameColumn(t, of.Params, mine.Params) {
			continue
		}
		runs, err := wholeRuns(&cells[i])
		if err != nil {
			return CellRuns{}, err
		}
		own, err := wholeRuns(c)
		if err != nil || len(runs.Curves) != len(own.Curves) {
			return CellRuns{}, err
		}
		for k := range own.Curves {
			if own.Curves[k][0].Seed != runs.Curves[k][0].Seed {
				return CellRuns{}, nil
			}
		}
		return runs, nil
	}
	return CellRuns{}, nil
}

// sameColumn reports whether two runs agree in the settings that set the columns of a table apart.
func sameColumn(t *Table, a, b results.Params) bool {
	for _, column := range t.Columns {
		for name := range column.Set.All() {
			if a.Get(name) != b.Get(name) {
				return false
			}
		}
	}
	return true
}
