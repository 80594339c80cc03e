package compare

import (
	"fmt"
	"io"
	"strings"

	"rollcall/results"
	"rollcall/results/stats"
)

// comparisonHeadings are above the columns of a printed comparison.
var comparisonHeadings = []string{"method", "ours", "paper", "difference", "margin", "verdict"}

// WriteText writes the comparison for people: a block for each column of the table, with a line for each method and the
// rank agreement below. Means are mean ± std (seeds); accuracies and their differences are in percent and percentage
// points, losses as they are, first rounds whole or never.
func (c Comparing) WriteText(w io.Writer) error {
	var b strings.Builder
	c.blocks(func(rows []ComparisonRow, rank RankAgreement) {
		fmt.Fprintf(&b, "%s\n", columnTitle(rank))
		lines := [][]string{comparisonHeadings}
		for _, r := range rows {
			lines = append(lines, r.words(rank))
		}
		widths := make([]int, len(comparisonHeadings))
		for _, line := range lines {
			for i, cell := range line {
				widths[i] = max(widths[i], runes(cell))
			}
		}
		for _, line := range lines {
			var text strings.Builder
			for i, cell := range line {
				if i == 3 || i == 4 { // difference and margin end at the same decimal
					text.WriteString(strings.Repeat(" ", widths[i]-runes(cell)) + cell + results.TableGap)
					continue
				}
				text.WriteString(pad(cell, widths[i]) + results.TableGap)
			}
			fmt.Fprintf(&b, "%s\n", strings.TrimRight(text.String(), " "))
		}
		fmt.Fprintf(&b, "%s\n\n", rank.words())
	})
	fmt.Fprintf(&b, "%s\n", c.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the comparison as [Comparing.WriteText] does, each column as a Markdown table.
func (c Comparing) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	c.blocks(func(rows []ComparisonRow, rank RankAgreement) {
		fmt.Fprintf(&b, "**%s**\n\n", escapeMarkdown(columnTitle(rank)))
		line(comparisonHeadings)
		line([]string{"---", "---", "---", "---:", "---:", "---"})
		for _, r := range rows {
			cells := r.words(rank)
			for i := range cells {
				cells[i] = escapeMarkdown(strings.TrimSpace(cells[i]))
			}
			line(cells)
		}
		fmt.Fprintf(&b, "\n%s\n\n", escapeMarkdown(rank.words()))
	})
	fmt.Fprintf(&b, "%s\n", escapeMarkdown(c.summary()))
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks calls f with the rows and the rank agreement of each column in turn.
func (c Comparing) blocks(f func(rows []ComparisonRow, rank RankAgreement)) {
	from := 0
	for _, rank := range c.Ranks {
		to := from
		for to < len(c.Rows) && c.Rows[to].column == c.Rows[from].column {
			to++
		}
		f(c.Rows[from:to], rank)
		from = to
	}
}

// columnTitle names a column: everything that its rows have in common.
func columnTitle(r RankAgreement) string {
	title := r.Availability + ", " + r.Data + ", " + string(r.Metric)
	if r.Metric.IsAccuracy() {
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
	ours := results.MeanWords(r.Mean, r.Std, r.N, r.Metric)
	if r.Status != "" && r.Status != string(results.CellOK) {
		ours += ", " + r.Status
	}
	return []string{
		method, ours, results.MeanWords(r.PaperMean, r.PaperStd, r.PaperN, r.Metric),
		results.Difference(r.Difference, r.Metric, "%+.*f"), results.Difference(r.Margin, r.Metric, "%.*f"), r.Verdict.String(),
	}
}

// words says what a rank agreement comes to.
func (r RankAgreement) words() string {
	if r.Pairs == 0 {
		return "order of the methods: unknown, no two to compare"
	}
	tau := "not defined"
	if r.TauB.Valid {
		tau = fmt.Sprintf("%.2f", r.TauB.Value)
	}
	return fmt.Sprintf("order of the methods: %s, %d of %d pairs as in the paper, Kendall's tau-b %s", r.Verdict(), r.Concordant, r.Pairs, tau)
}

// summary counts the verdicts.
func (c Comparing) summary() string {
	counts := map[stats.Verdict]int{}
	compared, held, ordered := 0, 0, 0
	for _, r := range c.Rows {
		if r.PaperN > 0 && r.N > 0 {
			compared++
			counts[r.Verdict]++
		}
	}
	for _, r := range c.Ranks {
		if r.Pairs > 0 {
			ordered++
		}
		if r.Holds() {
			held++
		}
	}
	text := fmt.Sprintf("%d numbers compared: %d within, %d outside, %d unknown; the paper's order holds in %d of %d columns",
		compared, counts[stats.Within], counts[stats.Outside], counts[stats.Unknown], held, ordered)
	if c.Left > 0 {
		text += fmt.Sprintf("; printed numbers in columns that were not run: %d", c.Left)
	}
	return text
}
