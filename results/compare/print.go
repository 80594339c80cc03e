package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/results"
)

// WriteTable writes the rows of one metric for people: a line per method, a column per availability and data set, a cell
// `mean ± std (seeds) | paper's mean ± std`. Methods and columns come in the order of the rows. Accuracies are in
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
	for from := 0; from < len(t.columns); {
		if from > 0 {
			b.WriteString("\n")
		}
		to := t.fit(from, width)
		t.block(&b, from, to)
		from = to
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
	if m.IsAccuracy() {
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
		c.paper[line] = results.Number(r.PaperMean, r.PaperStd, m)
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
	text := results.MeanWords(r.Mean, r.Std, r.N, r.Metric)
	if r.Status == results.CellOK {
		return text
	}
	if !r.Mean.Valid {
		text = string(r.Status)
	}
	note := fmt.Sprintf("%s, %s, %s: %s", label, r.Availability, r.Data, r.Status)
	if r.Error != "" {
		note += ": " + results.OneLine(r.Error)
	}
	// One failure is a row for each metric and may be in several tables, but is one note in each.
	i := slices.Index(t.notes, note)
	if i < 0 {
		i = len(t.notes)
		t.notes = append(t.notes, note)
	}
	return fmt.Sprintf("%s [%d]", text, i+1)
}

// widths returns how wide the two halves of a column are, headings included.
func (c tableColumn) widths() (ours, paper int) {
	ours, paper = widest(c.ours, "ours"), widest(c.paper, "paper")
	if lacking := max(runes(c.availability), runes(c.data)) - (ours + runes(results.TableSplit) + paper); lacking > 0 {
		paper += lacking
	}
	return ours, paper
}

// widest returns the width of a heading and the cells below it.
func widest(cells []string, heading string) int {
	w := runes(heading)
	for _, c := range cells {
		w = max(w, runes(c))
	}
	return w
}

// labelWidth returns how wide the first column is.
func (t *table) labelWidth() int { return max(widest(t.labels, t.title), runes("method")) }

// fit returns the end of the block that starts with column from.
func (t *table) fit(from, width int) int {
	used := t.labelWidth()
	for i, c := range t.columns[from:] {
		ours, paper := c.widths()
		used += runes(results.TableGap) + ours + runes(results.TableSplit) + paper
		if used > width && i > 0 {
			return from + i
		}
	}
	return len(t.columns)
}

// block writes columns from … to−1 under two lines of headings.
func (t *table) block(b *strings.Builder, from, to int) {
	line := func(label string, cell func(c tableColumn) (whole, ours, paper string)) {
		var text strings.Builder
		text.WriteString(pad(label, t.labelWidth()))
		for _, c := range t.columns[from:to] {
			ours, paper := c.widths()
			whole, left, right := cell(c)
			if whole == "" {
				whole = pad(left, ours) + results.TableSplit + right
			}
			text.WriteString(results.TableGap + pad(whole, ours+runes(results.TableSplit)+paper))
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	line(t.title, func(c tableColumn) (string, string, string) { return c.availability, "", "" })
	line("", func(c tableColumn) (string, string, string) { return c.data, "", "" })
	line("method", func(tableColumn) (string, string, string) { return "", "ours", "paper" })
	for i, label := range t.labels {
		line(label, func(c tableColumn) (string, string, string) {
			if c.ours[i] == "" {
				return results.TableNone, "", ""
			}
			return "", c.ours[i], c.paper[i]
		})
	}
}
