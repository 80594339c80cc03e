package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Markup is a format of text for people: [Plain] or [Markdown].
type Markup struct {
	title  string                                  // a format for the line above a table
	table  func(files.TextTable, *strings.Builder) // writes a table
	after  string                                  // between a table and the text after it
	escape func(string) string
}

// Plain and Markdown are the two formats.
var (
	Plain    = Markup{"%s\n", files.TextTable.Text, "", func(text string) string { return text }}
	Markdown = Markup{"**%s**\n\n", files.TextTable.Markdown, "\n", files.EscapeMarkdown}
)

// tableGap separates the columns of a table in plain text.
const tableGap = "   "

// newTable returns a table with headings and no lines; align has l or r for each column.
func newTable(align string, headings ...string) files.TextTable {
	return files.TextTable{Align: align, Gap: tableGap, Lines: [][]string{headings}}
}

// Write writes the comparison for people: a caption, then a table for each column, with a line for each method and the
// order of the methods below it. Numbers read mean ± std (seeds); accuracies are in percent, and their differences in
// percentage points. If numbers are not judged, the heading says why, or notes at the end if the reasons differ.
func (c Comparing) Write(w io.Writer, m Markup) error {
	var b strings.Builder
	all := make([]*ComparisonRow, len(c.Rows))
	for i := range c.Rows {
		all[i] = &c.Rows[i]
	}
	fmt.Fprintf(&b, "%s.\n", m.escape(captionOf(all)))
	why := alike(all)
	if why != "" {
		fmt.Fprintf(&b, "%s%s\n", m.after, m.escape(notCompared(why)))
	}
	b.WriteString("\n")
	var below notes
	c.blocks(func(rows []ComparisonRow, order Order) {
		fmt.Fprintf(&b, m.title, m.escape(columnTitle(order, rows)))
		table := newTable("lllrrl", "method", "ours", "paper", "difference", "margin", "verdict")
		params := results.AllParams(rows, func(r ComparisonRow) results.Params { return r.own })
		for _, r := range rows {
			verdict := cmp.Or(r.Words(), metrics.NoNumber)
			if r.NotJudged != "" {
				verdict = "not compared"
				if r.NotJudged != why && r.N > 0 {
					verdict += below.mark(r.NotJudged)
				}
			}
			table.Lines = append(table.Lines, append(r.words(order, params), verdict))
		}
		m.table(table, &b)
		if order.Pairs > 0 {
			fmt.Fprintf(&b, "%s%s\n", m.after, m.escape(order.words()))
		}
		b.WriteString("\n")
	})
	// In Markdown an empty line ends each paragraph and each note.
	for i, note := range below {
		fmt.Fprintf(&b, "%s\n%s", m.escape(fmt.Sprintf("[%d] not compared: %s", i+1, note)), m.after)
	}
	if len(below) > 0 && m.after == "" {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n", m.escape(c.Summary()))
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks calls f with the rows and the order of each column in turn.
func (c Comparing) blocks(f func(rows []ComparisonRow, order Order)) {
	rows := c.Rows
	for _, order := range c.Columns {
		f(rows[:order.rows], order)
		rows = rows[order.rows:]
	}
}

// columnTitle returns the title of a column: everything that its rows have in common.
func columnTitle(r Order, rows []ComparisonRow) string {
	var all []*ComparisonRow
	for i := range rows {
		all = append(all, &rows[i])
	}
	title := r.Availability + ", " + r.Data
	if r.Alpha.Valid {
		title += ", alpha=" + r.Alpha.String()
	}
	if r.Params != "" {
		title += ", " + r.Params.Short(", ")
	}
	return fmt.Sprintf("%s: %s (preset %s, %d clients)", title, metricTitle(r.Metric, all), r.Preset, r.Clients)
}

// metricTitle returns the name of a metric, and which rounds of the runs it is about: "test accuracy (%), mean over the
// last 50 rounds".
func metricTitle(m metrics.Metric, rows []*ComparisonRow) string {
	text, why := over(m, rows)
	return withCommas(m.Name(), text, why)
}

// withCommas joins the texts that are not empty.
func withCommas(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), ", ")
}

// words returns the cells of a line without the verdict. The method is followed by the params that the column does not
// share, told from the params of all lines.
func (r ComparisonRow) words(column Order, all []results.Params) []string {
	method := r.Method
	if own := r.own.Without(column.Params.Names()...); own != "" {
		method += " " + own.Short(";", all...)
	}
	if r.Label != "" {
		method += " " + r.Label
	}
	ours := cmp.Or(r.notReached(), r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N))
	switch results.CellStatus(r.Status) {
	case "", results.CellOK, results.CellMixed, results.CellUnverified: // the label says it
	default:
		ours += ", " + r.Status
	}
	return []string{
		method, ours, r.Metric.WordsWithSeeds(r.PaperMean, r.PaperStd, r.PaperN),
		r.Metric.Difference(r.Difference), r.Metric.Margin(r.Margin),
	}
}

