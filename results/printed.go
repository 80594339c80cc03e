package results

import (
	"slices"

	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Printed is one number a paper prints in a table.
type Printed struct {
	Table        string // rollcall's id of it: fedawe-2
	Method       string // names as on the command line, here and below
	Data         string
	Availability string
	Alpha        files.Optional // of the split, as in [Cell]
	Params       Params         // what else sets the column apart within its table: gamma=0.2; see [PrintedFor]
	Metric       metrics.Metric
	// accuracies as fractions; missing where the paper prints a dash: a target never reached
	Mean    files.Optional
	Std     files.Optional // likewise; missing where none is printed
	N       int            // seeds behind it
	Rounds  int            // T of its experiment, of which a table of a paper says it
	Clients int            // N, likewise
}

// Estimate returns the number as [stats.Compare] takes it. It has none of a target never reached: look at Mean first.
func (p Printed) Estimate() stats.Estimate {
	return stats.Estimate{Mean: p.Mean.Value, Std: p.Std, N: p.N}
}

// PrintedFor returns the number that belongs beside a row of ours, and whether the table has one. The row's method,
// data, availability and metric count, its alpha where the paper's split has one, and of its params those keys that set
// columns of this table apart. Both params say what differs from the preset, so that the column of Table 9 with the
// preset's γ = 0.3 has none and belongs to a row without gamma. Other params (rounds=500) and the preset make no
// difference.
func PrintedFor(table []Printed, row SummaryRow) (Printed, bool) {
	keys := PrintedNames(table)
	i := slices.IndexFunc(table, func(p Printed) bool {
		return p.Method == row.Method && p.Metric == row.Metric && p.InColumn(row, keys)
	})
	if i < 0 {
		return Printed{}, false
	}
	return table[i], true
}

// InColumn reports whether a row of ours is of the number's column, the metric aside.
func (p Printed) InColumn(row SummaryRow, keys []string) bool {
	return p.Data == row.Data && p.Availability == row.Availability &&
		(!p.Alpha.Valid || p.Alpha == row.Alpha) && p.Params == row.Params.Only(keys...)
}

// PrintedNames returns the names of the settings that set columns of a table apart, each once.
func PrintedNames(table []Printed) (names []string) {
	for _, p := range table {
		for name := range p.Params.All() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
