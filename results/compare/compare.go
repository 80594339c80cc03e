package compare

import (
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/stats"
)

// TableColumn names a column of a table: a data set with an availability, an alpha, params and one metric.
type TableColumn struct {
	Table        string         `csv:"table"`
	Data         string         `csv:"data"`
	Availability string         `csv:"availability"`
	Alpha        files.Optional `csv:"alpha"`
	Params       results.Params `csv:"params"`
	Metric       metrics.Metric `csv:"metric"`
	Preset       string         `csv:"preset"`  // of our runs
	Clients      int            `csv:"clients"` // of our runs
}

// columnOf returns the column of a row of ours, with all its params.
func columnOf(r *results.SummaryRow) TableColumn {
	return TableColumn{r.Table, r.Data, r.Availability, r.Alpha, r.Params, r.Metric, r.Preset, r.Clients}
}

// ComparisonRow is one number of ours beside the paper's number. A missing mean with seeds says that no round reached
// the target. A missing mean without seeds is a missing number: a failed cell, or a number that no paper prints.
type ComparisonRow struct {
	TableColumn        // with all our params, or the paper's if the number is the paper's alone
	Method      string `csv:"method"`

	Label     string         `csv:"label"` // distinguishes rows of one cell, see [labels]; usually empty
	Mean      files.Optional `csv:"mean"`  // ours
	Std       files.Optional `csv:"std"`
	N         int            `csv:"n"`
	Rounds    int            `csv:"rounds"` // of our runs; 0: unknown, or no row of ours
	PaperMean files.Optional `csv:"paper_mean"`
	PaperStd  files.Optional `csv:"paper_std"`
	PaperN    int            `csv:"paper_n"`
	Judgement
	Status string `csv:"status"` // of our row, a [results.CellStatus]; empty without a row of ours

	ours *results.SummaryRow // nil if the number is the paper's alone
	own  results.Params      // our params without those that the table prescribes, see [papers.Table.Own]

	further int // 1: of a method that the table does not have, whose lines come last; 0: of one that it has
}

// Comparing is a table compared with its printed numbers.
type Comparing struct {
	Rows  []ComparisonRow
	Ranks []RankAgreement // one for each column, in the order of Rows
	Left  int             // printed numbers in columns that we did not run; Rows does not have them
}

// Table compares rows of ours with the printed numbers of their table; a table that is not a paper's has none. The
// result goes column by column, and has the methods of a column in the paper's order, and those that the table does not
// have last.
//
// Rows are in one column if they have the same data set, availability, alpha, metric, preset and number of clients, and
// the same values of the params that distinguish the columns of the table. In a column that we ran, a printed number
// without a number of ours has a row too. Our numbers that no paper prints come last.
func Table(t *papers.Table, ours []results.SummaryRow) Comparing {
	printed, marks := t.Printed, labels(ours)
	ours = slices.Clone(ours) // the rows of the comparison point into it
	keys := results.PrintedNames(printed)
	// First group our rows by column, then put each column beside its printed numbers. Their indices are grouped, since
	// marks has a label for each index.
	places := make([]int, len(ours))
	for i := range places {
		places[i] = i
	}
	columns, members := results.Grouped(places, func(i int) TableColumn {
		key := columnOf(&ours[i])
		// Params that distinguish no columns of the paper, such as rounds=500, do not make a column of their own.
		key.Table, key.Params = "", key.Params.Only(keys...)
		return key
	})
	// inPaper returns the printed numbers of a column, and the position of the first of them in the paper's table.
	inPaper := func(key TableColumn) (numbers []results.Printed, first int) {
		first = len(printed)
		for i, p := range printed {
			if p.Metric == key.Metric && p.InColumn(ours[members[key][0]], keys) {
				numbers, first = append(numbers, p), min(first, i)
			}
		}
		return numbers, first
	}
	slices.SortStableFunc(columns, func(a, b TableColumn) int {
		_, i := inPaper(a)
		_, j := inPaper(b)
		return i - j
	})

	var c Comparing
	met := map[results.Printed]bool{}
	for _, key := range columns {
		numbers, _ := inPaper(key)
		var inColumn []ComparisonRow
		for _, i := range members[key] {
			inColumn = append(inColumn, ourRow(t, &ours[i], marks[i]))
		}
		slices.SortStableFunc(inColumn, func(a, b ComparisonRow) int { return a.further - b.further })
		rows := besidePaper(numbers, inColumn)
		c.Rows, c.Ranks = append(c.Rows, rows...), append(c.Ranks, rankColumn(rows, key.Params))
		for _, p := range numbers {
			met[p] = true
		}
	}
	c.Left = len(printed) - len(met)
	return c
}

// ourRow returns a number of ours in a table, without a printed one.
func ourRow(t *papers.Table, r *results.SummaryRow, label string) ComparisonRow {
	further := 0
	if !t.Has(r.Method) {
		further = 1
	}
	return ComparisonRow{
		TableColumn: columnOf(r), Method: r.Method, Label: label, Mean: r.Mean, Std: r.Std, N: r.N, Rounds: r.Rounds,
		Judgement: Judgement{Verdict: stats.Unknown}, Status: string(r.Status), ours: r, own: t.Own(r),
		further: further,
	}
}

// beside adds the printed number to a row of ours, and judges the two.
func (r *ComparisonRow) beside(p *results.Printed) {
	r.PaperMean, r.PaperStd, r.PaperN, r.Judgement = p.Mean, p.Std, p.N, judge(r.ours, r.own, p)
}

// besidePaper returns the rows of one column: the printed numbers in their order, each with ours, then the rest of
// ours.
func besidePaper(numbers []results.Printed, ours []ComparisonRow) (rows []ComparisonRow) {
	// Several rows of ours may stand beside one printed number, for example with other params or numerics.
	for _, p := range numbers {
		alone := true
		for _, r := range ours {
			if r.Method == p.Method {
				r.beside(&p)
				rows = append(rows, r)
				alone = false
			}
		}
		if alone {
			// We have no row for this number, so its column takes alpha, preset and clients from our other rows.
			column := TableColumn{
				p.Table, p.Data, p.Availability, ours[0].Alpha, p.Params, p.Metric, ours[0].Preset, ours[0].Clients,
			}
			rows = append(rows, ComparisonRow{
				TableColumn: column, Method: p.Method, PaperMean: p.Mean, PaperStd: p.Std, PaperN: p.N,
				Judgement: Judgement{Verdict: stats.Unknown},
			})
		}
	}
	for _, r := range ours {
		if !slices.ContainsFunc(numbers, func(p results.Printed) bool { return p.Method == r.Method }) {
			rows = append(rows, r)
		}
	}
	return rows
}
