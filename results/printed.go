package results

import (
	"slices"

	"rollcall/internal/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Printed is one number a paper prints in a table.
type Printed struct {
	Table        string // rollcall's name of the table: fedawe-2
	Method       string // named as on the command line, like Data and Availability
	Data         string
	Availability string
	Alpha        files.Optional // of the split, as in [Setup]
	Params       Params         // other settings that distinguish the columns of its table: gamma=0.2; see [PrintedFor]
	Metric       metrics.Metric
	// accuracies are fractions; missing if the paper prints a dash, for a target that was never reached
	Mean    files.Optional
	Std     files.Optional // likewise; missing if the paper prints none
	N       int            // seeds behind it
	Rounds  int            // T of the experiment; 0 if its table does not say it
	Clients int            // N of the experiment, likewise
}

// Estimate returns the number in the form that [stats.Compare] takes. A target that was never reached has no estimate,
// so callers look at Mean first.
func (p Printed) Estimate() stats.Estimate {
	return stats.Estimate{Mean: p.Mean.Value, Std: p.Std, N: p.N}
}

// PrintedFor returns the printed number that belongs beside a row of ours, and whether the table has one. They belong
// together if method, data, availability and metric are equal, and also alpha, if the paper's split has one, and the
// params that distinguish the columns of the table (see [PrintedNames]). Both params name only what differs from the
// preset: the column γ = 0.3 of Table 9, which is the preset's value, has no params and belongs to a row without gamma.
// Other params, such as rounds=500, and the preset make no difference.
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

// InColumn reports whether a row of ours belongs in the number's column, whatever its metric; keys are the
// [PrintedNames] of the table.
func (p Printed) InColumn(row SummaryRow, keys []string) bool {
	return p.Data == row.Data && p.Availability == row.Availability &&
		(!p.Alpha.Valid || p.Alpha == row.Alpha) && p.Params == row.Params.Only(keys...)
}

// PrintedNames returns the names of the settings that distinguish the columns of a table, each once.
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
