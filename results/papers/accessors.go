package papers

import "rollcall/results"

// PaperTables returns the ids of the tables there are numbers of.
func PaperTables() []string { return TableNames() }

// PaperTable returns the printed numbers of a table, in the paper's order.
func PaperTable(id string) ([]results.Printed, error) {
	t, err := TableByID(id)
	return t.Printed, err
}

// PaperSource returns where a table is printed.
func PaperSource(id string) (string, error) {
	t, err := TableByID(id)
	return t.Source, err
}
