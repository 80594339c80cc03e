package compare

import (
	"slices"
	"strings"
	"testing"

	"rollcall/results"
	"rollcall/results/metrics"
)

// Rows of a table of ours alone keep the order in which they first came, those of a paper's have the paper's.
func TestSortSummary(t *testing.T) {
	var rows []results.SummaryRow
	for _, availability := range []string{"stationary", "sine"} {
		for _, method := range []string{"mifa", "fedawe", "new"} {
			for _, m := range []metrics.Metric{metrics.TrainAcc, metrics.TestAcc} {
				rows = append(rows, results.SummaryRow{Cell: results.Cell{
					Method: method, Data: "svhn", Availability: availability,
				}, Metric: m})
			}
		}
	}
	rows[0], rows[1] = rows[1], rows[0]
	for table, want := range map[string]string{
		"mine":     "stationary mifa, stationary fedawe, stationary new, sine mifa, sine fedawe, sine new",
		"fedawe-2": "stationary fedawe, stationary mifa, stationary new, sine fedawe, sine mifa, sine new",
	} {
		sorted := slices.Clone(rows)
		SortSummary(table, sorted)
		var got []string
		for i, r := range sorted {
			if name := r.Availability + " " + r.Method; i%2 == 0 {
				got = append(got, name)
			}
			if first := i%2 == 0; first != (r.Metric == metrics.TestAcc) {
				t.Errorf("%s: row %d is %s, want test before train accuracy", table, i, r.Metric)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", table, strings.Join(got, ", "), want)
		}
	}
}
