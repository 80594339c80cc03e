package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
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

	ours    *results.SummaryRow // nil if the number is the paper's alone
	reached files.Optional      // of our seeds, see [results.SummaryRow]
	own     results.Params      // our params without those that the table prescribes, see [papers.Table.Own]

	further int // 1: of a method that the table does not have, whose lines come last; 0: of one that it has
}

// Cell returns the cell of our runs; false if there is none of ours.
func (r *ComparisonRow) Cell() (key results.CellKey, ours bool) {
	if r.ours == nil {
		return key, false
	}
	return r.ours.CellKey(), true
}

// Comparing is a table compared with its printed numbers.
type Comparing struct {
	Rows    []ComparisonRow
	Columns []Order // one for each column, in the order of Rows
	Left    int     // printed numbers in columns that we did not run; Rows does not have them
}

// Table compares rows of ours with the printed numbers of their table; a table that is not a paper's has none. The
// result goes column by column, and has the methods of a column in the paper's order, and those that the table does not
// have last.
//
// Rows are in one column if they have the same data set, availability, alpha, metric, preset and number of clients, and
// the same values of the params that distinguish the columns of the table. In a column that we ran, a printed number
// without a number of ours has a row too. Our numbers that no paper prints come last.
func Table(t *papers.Table, ours []results.SummaryRow) Comparing {
	read, _ := t.AsRead(ours)
	t = &read
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
		c.Rows, c.Columns = append(c.Rows, rows...), append(c.Columns, orderOf(rows, key.Params))
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
		TableColumn: columnOf(r), Method: r.Method, Label: label, Mean: r.Mean, Std: r.Std, N: r.N, reached: r.Reached,
		Rounds: r.Rounds, Status: string(r.Status), ours: r, own: t.Own(r),
		further: further,
	}
}

// beside adds the printed number to a row of ours, and judges the two.
func (r *ComparisonRow) beside(p *results.Printed) {
	r.PaperMean, r.PaperStd, r.PaperN, r.Judgement = p.Mean, p.Std, p.N, judged(r.ours, r.own, p)
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

// Order says whether the methods of one column come in the paper's order. It covers the methods that have a number on
// both sides and are judged.
type Order struct {
	TableColumn               // with the params that distinguish the column, and all others that its rows share
	Pairs       int           // pairs of methods that the paper orders
	Verdict     judge.Verdict // [judge.Ahead] over all pairs; of rounds, which have no spread, it cannot be told
	Seeds       int           // that would tell, as in [judge.Outcome]

	rows int            // number of the column's rows in [Comparing.Rows]
	own  results.Params // the params that its rows share, without those that the table prescribes
}

// Orders counts the columns in which the paper orders methods, by verdict.
func (c Comparing) Orders() (n Counts) {
	for _, o := range c.Columns {
		switch {
		case o.Pairs == 0:
		case o.Verdict == judge.Agrees:
			n.Agree++
		case o.Verdict == judge.Differs:
			n.Differ++
		default:
			n.Untold++
		}
	}
	return n
}

// orderOf returns the order of one column; apart are the params that distinguish it from other columns.
func orderOf(rows []ComparisonRow, apart results.Params) Order {
	o := Order{TableColumn: rows[0].TableColumn, rows: len(rows)}
	// Rows that are the paper's alone have no params of ours.
	ours := slices.DeleteFunc(slices.Clone(rows), func(r ComparisonRow) bool { return r.Status == "" })
	o.own = results.CommonParams(ours, func(r ComparisonRow) results.Params { return r.own })
	o.Params = apart.And(o.own.Minus(apart))
	var leads []stats.Estimate
	for i, a := range rows {
		for _, b := range rows[:i] {
			if !a.Metric.IsJudged() || a.NotJudged != "" || b.NotJudged != "" || !a.Mean.Valid || !b.Mean.Valid ||
				!a.PaperMean.Valid || !b.PaperMean.Valid || a.PaperMean == b.PaperMean {
				continue
			}
			lead := papers.LeadIn(a.ours, b.ours)
			if a.PaperMean.Value < b.PaperMean.Value {
				lead.Mean = -lead.Mean
			}
			leads = append(leads, lead)
		}
	}
	o.Pairs = len(leads)
	o.Verdict, o.Seeds = judge.Ahead(leads)
	return o
}

// SummaryTables returns the tables of the rows, each once: first the papers' tables in their order, then the others by
// name.
func SummaryTables(rows []results.SummaryRow) (tables []string) {
	rest, _ := results.Grouped(rows, func(r results.SummaryRow) string { return r.Table })
	slices.Sort(rest)
	for _, known := range papers.TableNames() {
		if i := slices.Index(rest, known); i >= 0 {
			tables, rest = append(tables, known), slices.Delete(rest, i, i+1)
		}
	}
	return append(tables, rest...)
}

// SortSummary sorts the rows of one table in the paper's order: by column, then by method, then by metric. Columns and
// methods that the paper does not print come last, in the order of their first rows, and methods that the table does
// not have after all others.
func SortSummary(table string, rows []results.SummaryRow) {
	known, _ := papers.TableByID(table) // the zero Table, without printed numbers, for a table of ours
	keys := results.PrintedNames(known.Printed)
	type named struct{ column, value string }
	first := map[named]int{}
	came := func(column string, value any) int { // the order of the first occurrences
		key := named{column, fmt.Sprint(value)}
		if _, there := first[key]; !there {
			first[key] = len(first)
		}
		return first[key]
	}
	printed := func(like func(p results.Printed) bool) int {
		if i := slices.IndexFunc(known.Printed, like); i >= 0 {
			return i
		}
		return len(known.Printed)
	}
	// The place of a row is a list of numbers, compared from left to right. All places are found before sorting,
	// because the values are numbered in the order in which the rows come.
	type placed struct {
		row   results.SummaryRow
		place []int
	}
	list := make([]placed, len(rows))
	for i, r := range rows {
		further := 0
		if !known.Has(r.Method) {
			further = 1
		}
		list[i] = placed{r, []int{
			printed(func(p results.Printed) bool { return p.InColumn(r, keys) }),
			came("availability", r.Availability), came("data", r.Data), came("alpha", r.Alpha),
			came("column", r.Params.Only(keys...)),
			further, printed(func(p results.Printed) bool { return p.Method == r.Method }), came("method", r.Method),
			came("preset", r.Preset), came("clients", r.Clients), came("params", r.Params),
			r.Metric.Info().Row,
		}}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(slices.Compare(a.place, b.place),
			cmp.Compare(a.row.Metric.Info().Target, b.row.Metric.Info().Target),
			strings.Compare(string(a.row.Metric), string(b.row.Metric)))
	})
	for i := range list {
		rows[i] = list[i].row
	}
}
