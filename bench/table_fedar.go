package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"rollcall/results"
	"rollcall/results/papers"
)

// fedarEntries returns what FedAR's tables have beside accuracies.
func fedarEntries(t *papers.Table) (list []entry) {
	if t.Entry == papers.PairedT {
		for _, m := range []results.Metric{results.PRounds, results.PSeeds} {
			list = append(list, entry{metric: m, whole: pValue(m)})
		}
		return list
	}
	for _, m := range results.ClientMetrics {
		list = append(list, entry{metric: m, whole: func(r *results.SummaryRow, runs, _ cellRuns) error {
			e, err := results.ClientsOverSeeds(runs.clients, m)
			if err == nil {
				r.Estimate(e)
			}
			return err
		}})
	}
	return list
}

// pValue returns what fills in a p-value: nothing where there is no reference, for the reference itself, and for fewer than two values.
func pValue(m results.Metric) func(r *results.SummaryRow, runs, reference cellRuns) error {
	return func(r *results.SummaryRow, runs, reference cellRuns) (err error) {
		r.N = len(runs.curves)
		if len(reference.curves) != len(runs.curves) { // none, or the reference failed in a seed, which its own rows say
			return nil
		}
		if m == results.PRounds {
			r.Mean, err = results.RoundsTTest(reference.curves, runs.curves)
		} else {
			r.Mean, err = results.SeedsTTest(reference.curves, runs.curves, results.ProtocolRounds)
		}
		return err
	}
}

// put fills in a row; what there is to fill it with is there.
func (e *entry) put(r *results.SummaryRow, runs, reference cellRuns) error {
	if e.whole != nil {
		return e.whole(r, runs, reference)
	}
	return e.fill(r, runs.curves)
}

// references are the runs of a table's reference method, by column.
type references map[string]cellRuns

// of returns the runs a cell is compared with, and keeps those of a reference. A table has it before the others of its column.
func (refs references) of(t *papers.Table, c cell, runs cellRuns) cellRuns {
	if t.Reference == "" {
		return cellRuns{}
	}
	key := cellLabel("", Settings{Data: c.settings.Data, Availability: c.settings.Availability}, c.column)
	if c.settings.Method == t.Reference {
		refs[key] = runs
		return cellRuns{}
	}
	return refs[key]
}

// readClients reads the clients' accuracies of a finished run, where it has them.
func (r *cellRuns) readClients(dir string) error {
	rows, err := results.ReadClients(filepath.Join(dir, results.ClientsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.clients = append(r.clients, rows)
	return err
}

// wholeRuns returns the complete runs of a cell that are there already.
func wholeRuns(c *results.RunCell) (runs cellRuns, err error) {
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Status() != results.RunComplete {
			continue
		}
		if err := runs.readClients(r.Dir); err != nil {
			return runs, err
		}
		runs.curves = append(runs.curves, r.Curve)
	}
	return runs, nil
}

// referenceOf returns the runs of the table's reference method in the column of a cell; nothing where those of both are not of the same
// seeds.
func referenceOf(t *papers.Table, c *results.RunCell, cells []results.RunCell) (cellRuns, error) {
	mine := c.Runs[0]
	if t.Reference == "" || mine.Method == t.Reference {
		return cellRuns{}, nil
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
			return cellRuns{}, err
		}
		own, err := wholeRuns(c)
		if err != nil || len(runs.curves) != len(own.curves) {
			return cellRuns{}, err
		}
		for k := range own.curves {
			if own.curves[k][0].Seed != runs.curves[k][0].Seed {
				return cellRuns{}, nil
			}
		}
		return runs, nil
	}
	return cellRuns{}, nil
}

// sameColumn reports whether two runs agree in the settings that set the columns of a table apart.
func sameColumn(t *papers.Table, a, b string) bool {
	value := func(params, flag string) string {
		for setting := range strings.SplitSeq(params, ";") {
			if key, v, _ := strings.Cut(setting, "="); key == flag {
				return v
			}
		}
		return ""
	}
	for _, column := range t.Columns {
		for _, set := range column.Set {
			if value(a, set.Flag) != value(b, set.Flag) {
				return false
			}
		}
	}
	return true
}
