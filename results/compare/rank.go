package compare

import (
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// RankAgreement says how far the methods of one column come in the order in which the paper has them. Compared are the
// methods that have a number on both sides and are judged; a first round that was never reached counts as later than
// all others.
type RankAgreement struct {
	TableColumn                // params: those that set the column apart, and others that every row of it has
	Pairs       int            // of methods that differ in the paper
	Concordant  int            // of these, those in the same order with us
	TauB        files.Optional // Kendall's, −1 … 1; missing where one side ranks nothing

	rows int            // of the column in [Comparing.Rows]
	own  results.Params // that every row has, without those that the table gives its method
}

// Holds reports whether every pair of methods the paper orders has the same order with us. It is false where there is
// no such pair, and says nothing of how far apart the two are: within the noise of a few seeds an order is chance.
func (r RankAgreement) Holds() bool { return r.Pairs > 0 && r.Concordant == r.Pairs }

// Orders counts the columns in which the paper orders methods, and those of them in which every pair has the same
// order.
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

// rankColumn returns the agreement of one column, which some settings set apart.
func rankColumn(rows []ComparisonRow, apart results.Params) RankAgreement {
	r := RankAgreement{TableColumn: rows[0].TableColumn, rows: len(rows)}
	// Of rows that are the paper's alone the settings do not count.
	ours := slices.DeleteFunc(slices.Clone(rows), func(r ComparisonRow) bool { return r.Status == "" })
	r.own = results.CommonParams(ours, func(r ComparisonRow) results.Params { return r.own })
	r.Params = apart.And(r.own.Minus(apart))
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

// standing is a mean as it is ranked: never after every round.
func standing(mean files.Optional, n int, m metrics.Metric) files.Optional {
	if !mean.Valid && n > 0 && m.IsRound() {
		return files.Some(math.Inf(1))
	}
	return mean
}
