package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
)

// Table is one table of a paper: every method in every column.
type Table struct {
	ID      string
	Title   string
	Methods []string
	Columns []Column
	Seeds   []uint32
	Rounds  int // T
	Entries []Entry

	Printed []results.Printed // what the paper prints, in its order; none of a table of ours alone
	Source  string            // where it is printed; empty likewise

	About func(rounds int) string // says what the numbers of a run of so many rounds are
	// fewest rounds whose second half has the spread that it prints; 0: it prints none
	MinRounds int
	Reference string // method that the others are compared with; empty: none
	Preset    string // where none is asked for; empty: code
}

// Column is one group of columns: a data set under an availability process, and what else is not as usual.
type Column struct {
	Data, Availability string

	Set            results.Params                       // sets the column apart from others
	Base           results.Params                       // common to the experiments of a paper
	ByPreset       map[string]results.Params            // of one preset
	ByMethod       map[string]results.Params            // of one method
	ByPresetMethod map[string]map[string]results.Params // of one method in one preset, by preset
}

// OneByRounds is the value 1/T of a setting.
const OneByRounds = "1/T"

// Common returns what is not as usual for a method in a preset, apart from what sets the column apart.
func (c *Column) Common(method, preset string) results.Params {
	return c.Base.And(c.ByPreset[preset], c.ByMethod[method], c.ByPresetMethod[preset][method])
}

// Settings returns what is not as usual for a method in a preset. Where a flag is there twice, the later one counts.
// Runs that have no use for a flag do without it.
func (c *Column) Settings(method, preset string) results.Params {
	return c.Common(method, preset).And(c.Set)
}

// TrainsAs returns how a method trains in its own paper on a data set, in a preset: the settings whose defaults differ
// from method to method. net is the data set's own. Data that are never augmented are not augmented here either,
// whatever the preset says.
func TrainsAs(method, preset, data, net string) results.Params {
	trains := fedaweLocal[preset]
	switch {
	case slices.Contains(cafedOwn, method):
		return trains.And(cafedTrains(method, preset, data, net))
	case slices.Contains(fedarOwn, method):
		return trains.And(fedarTrains)
	}
	return trains.And(fedaweRates[method])
}

// Sweep returns a table that no paper has: accuracies of methods. Its columns and rounds are still to be set.
func Sweep(id, title string, methods []string, seeds []uint32) Table {
	return Table{ID: id, Title: title, Methods: methods, Seeds: seeds, Entries: accuracies(), About: aboutAccuracies}
}

// tables are those of all papers.
var tables = withExperiments(slices.Concat(fedaweTables, cafedTables, fedarTables))

// usualClients is N where a column does not set it, as in the program's own settings.
const usualClients = 100

// withExperiments says of every printed number what experiment it is of.
func withExperiments(list []Table) []Table {
	for _, t := range list {
		for i := range t.Printed {
			p := &t.Printed[i]
			p.Rounds, p.Clients = t.Rounds, usualClients
			for _, c := range t.columnsOf(p.Data, p.Availability) {
				if set := c.Settings(p.Method, cmp.Or(t.Preset, "code")).Get("clients"); set != "" {
					p.Clients, _ = strconv.Atoi(set) // 0 where it is no number, which no experiment has
				}
			}
		}
	}
	return list
}

// columnsOf returns the columns of a data set under an availability process.
func (t *Table) columnsOf(data, availability string) (columns []Column) {
	for _, c := range t.Columns {
		if c.Data == data && c.Availability == availability {
			columns = append(columns, c)
		}
	}
	return columns
}

// Own returns the settings of a row that the table does not itself give the row's method in its column: those that set
// columns apart, and what somebody else chose.
func (t *Table) Own(r *results.SummaryRow) results.Params {
	var given []string
	for _, c := range t.columnsOf(r.Data, r.Availability) {
		common := c.Common(r.Method, r.Preset).And(results.Params(fmt.Sprintf("rounds=%d", t.Rounds)))
		for name, value := range r.Params.All() {
			if of := common.Get(name); of == value || of == OneByRounds { // which is a number in a row
				given = append(given, name)
			}
		}
	}
	return r.Params.Without(given...)
}

// TableNames returns the ids of the tables.
func TableNames() []string { return ids(tables, tableID) }

// TableByID returns a table.
func TableByID(id string) (Table, error) { return byID("table", id, tables, tableID) }

func tableID(t Table) string { return t.ID }

// ids returns the ids of a list.
func ids[T any](list []T, idOf func(T) string) []string {
	names, _ := results.Grouped(list, idOf)
	return names
}

// byID returns what has an id.
func byID[T any](what, id string, list []T, idOf func(T) string) (found T, err error) {
	i := slices.IndexFunc(list, func(x T) bool { return idOf(x) == id })
	if i < 0 {
		return found, fmt.Errorf("papers: %s %q: unknown, want one of %s", what, id,
			strings.Join(ids(list, idOf), ", "))
	}
	return list[i], nil
}

// printedTable is a table as it is printed.
type printedTable struct {
	id, availability string
	n                int               // seeds behind each number
	columns          []results.Printed // what sets each apart: data, alpha and params
	metrics          []metrics.Metric  // of every column
}

// numbers reads the lines of the table: a method, and its numbers column by column, each 85.6 or 85.6±0.9, or a dash
// where there is none. Accuracies are printed in percent.
func (t printedTable) numbers(lines string) (rows []results.Printed) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		words := strings.Fields(line)
		for i, word := range words[1:] {
			row := t.columns[i/len(t.metrics)]
			row.Table, row.Method, row.Availability, row.N = t.id, words[0], t.availability, t.n
			row.Metric = t.metrics[i%len(t.metrics)]
			mean, std, _ := strings.Cut(word, "±")
			row.Mean, row.Std = printedNumber(row.Metric, mean), printedNumber(row.Metric, std)
			rows = append(rows, row)
		}
	}
	return rows
}

// printedNumber returns a number of a metric as ours are: fractions in place of percentages.
func printedNumber(m metrics.Metric, text string) files.Optional {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil: // none
		return files.Optional{}
	case m.IsRound(), m == metrics.PRounds:
		return files.Some(x)
	case m == metrics.ClientAccVar:
		return files.Some(math.Round(100*x) / 1e6)
	}
	return files.Some(math.Round(100*x) / 1e4) // the nearest float64; x/100 would print 86.1 % as 0.8609999999999999
}
