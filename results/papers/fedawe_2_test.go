package papers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// FedAWE, Table 2: every cell of the grid once, and no number changed by accident since it was compared, digit by
// digit, with a second reading of the paper by another program.
func TestFedAWE2(t *testing.T) {
	rows := fedawe2.Printed
	if len(rows) != 192 {
		t.Errorf("%d numbers, want 192 = 8 methods × 4 availabilities × 3 data sets × train and test", len(rows))
	}
	for _, method := range []string{
		"fedawe", "fedavg-active", "fedavg-all", "fedau", "f3ast", "fedavg-known", "mifa", "fedvarp",
	} {
		for _, availability := range []string{"stationary", "staircase", "sine", "interleaved-sine"} {
			for _, data := range []string{"svhn", "cifar10", "cinic10"} {
				for _, m := range []metrics.Metric{metrics.TrainAcc, metrics.TestAcc} {
					row := results.SummaryRow{Experiment: results.Experiment{
						Method: method, Data: data, Availability: availability, Alpha: files.Some(0.1),
					}, Metric: m}
					if _, found := results.PrintedFor(rows, row); !found {
						t.Errorf("%s %s %s %s: not there", method, data, availability, m)
					}
				}
			}
		}
	}
	var listing strings.Builder
	for _, r := range rows {
		if r.Table != "fedawe-2" || r.N != 3 || !r.Std.Valid || !r.Mean.Valid || r.Mean.Value < 0.3 ||
			r.Mean.Value > 0.9 || r.Std.Value < 0.001 || r.Std.Value > 0.05 {
			t.Errorf("%+v: want table fedawe-2, 3 seeds, mean in 0.3…0.9, std in 0.001…0.05", r)
		}
		fmt.Fprintf(&listing, "%s,%s,%s,%s,%v,%v\n", r.Availability, r.Method, r.Data, r.Metric, r.Mean, r.Std)
	}
	sum := sha256.Sum256([]byte(listing.String()))
	want := "0bc4fdec2aa6b4ddcd792dc81b91907c4b9fec4c3052698db88799cbe2daed06"
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("checksum of the listing: got %s, want %s; it starts\n%s", got, want, listing.String()[:200])
	}
}

// Numbers spread over the table, read from the paper once more.
func TestFedAWE2Samples(t *testing.T) {
	rows := fedawe2.Printed
	for _, test := range []struct {
		method, availability, data string
		metric                     metrics.Metric
		mean, std                  float64
	}{
		{"fedawe", "stationary", "svhn", metrics.TrainAcc, 0.865, 0.007},
		{"fedavg-known", "sine", "cifar10", metrics.TrainAcc, 0.691, 0.012},
		{"fedavg-all", "interleaved-sine", "svhn", metrics.TestAcc, 0.695, 0.041},
		{"fedavg-active", "staircase", "cinic10", metrics.TestAcc, 0.423, 0.022},
		{"fedvarp", "interleaved-sine", "cinic10", metrics.TestAcc, 0.472, 0.003},
	} {
		row := results.SummaryRow{Experiment: results.Experiment{
			Method: test.method, Data: test.data, Availability: test.availability, Alpha: files.Some(0.1),
		}, Metric: test.metric}
		got, found := results.PrintedFor(rows, row)
		// Exact: the fractions are the floats nearest to the printed decimals.
		if want := (stats.Estimate{Mean: test.mean, Std: files.Some(test.std), N: 3}); !found ||
			got.Estimate() != want {
			t.Errorf("%s %s %s %s: got %+v, want %+v",
				test.method, test.availability, test.data, test.metric, got, want)
		}
	}
}

func TestPaperTables(t *testing.T) {
	for _, table := range tables {
		if !strings.Contains(table.Source, "Table") && !strings.Contains(table.Source, "section") {
			t.Errorf("%s: source %q, want a citation", table.ID, table.Source)
		}
	}
	want := `papers: table "fedawe-3": unknown, want one of fedawe-2, fedawe-8, fedawe-9, fedawe-10, cafed-1, ` +
		`fedar-2, fedar-3, fedar-mnist`
	if _, err := TableByID("fedawe-3"); err == nil || err.Error() != want {
		t.Errorf("unknown table: got %v, want %s", err, want)
	}
	if _, found := results.PrintedFor(nil, resultstest.SineRow("fedawe", "svhn", 0.1, "", metrics.TestAcc)); found {
		t.Error("number in an empty table: found, want not")
	}
}
