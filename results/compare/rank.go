package compare

import (
	"math"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// RankAgreement says how far the methods of one column come in the order in which the paper has them. Compared are the
// methods that have a number on both sides; a first round that was never reached counts as later than all others.
type RankAgreement struct {
	TableColumn                // params: those that every row of the column has
	Methods     int            `csv:"methods"`    // compared
	Pairs       int            `csv:"pairs"`      // of methods that differ in the paper
	Concordant  int            `csv:"concordant"` // of these, those in the same order with us
	Discordant  int            `csv:"discordant"` // those in the opposite order; what remains is tied with us
	TauB        files.Optional `csv:"tau_b"`      // Kendall's, −1 … 1; missing where one side ranks nothing
}

// Holds reports whether every pair of methods the paper orders has the same order with us. It is false where there is
// no such pair, and says nothing of how far apart the two are: within the noise of a few seeds an order is chance.
func (r RankAgreement) Holds() bool { return r.Pairs > 0 && r.Concordant == r.Pairs }

// Verdict words [RankAgreement.Holds]: holds, fails, or unknown where there is no pair.
func (r RankAgreement) Verdict() string {
	switch {
	case r.Pairs == 0:
		return "unknown"
	case r.Holds():
		return "holds"
	}
	return "fails"
}

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

// rankColumns returns the agreement of each column of a comparison.
func rankColumns(rows []ComparisonRow) []RankAgreement {
	var ranks []RankAgreement
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].place == rows[from].place {
			to++
		}
		ranks = append(ranks, rankColumn(rows[from:to]))
		from = to
	}
	return ranks
}

func rankColumn(rows []ComparisonRow) RankAgreement {
	r := RankAgreement{TableColumn: rows[0].TableColumn}
	r.Params = commonParams(rows)
	var ours, paper []float64
	for _, row := range rows {
		a, b := standing(row.Mean, row.N, row.Metric), standing(row.PaperMean, row.PaperN, row.Metric)
		if a.Valid && b.Valid && !math.IsNaN(a.Value) && !math.IsNaN(b.Value) {
			ours, paper = append(ours, a.Value), append(paper, b.Value)
		}
	}
	r.Methods = len(ours)
	for i := range paper {
		for j := range i {
			if stats.Order(paper[i], paper[j]) != 0 {
				r.Pairs++
			}
		}
	}
	r.Concordant, r.Discordant, r.TauB = stats.Kendall(ours, paper)
	return r
}

// standing is a mean as it is ranked: never after every round.
func standing(mean files.Optional, n int, m results.Metric) files.Optional {
	if !mean.Valid && n > 0 && m.IsRound() {
		return files.Some(math.Inf(1))
	}
	return mean
}

// commonParams returns the settings that every row of ours has in its params, or the paper's where there is none of
// ours.
func commonParams(rows []ComparisonRow) results.Params {
	var ours []results.Params
	for _, r := range rows {
		if r.Status != "" { // else the paper's alone
			ours = append(ours, r.Params)
		}
	}
	return results.CommonParams(ours)
}
