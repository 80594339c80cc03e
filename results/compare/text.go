package compare

import (
	"fmt"
	"io"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// Markup is how words for people are set: [Plain] or [Markdown].
type Markup struct {
	title  string // a format; the table follows
	table  func(files.TextTable, *strings.Builder)
	after  string // behind the table
	escape func(string) string
}

// Plain text, and Markdown.
var (
	Plain    = Markup{"%s\n", files.TextTable.Text, "", func(text string) string { return text }}
	Markdown = Markup{"**%s**\n\n", files.TextTable.Markdown, "\n", files.EscapeMarkdown}
)

// tableGap is between the columns of a text.
const tableGap = "   "

// newTable returns a table that has its headings alone.
func newTable(align string, headings ...string) files.TextTable {
	return files.TextTable{Align: align, Gap: tableGap, Lines: [][]string{headings}}
}

// Write writes the comparison for people: a block for each column of the table, with a line for each method and the
// rank agreement below. Means are mean ± std (seeds); accuracies and their differences are in percent and percentage
// points, losses as they are, first rounds whole or never.
func (c Comparing) Write(w io.Writer, m Markup) error {
	var b strings.Builder
	c.blocks(func(rows []ComparisonRow, rank RankAgreement) {
		fmt.Fprintf(&b, m.title, m.escape(columnTitle(rank)))
		table := newTable("lllrrl", "method", "ours", "paper", "difference", "margin", "verdict")
		for _, r := range rows {
			table.Lines = append(table.Lines, r.words(rank))
		}
		m.table(table, &b)
		fmt.Fprintf(&b, "%s%s\n\n", m.after, m.escape(rank.words()))
	})
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

// columnTitle names a column: everything that its rows have in common.
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

// words returns the cells of a line. Params that are not the whole column's follow the method.
func (r ComparisonRow) words(column RankAgreement) []string {
	method := r.Method
	if r.Status != "" {
		if own := r.Params.Without(column.Params.Names()...); own != "" {
			method += " " + string(own)
		}
	}
	ours := r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N)
	if r.Status != "" && r.Status != string(results.CellOK) {
		ours += ", " + r.Status
	}
	return []string{
		method, ours, r.Metric.WordsWithSeeds(r.PaperMean, r.PaperStd, r.PaperN),
		r.Metric.Difference(r.Difference), r.Metric.Margin(r.Margin), string(r.Verdict),
	}
}

// words says what a rank agreement comes to.
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

// summary counts the verdicts.
func (c Comparing) summary() string {
	counts := map[stats.Verdict]int{}
	compared := 0
	for _, r := range c.Rows {
		if r.PaperN > 0 && r.N > 0 {
			compared++
			counts[r.Verdict]++
		}
	}
	asPrinted, columns := c.Orders()
	text := fmt.Sprintf(
		"%d numbers compared: %d within, %d outside, %d unknown; the paper's order holds in %d of %d columns",
		compared, counts[stats.Within], counts[stats.Outside], counts[stats.Unknown], asPrinted, columns)
	if c.Left > 0 {
		text += fmt.Sprintf("; printed numbers in columns that were not run: %d", c.Left)
	}
	return text
}
