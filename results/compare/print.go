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
	"rollcall/results/papers"
)

// WriteTable writes the rows of one metric for people: a line per method, a column per availability and data set, a
// cell `mean ± std (seeds) | paper's mean ± std`. Methods and columns come in the order of the rows. Accuracies are in
// percent, losses as they are, first rounds whole or never. A cell without all its runs says how it ended, and why in a
// note below.
//
// Columns that do not fit in width characters follow in further blocks; one at least is in each.
func WriteTable(w io.Writer, t *papers.Table, rows []results.SummaryRow, width int) error {
	var b strings.Builder
	var below notes
	all := eachBeside(t, rows)
	why := alike(all)
	for _, e := range t.Entries {
		of := slices.DeleteFunc(slices.Clone(all), func(r *ComparisonRow) bool { return r.Metric != e.Metric })
		if len(of) == 0 {
			continue // a sweep without evaluations of the training set
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		for i, block := range layOut(of, why, &below).blocks(width) {
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

// NotCompared returns why no row of a table is compared with its printed number, where that is the same of all; empty
// where it is not, and where nothing is printed.
func NotCompared(t *papers.Table, rows []results.SummaryRow) string {
	return alike(eachBeside(t, rows))
}

// eachBeside puts each row of a table beside its printed number, in the order of the rows.
func eachBeside(t *papers.Table, rows []results.SummaryRow) []*ComparisonRow {
	marks := labels(rows)
	all := make([]*ComparisonRow, len(rows))
	for i := range rows {
		r := ourRow(&rows[i], t.Own(&rows[i]), marks[i])
		if p, ok := results.PrintedFor(t.Printed, rows[i]); ok {
			r.beside(&p)
		}
		all[i] = &r
	}
	return all
}

// table is what WriteTable prints of a metric, in words but not yet in places.
type table struct {
	title   string
	labels  []string // of the lines
	columns []tableColumn
	why     string // see [NotCompared]
	notes   *notes // below all metrics
}

type tableColumn struct {
	availability, data string
	halves             map[int][2]string // ours and the paper's, by line; missing where there is no row
}

// layOut sorts the rows of one metric into lines and columns. Rows that would share a place, since they differ in
// something the table does not show, get lines of their own.
func layOut(rows []*ComparisonRow, why string, below *notes) *table {
	m, one := rows[0].Metric, rows[0].ours
	t := &table{title: string(m), why: why, notes: below}
	if m.IsPercent() {
		t.title += " %"
	}
	any := func(differs func(*results.SummaryRow) bool) bool {
		return slices.ContainsFunc(rows, func(r *ComparisonRow) bool { return differs(r.ours) })
	}
	nets := any(func(r *results.SummaryRow) bool {
		return any(func(o *results.SummaryRow) bool { return o.Data == r.Data && o.Net != r.Net })
	})
	presets := any(func(r *results.SummaryRow) bool { return r.Preset != one.Preset })
	alphas := any(func(r *results.SummaryRow) bool { return r.Alpha != one.Alpha })
	// What all rows have says nothing of any.
	common := results.CommonParams(rows, func(r *ComparisonRow) results.Params { return r.own })
	for _, r := range rows {
		label := r.Method
		if presets {
			label += " (" + r.Preset + ")"
		}
		if nets {
			label += " " + r.ours.Net
		}
		if alphas && r.Alpha.Valid {
			label += " alpha=" + r.Alpha.String()
		}
		if own := r.own.Minus(common); own != "" {
			label += " " + string(own)
		}
		if r.Label != "" {
			label += " " + r.Label
		}
		c := t.column(r.Availability, r.Data)
		c.halves[t.line(label, c)] = [2]string{t.ours(r), m.Number(r.ours.PaperMean, r.ours.PaperStd)}
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
	i := slices.IndexFunc(t.columns, func(c tableColumn) bool {
		return c.availability == availability &&
			c.data == data
	})
	if i < 0 {
		i = len(t.columns)
		t.columns = append(t.columns, tableColumn{availability, data, map[int][2]string{}})
	}
	return &t.columns[i]
}

// ours returns our half of a cell, and adds its note where it has one. Seeds that got to the end count even where
// others did not.
func (t *table) ours(r *ComparisonRow) string {
	text := r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N)
	if r.N == 0 {
		text = r.Status
	}
	note, why := "", r.ours.Error
	switch r.ours.Status {
	case results.CellOK, results.CellMixed, results.CellUnverified: // which the label says
		why = ""
	case results.CellDiverged:
		_, why = diverged(r.ours)
		fallthrough
	default:
		note = r.Status
	}
	if r.NotJudged != t.why && r.NotJudged != "" && r.N > 0 {
		note = "not compared: " + r.NotJudged
	}
	if note == "" {
		return text
	}
	if why = files.OneLine(why); why != "" && why != r.Status {
		note += ": " + why
	}
	return text + t.notes.mark(note)
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
