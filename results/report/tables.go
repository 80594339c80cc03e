package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
)

// tables lays out the tables.
func (d *pageData) tables(b *builder) {
	for _, id := range results.SummaryTables(b.Numbers) {
		rows := slices.DeleteFunc(slices.Clone(b.Numbers), func(r results.SummaryRow) bool { return r.Table != id })
		printed, err := results.PaperTable(id)
		if err != nil {
			printed = nil // a table of ours alone
		}
		results.SortSummary(id, rows)
		c := results.CompareTable(printed, rows)
		grid := c.Grid()
		t := tableData{ID: "table-" + slug(id), Title: id, Columns: grid.Columns, Printed: len(printed) > 0}
		if id == "run" {
			t.Title = "Single runs"
		}
		if t.Printed {
			t.Title = "Table " + id
			t.Summary = c.Summary() + "."
			if source, err := results.PaperSource(id); err == nil {
				t.Source = source
			}
		}
		for i, column := range grid.Columns {
			if i > 0 && column.Data == grid.Columns[i-1].Data {
				t.Datas[len(t.Datas)-1].Over++
			} else {
				t.Datas = append(t.Datas, span{column.Data, 1})
			}
		}
		for i, g := range grid.Groups {
			group := groupData{ID: fmt.Sprintf("%s-%d", t.ID, i+1), Title: g.Availability, Availability: g.Availability}
			if g.Set != "" {
				group.Title += ", " + g.Set
			}
			for _, l := range g.Lines {
				line := lineData{Label: l.Label(), Method: l.Method}
				for k, r := range l.Cells {
					line.Cells = append(line.Cells, cellOf(r, grid.Columns[k].Data))
				}
				group.Lines = append(group.Lines, line)
			}
			t.Groups = append(t.Groups, group)
		}
		d.Tables = append(d.Tables, t)
	}
}

// cellOf words one number beside the paper's.
func cellOf(r *results.ComparisonRow, data string) cellData {
	c := cellData{Data: data, Class: "none", Ours: "–"}
	if r == nil {
		return c
	}
	if r.Status != "" {
		c.Ours = results.Words(r.Mean, r.Std, r.N, r.Metric)
		if r.Status != string(results.CellOK) {
			c.Note = fmt.Sprintf("%s, %d %s", r.Status, r.N, plural(r.N, "seed", "seeds"))
		}
	}
	if r.PaperN > 0 {
		c.Paper = results.Words(r.PaperMean, r.PaperStd, r.PaperN, r.Metric)
	}
	if !r.Difference.Valid {
		return c
	}
	c.Difference = strings.TrimSpace(results.DifferenceWords(r.Difference, r.Metric))
	near := r.Verdict == results.Within
	switch r.Spread() {
	case results.SpreadInside:
		c.Class, c.Mark = "in", "✓ inside"
	case results.SpreadAbove:
		c.Class, c.Mark = "above", "▲ above"
		if near {
			c.Class, c.Mark = "near", "△ above, near"
		}
	case results.SpreadBelow:
		c.Class, c.Mark = "below", "▼ below"
		if near {
			c.Class, c.Mark = "near", "▽ below, near"
		}
	case results.SpreadUnknown:
	}
	return c
}
