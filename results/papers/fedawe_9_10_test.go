package papers

import (
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// FedAWE, Tables 9 and 10: the columns γ = 0.3 and α = 0.1 are Table 2's experiment, and print the same numbers.
func TestFedAWEStudiesRepeatTable2(t *testing.T) {
	table2 := printed(t, "fedawe-2")
	for _, id := range []string{"fedawe-9", "fedawe-10"} {
		rows := printed(t, id)
		for _, method := range appendixMethods {
			for _, m := range []metrics.Metric{metrics.TrainAcc, metrics.TestAcc} {
				row := resultstest.SineRow(method, "svhn", 0.1, "", m)
				got, found := results.PrintedFor(rows, row)
				want, known := results.PrintedFor(table2, row)
				if !found || !known || got.Mean != want.Mean || got.Std != want.Std || got.N != want.N {
					t.Errorf("%s %s %s: got %+v, %v, want Table 2's %+v, %v", id, method, m, got, found, want, known)
				}
			}
		}
	}
}

// Numbers spread over both tables, read from the paper once more, by the row of ours they belong to.
func TestFedAWEStudiesSamples(t *testing.T) {
	for _, test := range []struct {
		name, table string
		row         results.SummaryRow
		mean, std   float64 // 0: not printed
	}{
		{"γ=0.2", "fedawe-9", resultstest.SineRow("fedau", "svhn", 0.1, "gamma=0.2", metrics.TestAcc), 0.834, 0.004},
		{"γ=0.1, other params beside it", "fedawe-9", resultstest.SineRow("fedavg-all", "svhn", 0.1,
			"eval-last=2;gamma=0.1;rounds=500", metrics.TestAcc), 0.749, 0.024},
		{
			"γ=0.3 with other params", "fedawe-9",
			resultstest.SineRow("fedavg-known", "svhn", 0.1, "rounds=500", metrics.TrainAcc), 0.863, 0.010,
		},
		{"another γ", "fedawe-9", resultstest.SineRow("fedau", "svhn", 0.1, "gamma=0.25", metrics.TestAcc), 0, 0},
		{
			"a key that only looks like γ", "fedawe-9",
			resultstest.SineRow("fedau", "svhn", 0.1, "leaf-gamma=0.2", metrics.TestAcc), 0.825, 0.013,
		},
		{
			"γ does not set columns of Table 2 apart", "fedawe-2",
			resultstest.SineRow("fedau", "svhn", 0.1, "gamma=0.2", metrics.TestAcc), 0.825, 0.013,
		},
		{"α=0.05", "fedawe-10", resultstest.SineRow("fedawe", "svhn", 0.05, "", metrics.TestAcc), 0.825, 0.024},
		{"α=1", "fedawe-10", resultstest.SineRow("mifa", "svhn", 1, "", metrics.TrainAcc), 0.884, 0.001},
		{
			"a std of 0.0 is printed", "fedawe-10", resultstest.SineRow("mifa", "svhn", 0.05, "", metrics.TestAcc),
			0.826,
			0,
		},
		{"another α", "fedawe-10", resultstest.SineRow("mifa", "svhn", 0.5, "", metrics.TrainAcc), 0, 0},
		{"another α in Table 2", "fedawe-2", resultstest.SineRow("mifa", "svhn", 0.5, "", metrics.TrainAcc), 0, 0},
		{"no α at all", "fedawe-10", results.SummaryRow{Experiment: results.Experiment{
			Method: "mifa", Data: "svhn", Availability: "sine",
		}, Metric: metrics.TestAcc}, 0, 0},
		{"FedVARP", "fedawe-9", resultstest.SineRow("fedvarp", "svhn", 0.1, "", metrics.TestAcc), 0, 0},
		{"another data set", "fedawe-9", resultstest.SineRow("mifa", "cifar10", 0.1, "", metrics.TestAcc), 0, 0},
	} {
		t.Run(test.table+" "+test.name, func(t *testing.T) {
			got, found := results.PrintedFor(printed(t, test.table), test.row)
			if found != (test.mean > 0) {
				t.Fatalf("got %+v, found %v, want found %v", got, found, test.mean > 0)
			}
			// Exact: the fractions are the floats nearest to the printed decimals.
			if want := (stats.Estimate{Mean: test.mean, Std: files.Some(test.std), N: 3}); found &&
				got.Estimate() != want {
				t.Errorf("got %+v, want %+v", got.Estimate(), want)
			}
		})
	}
}
