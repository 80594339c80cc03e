package compare

import (
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
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

	Mean       files.Optional `csv:"mean"` // ours
	Std        files.Optional `csv:"std"`
	N          int            `csv:"n"`
	PaperMean  files.Optional `csv:"paper_mean"`
	PaperStd   files.Optional `csv:"paper_std"`
	PaperN     int            `csv:"paper_n"`
	Difference files.Optional `csv:"difference"` // ours − paper's; missing where one of them is
	Margin     files.Optional `csv:"margin"`     // see [stats.Compare]
	Verdict    stats.Verdict  `csv:"verdict"`
	Status     string         `csv:"status"` // ours, a [results.CellStatus]; missing where there is no row of ours
}

// Comparing is a table compared with its printed numbers.
type Comparing struct {
	Rows  []ComparisonRow
	Ranks []RankAgreement // of each column, in the order of Rows
	Left  int             // printed numbers in columns of which we have nothing; they are not in Rows
}

// Table puts rows of ours beside the printed numbers of their table, column by column, and in each column the
// methods in the paper's order. A column is a data set under an availability, an alpha and those params that set
// columns of the table apart, in one metric; presets and numbers of clients have columns of their own. Printed numbers
// we have none for are rows without ours, in the columns of which we have something; ours that no paper prints come
// after them.
func Table(printed []results.Printed, ours []results.SummaryRow) Comparing {
	keys := results.PrintedNames(printed)
	columns, members := results.Grouped(ours, func(r results.SummaryRow) TableColumn {
		key := columnOf(&r)
		key.Table, key.Params = "", key.Params.Only(keys...) // those that set columns apart
		return key
	})
	// inPaper returns the printed numbers of a column, and where in the paper the first of them is.
	inPaper := func(key TableColumn) (numbers []results.Printed, first int) {
		first = len(printed)
		for i, p := range printed {
			if p.Metric == key.Metric && p.InColumn(members[key][0], keys) {
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
		rows := compareColumn(numbers, members[key])
		c.Rows, c.Ranks = append(c.Rows, rows...), append(c.Ranks, rankColumn(rows))
		for _, p := range numbers {
			met[p] = true
		}
	}
	c.Left = len(printed) - len(met)
	return c
}

// compareColumn puts the rows of one column beside its printed numbers.
func compareColumn(numbers []results.Printed, ours []results.SummaryRow) []ComparisonRow {
	var rows []ComparisonRow
	for _, p := range numbers {
		alone := true
		for _, r := range ours {
			if r.Method == p.Method {
				rows = append(rows, besidePaper(&r, &p))
				alone = false
			}
		}
		if alone {
			row := besidePaper(nil, &p)
			row.Alpha, row.Preset, row.Clients = ours[0].Alpha, ours[0].Preset, ours[0].Clients
			rows = append(rows, row)
		}
	}
	for _, r := range ours {
		if !slices.ContainsFunc(numbers, func(p results.Printed) bool { return p.Method == r.Method }) {
			rows = append(rows, besidePaper(&r, nil))
		}
	}
	return rows
}

// besidePaper makes one row of a number of ours, of the paper's, or of both.
func besidePaper(ours *results.SummaryRow, paper *results.Printed) ComparisonRow {
	row := ComparisonRow{Verdict: stats.Unknown}
	if paper != nil {
		row.Method, row.PaperMean, row.PaperStd, row.PaperN = paper.Method, paper.Mean, paper.Std, paper.N
		row.Table, row.Data, row.Availability = paper.Table, paper.Data, paper.Availability
		row.Alpha, row.Params, row.Metric = paper.Alpha, paper.Params, paper.Metric
	}
	if ours == nil {
		return row
	}
	row.TableColumn, row.Method = columnOf(ours), ours.Method
	row.Mean, row.Std, row.N, row.Status = ours.Mean, ours.Std, ours.N, string(ours.Status)
	if paper != nil && row.Mean.Valid && row.PaperMean.Valid {
		row.Difference.Valid = true
		row.Difference.Value, row.Margin, row.Verdict = stats.Compare(
			stats.Estimate{Mean: row.Mean.Value, Std: row.Std, N: row.N}, paper.Estimate())
	}
	return row
}
