package papers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results/metrics"
)

// column reads "svhn sine alpha=0.05".
func column(c Column) string {
	parts := []string{c.Data, c.Availability}
	for flag, value := range c.Set.All() {
		parts = append(parts, flag+"="+value)
	}
	return strings.Join(parts, " ")
}

// metricsOf returns what a table has of every cell.
func metricsOf(t Table) (list []metrics.Metric) {
	for _, e := range t.Entries {
		list = append(list, e.Metric)
	}
	return list
}

// FedAWE, Tables 2, 8, 9 and 10, column by column in the printed order.
func TestTables(t *testing.T) {
	var table2 []string
	for _, availability := range []string{"stationary", "staircase", "sine", "interleaved-sine"} {
		for _, data := range []string{"svhn", "cifar10", "cinic10"} {
			table2 = append(table2, data+" "+availability)
		}
	}
	accuracies := []metrics.Metric{metrics.TestAcc, metrics.TrainAcc}
	for _, c := range []struct {
		id      string
		methods int
		columns []string
		entries []metrics.Metric
	}{
		{"fedawe-2", 8, table2, accuracies},
		{
			"fedawe-8", 7,
			[]string{"svhn sine", "cifar10 sine", "cinic10 sine"},
			[]metrics.Metric{metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75, metrics.RoundsTo100},
		},
		{"fedawe-9", 7, []string{"svhn sine gamma=0.3", "svhn sine gamma=0.2", "svhn sine gamma=0.1"}, accuracies},
		{"fedawe-10", 7, []string{"svhn sine alpha=0.05", "svhn sine alpha=0.1", "svhn sine alpha=1"}, accuracies},
	} {
		t.Run(c.id, func(t *testing.T) {
			table := must.Get(TableByID(c.id))(t)
			var columns []string
			for _, x := range table.Columns {
				columns = append(columns, column(x))
			}
			if !slices.Equal(columns, c.columns) {
				t.Errorf("columns %q, want %q", columns, c.columns)
			}
			if len(table.Methods) != c.methods || slices.Contains(table.Methods, "fedvarp") != (c.id == "fedawe-2") {
				t.Errorf("methods %q, want %d, FedVARP in Table 2 alone", table.Methods, c.methods)
			}
			if table.Rounds != 2000 || !slices.Equal(table.Seeds, []uint32{3, 4, 6}) ||
				!slices.Equal(metricsOf(table), c.entries) {
				t.Errorf("%d rounds, seeds %v, entries %q, want 2000, 3 4 6, %q",
					table.Rounds, table.Seeds, metricsOf(table), c.entries)
			}
		})
	}
	if _, err := TableByID("fedawe-3"); err == nil {
		t.Error("fedawe-3: no error, want one: there is no such table")
	}
}

// FedAWE, Figures 2, 3, 5, 6 and 7.
func TestFigures(t *testing.T) {
	var f3, f7 []string
	for _, p := range []string{"0.1", "0.3", "0.5", "1"} {
		for _, gamma := range []string{"0.1", "0.2", "0.3", "0.5"} {
			f3 = append(f3, fmt.Sprintf("fedavg-active svhn sine p=%s gamma=%s", p, gamma))
		}
	}
	for _, data := range []string{"svhn", "cifar10", "cinic10"} {
		for _, method := range []string{"fedavg-active", "fedawe", "mifa"} {
			f7 = append(f7, method+" "+data+" sine")
		}
	}
	for _, c := range []struct {
		id     string
		runs   []string
		rounds int
	}{
		{"fedawe-f2", nil, 0},
		{"fedawe-f3", f3, 1000},
		{"fedawe-f4", nil, 0},
		{"fedawe-f5", nil, 0},
		{"fedawe-f6", nil, 80},
		{"fedawe-f7", f7, 2000},
	} {
		f := must.Get(FigureByID(c.id))(t)
		var runs []string
		for _, r := range f.Runs {
			runs = append(runs, r.Method+" "+column(r.Column))
		}
		if !slices.Equal(runs, c.runs) || f.Rounds != c.rounds {
			t.Errorf("%s: %d rounds of %q, want %d of %q", c.id, f.Rounds, runs, c.rounds, c.runs)
		}
	}
	if _, err := FigureByID("fedawe-f1"); err == nil {
		t.Error("fedawe-f1: no error, want one: there is no such figure")
	}
}
