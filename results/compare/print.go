package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rollcall/results"
	"rollcall/results/files"
)

// WriteTable writes the rows of one metric for people: a line per method, a column per availability and data set, a
// cell `mean ± std (seeds) | paper's mean ± std`. Methods and columns come in the order of the rows. Accuracies are in
// percent, losses as they are, first rounds whole or never. A cell without all its runs says how it ended, and why in a
// note below.
//
// Columns that do not fit in width characters follow in further blocks; one at least is in each.
func WriteTable(w io.Writer, rows []results.SummaryRow, m results.Metric, width int) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r results.SummaryRow) bool { return r.Metric != m })
	if len(rows) == 0 {
		return fmt.Errorf("results: table: no rows of %s, want one at least", m)
	}
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
	ours, paper        []string // of each line; empty where there is no row
}

// layOut sorts the rows into lines and columns. Rows that would share a place, since they differ in something the table
// does not show, get lines of their own.
func layOut(rows []results.SummaryRow, m results.Metric) *table {
	t := &table{title: string(m)}
	if m.IsPercent() {
		t.title += " %"
	}
	type place struct {
		label              string
		availability, data string
	}
	taken := map[place]int{}
	type lineKey struct {
		label string
		copy  int
	}
	lines := map[lineKey]int{}
	nets := slices.ContainsFunc(rows, func(r results.SummaryRow) bool {
		return slices.ContainsFunc(rows, func(o results.SummaryRow) bool { return o.Data == r.Data && o.Net != r.Net })
	})
	presets := slices.ContainsFunc(rows, func(r results.SummaryRow) bool { return r.Preset != rows[0].Preset })
	alphas := slices.ContainsFunc(rows, func(r results.SummaryRow) bool { return r.Alpha != rows[0].Alpha })
	var params []results.Params
	for _, r := range rows {
		params = append(params, r.Params)
	}
	common := results.CommonParams(params) // what all rows have says nothing of any
	for _, r := range rows {
		label := rowLabel(r, common, presets, alphas, nets)
		p := place{label, r.Availability, r.Data}
		key := lineKey{label, taken[p]}
		taken[p]++
		line, known := lines[key]
		if !known {
			line = len(t.labels)
			lines[key] = line
			t.labels = append(t.labels, label)
			for i := range t.columns {
				t.columns[i].grow(line + 1)
			}
		}
		c := t.column(r.Availability, r.Data)
		c.ours[line] = t.ours(r, label)
		c.paper[line] = m.Number(r.PaperMean, r.PaperStd)
	}
	return t
}

// rowLabel names a line.
func rowLabel(r results.SummaryRow, common results.Params, withPreset, withAlpha, withNet bool) string {
	label := r.Method
	if withPreset {
		label += " (" + r.Preset + ")"
	}
	if withNet {
		label += " " + r.Net
	}
	if withAlpha && r.Alpha.Valid {
		label += " alpha=" + r.Alpha.String()
	}
	if params := r.Params.Minus(common); params != "" {
		label += " " + string(params)
	}
	return label
}

// column returns the column of an availability and a data set, new if need be.
func (t *table) column(availability, data string) *tableColumn {
	i := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.availability == availability && c.data == data })
	if i < 0 {
		i = len(t.columns)
		t.columns = append(t.columns, tableColumn{availability: availability, data: data})
		t.columns[i].grow(len(t.labels))
	}
	return &t.columns[i]
}

func (c *tableColumn) grow(lines int) {
	c.ours = append(c.ours, make([]string, lines-len(c.ours))...)
	c.paper = append(c.paper, make([]string, lines-len(c.paper))...)
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
func (c *tableColumn) cells() []string {
	width := utf8.RuneCountInString("ours")
	for _, half := range c.ours {
		width = max(width, utf8.RuneCountInString(half))
	}
	both := func(ours, paper string) string { return files.Pad(ours, width) + " | " + paper }
	cells := []string{c.availability, c.data, both("ours", "paper")}
	for i := range c.ours {
		if c.ours[i] == "" {
			cells = append(cells, results.NoNumber)
		} else {
			cells = append(cells, both(c.ours[i], c.paper[i]))
		}
	}
	return cells
}

// blocks returns the tables that the columns come to where none is wider than width if it has more than one of them.
func (t *table) blocks(width int) (blocks []files.TextTable) {
	labels := append([]string{t.title, "", "method"}, t.labels...)
	used := 0
	for i := range t.columns {
		cells := t.columns[i].cells()
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
