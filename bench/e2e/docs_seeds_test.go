package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/power"
)

// The table of docs/seeds.md is what `rollcall results power` wrote about the runs that the page names.
func TestDocsSeeds(t *testing.T) {
	text := contents(t, "../../docs/seeds.md")
	rows := must.Get(files.ReadCSVFile[power.Spread]("../../results/replay/power/power.csv"))(t)
	var parts []string
	cells := map[string]string{} // by part, one behind the other
	for _, r := range rows {
		if r.Metric != metrics.TestAcc || r.Runs != 121 {
			t.Fatalf("%s of %d runs, want the accuracy of 121", r.Metric, r.Runs)
		}
		if !slices.Contains(parts, r.Part) {
			parts = append(parts, r.Part)
		}
		cells[r.Part] += fmt.Sprintf(" %.2f (%.2f … %.2f), %.0f %% |",
			100*r.Std, 100*r.StdLow, 100*r.StdHigh, 100*r.Share)
		if r.Part == "all" {
			n := func(n files.Optional) string { return fmt.Sprintf("%.0f", n.Value) }
			cells["different seeds"] += fmt.Sprintf(" %s (%s … %s) |", n(r.Apart), n(r.ApartLow), n(r.ApartHigh))
			if r.Minus != "" {
				cells["the same seeds"] += fmt.Sprintf(" | | %s (%s … %s) |", n(r.Pairs), n(r.PairsLow), n(r.PairsHigh))
			}
		}
	}
	if len(rows) != 3*len(parts) || len(parts) != 7 {
		t.Fatalf("%d rows of %d parts, want 7 of two methods and of their difference", len(rows), len(parts))
	}
	for _, part := range append(parts, "different seeds", "the same seeds") {
		if row := "| " + part + " |" + cells[part]; !strings.Contains(text, row+"\n") {
			t.Errorf("docs/seeds.md lacks the row of results/replay/power:\n%s", row)
		}
	}
}

// The components of results/replay/power are those of the accuracies of its runs, by the formulas of docs/seeds.md.
func TestDocsSeedsComponents(t *testing.T) {
	rows := must.Get(files.ReadCSVFile[power.Spread]("../../results/replay/power/power.csv"))(t)
	runs := must.Get(files.ReadCSVFile[results.SummaryRow]("../../results/replay/power/" + results.SummaryFile))(t)
	const q = 11
	for _, method := range []string{"fedavg-active", "mifa"} {
		n, sum, squares := 0.0, 0.0, 0.0
		of := map[string]float64{} // sum of the accuracies with one seed of one part
		for _, r := range runs {
			if r.Method != method || r.Metric != metrics.TestAcc {
				continue
			}
			y := r.Mean.Value
			n, sum, squares = n+1, sum+y, squares+y*y
			for _, name := range power.Seeds {
				of[name+"="+r.Params.Get(name)] += y
			}
		}
		if n != q*q || len(of) != 5*q {
			t.Fatalf("%s: %g runs with %d seeds of all parts, want %d with %d", method, n, len(of), q*q, 5*q)
		}
		rest, ms := squares-sum*sum/n, map[string]float64{}
		for seed, s := range of {
			part, _, _ := strings.Cut(strings.TrimPrefix(seed, "seed-"), "=")
			ms[part] += (s*s/q - sum*sum/n/q) / (q - 1)
		}
		for _, square := range ms {
			rest -= (q - 1) * square
		}
		rest /= q*q - 1 - 5*(q-1)
		want := map[string]float64{"interactions": rest, "all": rest}
		for part, square := range ms {
			want[part] = (square - rest) / q
			want["all"] += want[part]
		}
		for _, r := range rows {
			// The sums of squares are near 100, each rounded by 10⁻¹⁴.
			if r.Method == method && r.Minus == "" && math.Abs(r.Variance-want[r.Part]) > 1e-12 {
				t.Errorf("%s, %s: variance %g, want %g ± 10⁻¹²", method, r.Part, r.Variance, want[r.Part])
			}
		}
	}
}
