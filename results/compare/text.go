package compare

import (
	"fmt"
	"io"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
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
// rank agreement below it. Numbers read mean ± std (seeds); accuracies are in percent, and their differences in
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
	c.blocks(func(rows []ComparisonRow, rank RankAgreement) {
		fmt.Fprintf(&b, m.title, m.escape(columnTitle(rank)))
		table := newTable("lllrrl", "method", "ours", "paper", "difference", "margin", "verdict")
		for _, r := range rows {
			verdict := string(r.Verdict)
			if r.NotJudged != "" {
				verdict = "not compared"
				if r.NotJudged != why && r.N > 0 {
					verdict += below.mark(r.NotJudged)
				}
			}
			table.Lines = append(table.Lines, append(r.words(rank), verdict))
		}
		m.table(table, &b)
		fmt.Fprintf(&b, "%s%s\n\n", m.after, m.escape(rank.words()))
	})
	// In Markdown an empty line ends each paragraph and each note.
	for i, note := range below {
		fmt.Fprintf(&b, "%s\n%s", m.escape(fmt.Sprintf("[%d] not compared: %s", i+1, note)), m.after)
	}
	if len(below) > 0 && m.after == "" {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n", m.escape(c.summary()))
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks calls f with the rows and the rank agreement of each column in turn.
func (c Comparing) blocks(f func(rows []ComparisonRow, rank RankAgreement)) {
	rows := c.Rows
	for _, rank := range c.Ranks {
		f(rows[:rank.rows], rank)
		rows = rows[rank.rows:]
	}
}

// columnTitle returns the title of a column: everything that its rows have in common.
func columnTitle(r RankAgreement) string {
	title := r.Availability + ", " + r.Data + ", " + string(r.Metric)
	if r.Metric.IsPercent() {
		title += " %"
	}
	if r.Alpha.Valid {
		title += ", alpha=" + r.Alpha.String()
	}
	if r.Params != "" {
		title += ", " + r.Params.Words(", ")
	}
	return fmt.Sprintf("%s (preset %s, %d clients)", title, r.Preset, r.Clients)
}

// words returns the cells of a line without the verdict. The method is followed by the params that the column does not
// share.
func (r ComparisonRow) words(column RankAgreement) []string {
	method := r.Method
	if own := r.own.Without(column.Params.Names()...); own != "" {
		method += " " + string(own)
	}
	if r.Label != "" {
		method += " " + r.Label
	}
	ours := r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N)
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

// words returns a rank agreement as a sentence.
func (r RankAgreement) words() string {
	if r.Pairs == 0 {
		return "order of the methods: unknown, no two to compare"
	}
	verdict, tau := "fails", "not defined"
	if r.Holds() {
		verdict = "holds"
	}
	if r.TauB.Valid {
		tau = fmt.Sprintf("%.2f", r.TauB.Value)
	}
	return fmt.Sprintf("order of the methods: %s, %d of %d pairs as in the paper, Kendall's tau-b %s",
		verdict, r.Concordant, r.Pairs, tau)
}

// summary returns the last line of a comparison, which counts the verdicts.
func (c Comparing) summary() string {
	n := c.Counts()
	text := fmt.Sprintf("%s compared: %d within, %d outside, %d unknown",
		n.Compared(), n.Inside+n.Near, n.Away, n.Unknown)
	if not := n.NotCompared(); not != "" {
		text += "; " + not
	}
	asPrinted, columns := c.Orders()
	text += fmt.Sprintf("; the paper's order holds in %d of %d columns", asPrinted, columns)
	if c.Left > 0 {
		text += fmt.Sprintf("; printed numbers in columns that were not run: %d", c.Left)
	}
	return text
}
