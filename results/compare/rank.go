package compare

import (
	"math"
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// RankAgreement says how well the order of the methods in one column agrees with the paper's order. It covers the
// methods that have a number on both sides and are judged. A target that was never reached ranks after all rounds.
type RankAgreement struct {
	TableColumn                // with the params that distinguish the column, and all others that its rows share
	Pairs       int            // pairs of methods that the paper orders
	Concordant  int            // pairs among these that we order in the same way
	TauB        files.Optional // Kendall's tau-b, −1 … 1; missing if one side orders no pair

	rows int            // number of the column's rows in [Comparing.Rows]
	own  results.Params // the params that its rows share, without those that the table prescribes
}

// Holds reports whether we order every pair of methods as the paper does; false if there is no pair. It ignores how far
// apart two methods are: if they differ by less than the noise of a few seeds, their order is chance.
func (r RankAgreement) Holds() bool { return r.Pairs > 0 && r.Concordant == r.Pairs }

// Orders returns the number of columns in which the paper orders methods, and in how many of them we have its order.
func (c Comparing) Orders() (asPrinted, columns int) {
	for _, r := range c.Ranks {
		if r.Pairs > 0 {
			columns++
		}
		if r.Holds() {
			asPrinted++
		}
	}
	return asPrinted, columns
}

// rankColumn returns the agreement of one column; apart are the params that distinguish it from other columns.
func rankColumn(rows []ComparisonRow, apart results.Params) RankAgreement {
	r := RankAgreement{TableColumn: rows[0].TableColumn, rows: len(rows)}
	// Rows that are the paper's alone have no params of ours.
	ours := slices.DeleteFunc(slices.Clone(rows), func(r ComparisonRow) bool { return r.Status == "" })
	r.own = results.CommonParams(ours, func(r ComparisonRow) results.Params { return r.own })
	r.Params = apart.And(r.own.Minus(apart))
	// Methods that are not judged, or have no number on one side, have no rank.
	var x, y []float64 // ours and the paper's
	for _, row := range rows {
		if row.NotJudged != "" {
			continue
		}
		a, b := standing(row.Mean, row.N, row.Metric), standing(row.PaperMean, row.PaperN, row.Metric)
		if a.Valid && b.Valid && !math.IsNaN(a.Value) && !math.IsNaN(b.Value) {
			x, y = append(x, a.Value), append(y, b.Value)
		}
	}
	r.Pairs, r.Concordant, r.TauB = stats.Kendall(x, y)
	return r
}

// standing returns the number by which a mean is ranked: infinity for a target that was never reached.
func standing(mean files.Optional, n int, m metrics.Metric) files.Optional {
	if !mean.Valid && n > 0 && m.IsRound() {
		return files.Some(math.Inf(1))
	}
	return mean
}
