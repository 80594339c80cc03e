package compare

import (
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/stats"
)

// TableColumn is a column of a table: a data set under an availability, an alpha and params, in one metric.
type TableColumn struct {
	Table        string         `csv:"table"`
	Data         string         `csv:"data"`
	Availability string         `csv:"availability"`
	Alpha        files.Optional `csv:"alpha"`
	Params       results.Params `csv:"params"`
	Metric       metrics.Metric `csv:"metric"`
	Preset       string         `csv:"preset"`  // of ours
	Clients      int            `csv:"clients"` // of ours
}

// columnOf returns the column that a row of ours is in, its params whole.
func columnOf(r *results.SummaryRow) TableColumn {
	return TableColumn{r.Table, r.Data, r.Availability, r.Alpha, r.Params, r.Metric, r.Preset, r.Clients}
}

// ComparisonRow is a number of ours beside the paper's. A mean that is missing although it has seeds is a first round
// that was never reached; one without seeds is a number that is not there: a failed cell, or a number no paper prints.
type ComparisonRow struct {
	TableColumn        // params: ours whole, or the paper's where we have none
	Method      string `csv:"method"`

	Label     string         `csv:"label"` // what tells ours from other rows of its cell, see [labels]; as a rule empty
	Mean      files.Optional `csv:"mean"`  // ours
	Std       files.Optional `csv:"std"`
	N         int            `csv:"n"`
	Rounds    int            `csv:"rounds"` // of ours; 0: unknown, or there is no row of ours
	PaperMean files.Optional `csv:"paper_mean"`
	PaperStd  files.Optional `csv:"paper_std"`
	PaperN    int            `csv:"paper_n"`
	Judgement
	Status string `csv:"status"` // ours, a [results.CellStatus]; missing where there is no row of ours

	ours *results.SummaryRow // nil where there is none
	own  results.Params      // of ours, without those that the table gives its method, see [papers.Table.Own]
}

// Comparing is a table compared with its printed numbers.
type Comparing struct {
	Rows  []ComparisonRow
	Ranks []RankAgreement // of each column, in the order of Rows
	Left  int             // printed numbers in columns of which we have nothing; they are not in Rows
}

// Table puts rows of ours beside the printed numbers of their table, which has none if it is not a paper's, column by
// column, and in each column the methods in the paper's order. A column is a data set under an availability, an alpha
// and those params that set columns of the table apart, in one metric; presets and numbers of clients have columns of
// their own. Printed numbers we have none for are rows without ours, in the columns of which we have something; ours
// that no paper prints come after them.
func Table(t *papers.Table, ours []results.SummaryRow) Comparing {
	printed, marks := t.Printed, labels(ours)
	ours = slices.Clone(ours) // which rows of the comparison point to
	keys := results.PrintedNames(printed)
	places := make([]int, len(ours))
	for i := range places {
		places[i] = i
	}
	columns, members := results.Grouped(places, func(i int) TableColumn {
		key := columnOf(&ours[i])
		key.Table, key.Params = "", key.Params.Only(keys...) // those that set columns apart
		return key
	})
	// inPaper returns the printed numbers of a column, and where in the paper the first of them is.
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
		var of []ComparisonRow
		for _, i := range members[key] {
			of = append(of, ourRow(&ours[i], t.Own(&ours[i]), marks[i]))
		}
		rows := besidePaper(numbers, of)
		c.Rows, c.Ranks = append(c.Rows, rows...), append(c.Ranks, rankColumn(rows, key.Params))
		for _, p := range numbers {
			met[p] = true
		}
	}
	c.Left = len(printed) - len(met)
	return c
}

// ourRow is a number of ours alone, as long as no printed one stands beside it.
func ourRow(r *results.SummaryRow, own results.Params, label string) ComparisonRow {
	return ComparisonRow{
		TableColumn: columnOf(r), Method: r.Method, Label: label, Mean: r.Mean, Std: r.Std, N: r.N, Rounds: r.Rounds,
		Judgement: Judgement{Verdict: stats.Unknown}, Status: string(r.Status), ours: r, own: own,
	}
}

// beside puts a printed number beside ours.
func (r *ComparisonRow) beside(p *results.Printed) {
	r.PaperMean, r.PaperStd, r.PaperN, r.Judgement = p.Mean, p.Std, p.N, judge(r.ours, p)
}

// besidePaper puts the rows of one column beside its printed numbers.
func besidePaper(numbers []results.Printed, ours []ComparisonRow) (rows []ComparisonRow) {
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
			of := TableColumn{
				p.Table, p.Data, p.Availability, ours[0].Alpha, p.Params, p.Metric, ours[0].Preset, ours[0].Clients,
			}
			rows = append(rows, ComparisonRow{
				TableColumn: of, Method: p.Method, PaperMean: p.Mean, PaperStd: p.Std, PaperN: p.N,
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
