package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/results"
)

// paperTable is a table of a paper.
type paperTable struct {
	id     string
	source string // citation
	rows   func() []results.Printed
}

// paperTables are those there are. A new table is a file with its numbers and a line here.
var paperTables = []paperTable{
	{fedawe2ID, fedawe2Source, fedawe2Printed},
	{fedawe8ID, fedawe8Source, fedawe8Printed},
	{fedawe9ID, fedawe9Source, fedawe9Printed},
	{fedawe10ID, fedawe10Source, fedawe10Printed},
	{cafed1ID, cafed1Source, cafed1Printed},
	{fedar2ID, fedar2Source, fedar2Printed},
	{fedar3ID, fedar3Source, fedar3Printed},
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
func PaperTable(id string) ([]results.Printed, error) {
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