func (o Order) words() string {
	return fmt.Sprintf("order of the methods, %s: %s", files.Count(o.Pairs, "pair"),
		judge.Outcome{Verdict: o.Verdict, Seeds: o.Seeds}.Words())
}

// Summary returns the last line of a comparison, which counts the verdicts.
func (c Comparing) Summary() string {
	n, orders := c.Counts(), c.Orders()
	text := n.Words()
	if not := n.NotCompared(); not != "" {
		text += "; " + not
	}
	if columns := orders.Agree + orders.Differ + orders.Untold; columns > 0 {
		text += fmt.Sprintf("; the paper's order of the methods, %s: %d agree, %d differ, %d cannot be told",
			files.Count(columns, "column"), orders.Agree, orders.Differ, orders.Untold)
	}
	if c.Left > 0 {
		text += fmt.Sprintf("; printed numbers in columns that were not run: %d", c.Left)
	}
	return text
}

// WriteTable writes the rows of a table for people, one block of text for each metric, below a title that says what it
// is. A block has a line for each method, and a column for each availability and data set, in the order of the rows. A
// cell reads `mean ± std (seeds) | paper's mean ± std`, with accuracies in percent. A cell with missing runs says how
// they ended, and a note below says why.
//
// If a line would be longer than width characters, the remaining columns follow in another block.
func WriteTable(w io.Writer, t *papers.Table, rows []results.SummaryRow, width int) error {
	var b strings.Builder
	var below notes // of all metrics: one failed cell is one note
	all := eachBeside(t, rows)
	why := alike(all)
	for _, e := range t.Entries {
		ofMetric := slices.DeleteFunc(slices.Clone(all), func(r *ComparisonRow) bool { return r.Metric != e.Metric })
		if len(ofMetric) == 0 {
			continue // a sweep that did not evaluate on the training set
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		t := layOut(ofMetric, why, &below)
		fmt.Fprintf(&b, "%s\n", t.title)
		for i, block := range t.blocks(width) {
			if i > 0 {
				b.WriteString("\n")
			}
			block.Text(&b)
		}
	}
	if len(below) > 0 {
		b.WriteString("\n")
	}
	for i, note := range below {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NotCompared returns the reason why no row of a table is compared with its printed number, if all rows share one
// reason. It is empty if the reasons differ, if a row is compared, or if nothing is printed.
func NotCompared(t *papers.Table, rows []results.SummaryRow) string {
	return alike(eachBeside(t, rows))
}

// eachBeside returns each row of a table with its printed number, in the order of the rows.
func eachBeside(t *papers.Table, rows []results.SummaryRow) []*ComparisonRow {
	read, _ := t.AsRead(rows)
	t = &read
	marks := labels(rows)
	all := make([]*ComparisonRow, len(rows))
	for i := range rows {
		r := ourRow(t, &rows[i], marks[i])
		if p, ok := results.PrintedFor(t.Printed, rows[i]); ok {
			r.beside(&p)
		}
		all[i] = &r
	}
	return all
}

// table has the texts that [WriteTable] prints for one metric, by line and column.
type table struct {
	title   string
	labels  []string // one for each line
	columns []tableColumn
	why     string // see [NotCompared]
	notes   *notes // shared by all metrics, printed at the end
}

// tableColumn has the cells of one column. A cell has two halves: our number and the paper's.
type tableColumn struct {
	availability, data string
	halves             map[int][2]string // by line; a line may have no cell here
}

// layOut sorts the rows of one metric into lines and columns. Rows that belong in the same place, because they differ
// in a setting that the table does not show, get separate lines.
func layOut(rows []*ComparisonRow, why string, below *notes) *table {
	m, one := rows[0].Metric, rows[0].ours
	t := &table{title: string(m) + ": " + metricTitle(m, rows), why: why, notes: below}
	if m == metrics.PHolm {
		n := 0
		for _, r := range rows {
			if r.Mean.Valid {
				n++
			}
		}
		t.title += ", of " + Counted([]int{n}, "comparison")
	}
	// A label names a setting only if rows of the table differ in it.
	some := func(differs func(*results.SummaryRow) bool) bool {
		return slices.ContainsFunc(rows, func(r *ComparisonRow) bool { return differs(r.ours) })
	}
	// Each data set has its own default net, so that only a second net on one data set needs its name.
	nets := some(func(r *results.SummaryRow) bool {
		return some(func(o *results.SummaryRow) bool { return o.Data == r.Data && o.Net != r.Net })
	})
	presets := some(func(r *results.SummaryRow) bool { return r.Preset != one.Preset })
	alphas := some(func(r *results.SummaryRow) bool { return r.Alpha != one.Alpha })
	params := func(r *ComparisonRow) results.Params { return r.own }
	common, all := results.CommonParams(rows, params), results.AllParams(rows, params)
	label := func(r *ComparisonRow, own results.Params, note string) string {
		words := []string{r.Method}
		if presets {
			words = append(words, "("+r.Preset+")")
		}
		if nets {
			words = append(words, r.ours.Net)
		}
		if alphas && r.Alpha.Valid {
			words = append(words, "alpha="+r.Alpha.String())
		}
		words = append(words, own.Short(";", all...), note, r.Label)
		return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	}
	files := sharedFiles(rows, func(r *ComparisonRow) string { return r.Availability }, params)
	var places []placed
	for _, r := range rows {
		own := r.own.Minus(common).Minus(files[r.Availability])
		line := label(r, own.Without(results.Rates...), "")
		places = append(places, placed{r, 0, line, own, t.column(r.Availability, r.Data)})
	}
	vary := ratesVary(places)
	slices.SortStableFunc(places, furtherLast)
	for _, p := range places {
		heading := label(p.row, p.own, "")
		if vary[p.line] {
			heading = label(p.row, p.own.Without(results.Rates...), ratesVaryWords)
		}
		c := &t.columns[p.column]
		c.halves[t.line(heading, c)] = [2]string{t.ours(p.row), m.Number(p.row.ours.PaperMean, p.row.ours.PaperStd)}
	}
	return t
}

// line returns the index of the first line with this label whose cell in the column is free, or of a new line.
func (t *table) line(label string, c *tableColumn) int {
	for i, known := range t.labels {
		if _, taken := c.halves[i]; known == label && !taken {
			return i
		}
	}
	t.labels = append(t.labels, label)
	return len(t.labels) - 1
}

// column returns the index of the column of an availability and a data set, and adds the column if it is new.
func (t *table) column(availability, data string) int {
	i := slices.IndexFunc(t.columns, func(c tableColumn) bool {
		return c.availability == availability && c.data == data
	})
	if i < 0 {
		i = len(t.columns)
		t.columns = append(t.columns, tableColumn{availability, data, map[int][2]string{}})
	}
	return i
}

// ours returns our half of a cell, with a reference to a note if seeds are missing or the number is not compared. Seeds
// that completed count even if others did not.
func (t *table) ours(r *ComparisonRow) string {
	text := cmp.Or(r.notReached(), r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N))
	if r.N == 0 {
		text = r.Status
	}
	note, why := r.missing()
	// A reason that all numbers share is not repeated at each: callers print it once, see [NotCompared].
	if r.NotJudged != t.why && r.NotJudged != "" && r.N > 0 {
		note = "not compared: " + r.NotJudged
	}
	if note == "" {
		return text
	}
	return text + t.notes.mark(withReason(note, why))
}

// missing says how those of our seeds ended that the mean lacks, and why. Both are empty if it lacks none; why is also
// empty if nobody knows.
func (r *ComparisonRow) missing() (how, why string) {
	if !isOurs(r) {
		return "", ""
	}
	switch results.CellStatus(r.Status) {
	case results.CellOK, results.CellMixed, results.CellUnverified: // the label says it
		return "", ""
	case results.CellDiverged:
		_, why = diverged(r.ours)
	default:
		why = r.ours.Error
	}
	if why = files.OneLine(why); why == r.Status {
		why = ""
	}
	return r.Status, why
}

// withReason adds a reason to a note; "": there is none.
func withReason(note, why string) string {
	if why == "" {
		return note
	}
	return note + ": " + why
}

// cells returns the texts of a column from top to bottom: two headings, the headings of the halves, and the cell of
// each line, with its halves aligned. A column without a printed number has ours alone.
func (c *tableColumn) cells(lines int) []string {
	width := utf8.RuneCountInString("ours") // of the left halves
	printed := false
	for _, half := range c.halves {
		width = max(width, utf8.RuneCountInString(half[0]))
		printed = printed || half[1] != metrics.NoNumber
	}
	both := func(ours, paper string) string {
		if !printed {
			return ours
		}
		return fmt.Sprintf("%-*s | %s", width, ours, paper)
	}
	cells := []string{c.availability, c.data, both("ours", "paper")}
	for i := range lines {
		if half, there := c.halves[i]; there {
			cells = append(cells, both(half[0], half[1]))
		} else {
			cells = append(cells, metrics.NoNumber)
		}
	}
	return cells
}

// blocks distributes the columns over tables of at most width characters. A table has at least one column, even if that
// column is wider.
func (t *table) blocks(width int) (blocks []files.TextTable) {
	labels := append([]string{"", "", "method"}, t.labels...)
	used := 0
	for i := range t.columns {
		cells := t.columns[i].cells(len(t.labels))
		wide := utf8.RuneCountInString(tableGap) + widest(cells)
		if used += wide; i == 0 || used > width {
			used = widest(labels) + wide
			block := files.TextTable{Gap: tableGap, Align: "l"}
			for _, label := range labels {
				block.Lines = append(block.Lines, []string{label})
			}
			blocks = append(blocks, block)
		}
		block := &blocks[len(blocks)-1]
		block.Align += "l"
		for i, cell := range cells {
			block.Lines[i] = append(block.Lines[i], cell)
		}
	}
	return blocks
}

// widest returns the length of the longest cell, in characters.
func widest(cells []string) (width int) {
	for _, c := range cells {
		width = max(width, utf8.RuneCountInString(c))
	}
	return width
}
