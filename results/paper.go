package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Printed is one number a paper prints in a table.
type Printed struct {
	Table        string // rollcall's id of it: fedawe-2
	Method       string // names as on the command line, here and below
	Data         string
	Availability string
	Alpha        Optional // of the split, as in [Cell]
	Params       string   // what else sets the column apart within its table: gamma=0.2; see [PrintedFor]
	Metric       Metric
	Mean         Optional // accuracies as fractions; missing where the paper prints a dash: a target never reached
	Std          Optional // likewise; missing where none is printed
	N            int      // seeds behind it
}

// Estimate returns the number as [Compare] takes it. It has none of a target never reached: look at Mean first.
func (p Printed) Estimate() Estimate { return Estimate{Mean: p.Mean.Value, Std: p.Std, N: p.N} }

// paperTable is a table of a paper.
type paperTable struct {
	id     string
	source string // citation
	rows   func() []Printed
}

// paperTables are those there are. A new table is a file with its numbers and a line here.
var paperTables = []paperTable{
	{fedawe2ID, fedawe2Source, fedawe2},
	{fedawe8ID, fedawe8Source, fedawe8},
	{fedawe9ID, fedawe9Source, fedawe9},
	{fedawe10ID, fedawe10Source, fedawe10},
	{cafed1ID, cafed1Source, cafed1},
	{fedar2ID, fedar2Source, fedar2},
	{fedar3ID, fedar3Source, fedar3},
}

// PaperTables returns the ids of the tables there are numbers of.
func PaperTables() []string {
	ids := make([]string, len(paperTables))
	for i, t := range paperTables {
		ids[i] = t.id
	}
	return ids
}

// PaperTable returns the printed numbers of a table, in the paper's order.
func PaperTable(id string) ([]Printed, error) {
	t, err := findPaperTable(id)
	if err != nil {
		return nil, err
	}
	return t.rows(), nil
}

// PaperSource returns where a table is printed.
func PaperSource(id string) (string, error) {
	t, err := findPaperTable(id)
	return t.source, err
}

// PrintedFor returns the number that belongs beside a row of ours, and whether the table has one. The row's method, data,
// availability and metric count, its alpha where the paper's split has one, and of its params those keys that set columns
// of this table apart. Both params say what differs from the preset, so that the column of Table 9 with the preset's
// γ = 0.3 has none and belongs to a row without gamma. Other params (rounds=500) and the preset make no difference.
func PrintedFor(table []Printed, row SummaryRow) (Printed, bool) {
	keys := columnKeys(table)
	i := slices.IndexFunc(table, func(p Printed) bool {
		return p.Method == row.Method && p.Metric == row.Metric && p.inColumn(row, keys)
	})
	if i < 0 {
		return Printed{}, false
	}
	return table[i], true
}

// inColumn reports whether a row of ours is of the number's column, the metric aside.
func (p Printed) inColumn(row SummaryRow, keys []string) bool {
	return p.Data == row.Data && p.Availability == row.Availability &&
		(!p.Alpha.Valid || p.Alpha == row.Alpha) && p.Params == onlyKeys(row.Params, keys)
}

func findPaperTable(id string) (paperTable, error) {
	i := slices.IndexFunc(paperTables, func(t paperTable) bool { return t.id == id })
	if i < 0 {
		return paperTable{}, fmt.Errorf("results: table %q: no printed numbers, want %s", id, strings.Join(PaperTables(), ", "))
	}
	return paperTables[i], nil
}

// tenths turns a percentage printed with one decimal into the float64 nearest to its fraction; dividing
// by 100 would print 86.1 % as 0.8609999999999999.
func tenths(percent float64) float64 { return math.Round(percent*10) / 1000 }

// hundredths is [tenths] for two decimals.
func hundredths(percent float64) float64 { return math.Round(percent*100) / 10000 }
