package papers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
)

// appendixMethods are the methods of the paper's appendix.
var appendixMethods = []string{"fedawe", "fedavg-active", "fedavg-all", "fedau", "f3ast", "fedavg-known", "mifa"}

// printed returns a table of a paper.
func printed(t *testing.T, id string) []results.Printed {
	t.Helper()
	table := must.Get(TableByID(id))(t)
	return table.Printed
}

// listingSum returns the checksum of everything a table says, a line for each number in the paper's order.
func listingSum(rows []results.Printed) string {
	var listing strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&listing, "%s,%s,%s,%s,%v,%s,%s,%v,%v,%d\n",
			r.Table, r.Method, r.Data, r.Availability, r.Alpha, r.Params, r.Metric, r.Mean, r.Std, r.N)
	}
	sum := sha256.Sum256([]byte(listing.String()))
	return hex.EncodeToString(sum[:])
}

// FedAWE, Tables 8, 9 and 10: no number changed by accident since they were compared, digit by digit, with a second
// reading of the paper by another program.
func TestFedAWEAppendixChecksums(t *testing.T) {
	for _, test := range []struct {
		id, sum string
		numbers int
	}{
		{"fedawe-8", "f9e8f12b76eeae2819a8674cc2792580a34f95c4ad4954dfdab693c1aa570a4b", 84},
		// 7 methods × 3 data sets × 4 quarters
		{"fedawe-9", "8f8cf02d51dca17979543119de16fd9c6a1917bad93b022352ab0f6fd74f2d37", 42},
		// 7 methods × 3 columns × train and test
		{"fedawe-10", "a6816fc4fe90c413d28ed33458f63f30d0220c0753924b25249da0c4b5515562", 42},
	} {
		rows := printed(t, test.id)
		if len(rows) != test.numbers {
			t.Errorf("%s: %d numbers, want %d", test.id, len(rows), test.numbers)
		}
		if got := listingSum(rows); got != test.sum {
			t.Errorf("%s: checksum of the listing: got %s, want %s", test.id, got, test.sum)
		}
	}
}

// FedAWE, Table 8: every number is there once, dashes are told from what is not printed, rounds go up to the target.
func TestFedAWE8(t *testing.T) {
	rows := printed(t, "fedawe-8")
	quarters := []metrics.Metric{metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75, metrics.RoundsTo100}
	dashes := 0
	for _, method := range appendixMethods {
		for _, data := range []string{"svhn", "cifar10", "cinic10"} {
			last := 0.0
			for _, m := range quarters {
				p, found := results.PrintedFor(rows, resultstest.SineRow(method, data, 0.1, "rounds=500", m))
				switch {
				case !found || p.N != 3 || p.Std.Valid:
					t.Errorf("%s %s %s: got %+v, %v, want a number of 3 seeds without std", method, data, m, p, found)
				case !p.Mean.Valid:
					dashes++
					if method != "fedavg-all" || m != metrics.RoundsTo100 {
						t.Errorf("%s %s %s: a dash, want a number", method, data, m)
					}
				case p.Mean.Value < last || int(p.Mean.Value)%fedawe8Every != 0:
					t.Errorf("%s %s %s: round %v, want a multiple of %d not before round %v",
						method, data, m, p.Mean, fedawe8Every, last)
				default:
					last = p.Mean.Value
				}
			}
		}
	}
	if dashes != 3 {
		t.Errorf("%d dashes, want 3: FedAvg over all clients never reaches the target", dashes)
	}
	fedvarp := resultstest.SineRow("fedvarp", "svhn", 0.1, "", metrics.RoundsTo25)
	if p, found := results.PrintedFor(rows, fedvarp); found {
		t.Errorf("fedvarp: got %+v, want nothing printed", p)
	}
}

// FedAWE, Table 8: the targets are the best test accuracies of Table 2 under sine, rounded down to 10 %.
func TestFedAWE8Target(t *testing.T) {
	for _, data := range []string{"svhn", "cifar10", "cinic10"} {
		best := 0.0
		for _, p := range printed(t, "fedawe-2") {
			if p.Data == data && p.Availability == "sine" && p.Metric == metrics.TestAcc {
				best = max(best, p.Mean.Value)
			}
		}
		want := float64(int(best*10)) / 10
		if got := fedawe8Targets[data]; got != want {
			t.Errorf("%s: got target %v, want %v, the best being %v", data, got, want, best)
		}
	}
}
