package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
)

// WriteTable writes the rows of one metric for people: a line per method, a column per availability and data set, a
// cell `mean ± std (seeds) | paper's mean ± std`. Methods and columns come in the order of the rows. Accuracies are in
// percent, losses as they are, first rounds whole or never. A cell without all its runs says how it ended, and why in a
// note below.
//
// Columns that do not fit in width characters follow in further blocks; one at least is in each.
func WriteTable(w io.Writer, rows []results.SummaryRow, m metrics.Metric, width int) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r results.SummaryRow) bool { return r.Metric != m })
	t := layOut(rows, m)
	var b strings.Builder
	for i, block := range t.blocks(width) {
		if i > 0 {
			b.WriteString("\n")
		}
		block.Text(&b)
	}
	if len(t.notes) > 0 {
		b.WriteString("\n")
	}
	for i, note := range t.notes {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table is what WriteTable prints, in words but not yet in places.
type table struct {
	title   string
	labels  []string // of the lines
	columns []tableColumn
	notes   []string
}

type tableColumn struct {
	availability, data string
	halves             map[int][2]string // ours and the paper's, by line; missing where there is no row
}

// layOut sorts the rows into lines and columns. Rows that would share a place, since they differ in something the table
// does not show, get lines of their own.
func layOut(rows []results.SummaryRow, m metrics.Metric) *table {
	t := &table{title: string(m)}
	if m.IsPercent() {
		t.title += " %"
	}
	nets := slices.ContainsFunc(rows, func(r results.SummaryRow) bool {
		return slices.ContainsFunc(rows, func(o results.SummaryRow) bool { return o.Data == r.Data && o.Net != r.Net })
	})
	presets := slices.ContainsFunc(rows, func(r results.SummaryRow) bool { return r.Preset != rows[0].Preset })
	alphas := slices.ContainsFunc(rows, func(r results.SummaryRow) bool { return r.Alpha != rows[0].Alpha })
	// What all rows have says nothing of any.
	common := results.CommonParams(rows, func(r results.SummaryRow) results.Params { return r.Params })
	for _, r := range rows {
		label := r.Method
		if presets {
			label += " (" + r.Preset + ")"
		}
		if nets {
			label += " " + r.Net
		}
		if alphas && r.Alpha.Valid {
			label += " alpha=" + r.Alpha.String()
		}
		if params := r.Params.Minus(common); params != "" {
			label += " " + string(params)
		}
		c := t.column(r.Availability, r.Data)
		c.halves[t.line(label, c)] = [2]string{t.ours(r, label), m.Number(r.PaperMean, r.PaperStd)}
	}
	return t
}

// line returns the first line of a label that has room in a column, new if need be.
func (t *table) line(label string, c *tableColumn) int {
	for i, known := range t.labels {
		if _, taken := c.halves[i]; known == label && !taken {
			return i
		}
	}
	t.labels = append(t.labels, label)
	return len(t.labels) - 1
}

// column returns the column of an availability and a data set, new if need be.
func (t *table) column(availability, data string) *tableColumn {
	i := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.availability == availability && c.data == data })
	if i < 0 {
		i = len(t.columns)
		t.columns = append(t.columns, tableColumn{availability, data, map[int][2]string{}})
	}
	return &t.columns[i]
}

// ours returns our half of a cell, and adds its note where it has one. Seeds that got to the end count even where
// others did not.
func (t *table) ours(r results.SummaryRow, label string) string {
	text := r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N)
	if r.Status == results.CellOK {
		return text
	}
	if !r.Mean.Valid {
		text = string(r.Status)
	}
	note := fmt.Sprintf("%s, %s, %s: %s", label, r.Availability, r.Data, r.Status)
	if r.Error != "" {
		note += ": " + files.OneLine(r.Error)
	}
	// One failure is a row for each metric and may be in several tables, but is one note in each.
	i := slices.Index(t.notes, note)
	if i < 0 {
		i = len(t.notes)
		t.notes = append(t.notes, note)
	}
	return fmt.Sprintf("%s [%d]", text, i+1)
}

// cells returns the column as it is printed: two lines of headings, the headings of its halves, and the halves of each
// line side by side.
func (c *tableColumn) cells(lines int) []string {
	width := utf8.RuneCountInString("ours")
	for _, half := range c.halves {
		width = max(width, utf8.RuneCountInString(half[0]))
	}
	both := func(ours, paper string) string { return fmt.Sprintf("%-*s | %s", width, ours, paper) }
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

// blocks returns the tables that the columns come to where none is wider than width if it has more than one of them.
func (t *table) blocks(width int) (blocks []files.TextTable) {
	labels := append([]string{t.title, "", "method"}, t.labels...)
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

// widest returns the number of characters of the longest cell.
func widest(cells []string) (width int) {
	for _, c := range cells {
		width = max(width, utf8.RuneCountInString(c))
	}
	return width
}
