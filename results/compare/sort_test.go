package compare

import (
	"slices"
	"strings"
	"testing"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
)

// Rows of a table of ours alone keep the order in which they first came, those of a paper's have the paper's. Methods
// that the paper's table does not have come after those of which it prints nothing.
func TestSortSummary(t *testing.T) {
	var rows []results.SummaryRow
	for _, availability := range []string{"stationary", "sine"} {
		for _, method := range []string{"mifa", "new", "fedawe", "fedar"} {
			for _, m := range []metrics.Metric{metrics.TrainAcc, metrics.TestAcc} {
				rows = append(rows, resultstest.Row("", method, "svhn", availability, m, 0.5, 1))
			}
		}
	}
	rows[0], rows[1] = rows[1], rows[0]
	for table, want := range map[string]string{
		"mine": "stationary mifa, stationary new, stationary fedawe, stationary fedar, " +
			"sine mifa, sine new, sine fedawe, sine fedar",
		"fedawe-2": "stationary fedawe, stationary mifa, stationary new, stationary fedar, " +
			"sine fedawe, sine mifa, sine new, sine fedar",
		"fedar-mnist": "stationary mifa, stationary fedar, stationary new, stationary fedawe, " +
			"sine mifa, sine fedar, sine new, sine fedawe",
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
