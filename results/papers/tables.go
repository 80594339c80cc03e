package papers

import (
	"fmt"
	"strings"

	"rollcall/results"
)

// Table is one table of a paper: every method in every column.
type Table struct {
	ID      string
	Title   string
	Methods []string
	Columns []Column
	Seeds   []uint32
	Rounds  int // T
	Entry   Entry

	Reference string // method that the others are compared with, of [PairedT]
	Preset    string // where none is asked for; empty: code
}

// Column is one group of columns: a data set under an availability process, and what else is not as usual.
type Column struct {
	Data, Availability string
	Set                results.Params            // sets the column apart from others
	Base               results.Params            // common to the experiments of a paper
	ByPreset           map[string]results.Params // of one preset
	ByMethod           map[string]results.Params // of one method

	ByPresetMethod map[string]map[string]results.Params // of one method in one preset, by preset
}

// OneByRounds is the value 1/T of a setting.
const OneByRounds = "1/T"

// Common returns what is not as usual for a method in a preset, apart from what sets the column apart.
func (c *Column) Common(method, preset string) results.Params {
	return c.Base.And(c.ByPreset[preset], c.ByMethod[method], c.ByPresetMethod[preset][method])
}

// Settings returns what is not as usual for a method in a preset. Where a flag is there twice, the later one counts. Runs
// that have no use for a flag do without it.
func (c *Column) Settings(method, preset string) results.Params {
	return c.Common(method, preset).And(c.Set)
}

// Entry says what a table prints of a cell.
type Entry int

// The entries.
const (
	Accuracy    Entry = iota // mean over the last 50 rounds of train and test accuracy, then mean ± std over the seeds
	RoundsToGet              // first round at which quarters of a target test accuracy are reached, of the mean over the seeds

	// AccuracyOverTime is the largest test accuracy, its mean over all rounds and its standard deviation over the second half
	// of them, each averaged over the seeds (INFOCOM, Table I).
	AccuracyOverTime

	PairedT          // p-values of a paired t-test of the test accuracies against the reference's, by rounds and by seeds (FedAR, Table 2)
	ClientAccuracies // mean, spread, worst and best tenth of the clients' accuracies (FedAR, Table 3)
)

// tables are the known ones.
var tables = []Table{fedawe2, fedawe8, fedawe9, fedawe10, cafed1, fedar2, fedar3}

// TableNames returns the ids of the tables.
func TableNames() []string {
	var names []string
	for _, t := range tables {
		names = append(names, t.ID)
	}
	return names
}

// TableByID returns a table.
func TableByID(id string) (Table, error) {
	for _, t := range tables {
		if t.ID == id {
			return t, nil
		}
	}
	return Table{}, fmt.Errorf("spec: table %q: unknown, want one of %s", id, strings.Join(TableNames(), ", "))
}
