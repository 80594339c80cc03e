package compare

import (
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/results/metrics"
)

// Counted by hand.
func TestRankColumn(t *testing.T) {
	row := func(method string, ours, paper float64) ComparisonRow {
		return ComparisonRow{
			TableColumn: TableColumn{Metric: metrics.TestAcc}, Method: method, Mean: files.Some(ours), N: 3,
			PaperMean: files.Some(paper), PaperN: 3, Status: "ok",
		}
	}
	rows := []ComparisonRow{row("a", 0.7, 0.8), row("b", 0.9, 0.7), row("c", 0.5, 0.7), row("d", 0.5, 0.6)}
	got := rankColumn(rows, "")
	// Ours: b a cd, paper: a bc d. Pairs of the paper: ab ac ad bd cd. Concordant: ac, ad, bd; discordant: ab; cd tied
	// with us. Tau-b: (3 − 1)/√(5·5) = 0.4.
	if got.Pairs != 5 || got.Concordant != 3 || !filestest.SameOptional(got.TauB, files.Some(0.4)) || got.Holds() {
		t.Errorf("got %+v, want 5 pairs, 3 concordant, tau-b 0.4", got)
	}
}
