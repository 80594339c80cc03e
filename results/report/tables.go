package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
	"rollcall/results/stats"
)

// tables lays out the tables.
func (d *pageData) tables(b *builder) {
	for _, id := range compare.SummaryTables(b.Numbers) {
		rows := slices.DeleteFunc(slices.Clone(b.Numbers), func(r results.SummaryRow) bool { return r.Table != id })
		known, _ := papers.TableByID(id) // one of ours alone has no printed numbers
		printed := known.Printed
		compare.SortSummary(id, rows)
		c := compare.Table(printed, rows)
		grid := c.Grid()
		t := tableData{ID: "table-" + slug(id), Title: id, Columns: grid.Columns, Datas: grid.Datas()}
		t.Printed = len(printed) > 0
		if id == "run" {
			t.Title = "Single runs"
		}
		if t.Printed {
			t.Title = "Table " + id
			t.Source = known.Source
		}
		for i, g := range grid.Groups {
			group := groupData{ID: fmt.Sprintf("%s-%d", t.ID, i+1), GridGroup: g}
			for _, l := range g.Lines {
				line := lineData{GridLine: l}
				for k, r := range l.Cells {
					line.Cells = append(line.Cells, cellOf(r, grid.Columns[k].Data))
				}
				group.Lines = append(group.Lines, line)
			}
			t.Groups = append(t.Groups, group)
		}
		if t.Printed {
			t.Summary = summary(t, c)
			var runs []*results.Run
			for i := range b.Runs {
				if b.Runs[i].Table == id {
					runs = append(runs, &b.Runs[i])
				}
			}
			t.Ours = made(runs)
		}
		d.Tables = append(d.Tables, t)
	}
}

// summary counts what the marks say, and the columns in which the methods come in the paper's order.
func summary(t tableData, c compare.Comparing) string {
	counts := map[string]int{}
	compared := 0
	for _, g := range t.Groups {
		for _, l := range g.Lines {
			for _, cell := range l.Cells {
				if cell.Mark != "" {
					compared++
					counts[cell.Class]++
				}
			}
		}
	}
	asPrinted, columns := c.Orders()
	text := fmt.Sprintf("The methods come in the paper's order in %d of %d columns.", asPrinted, columns)
	if compared > 0 {
		text = fmt.Sprintf("%d numbers compared with printed mean ± std: %d inside, %d near, %d away. ",
			compared, counts["in"], counts["near"], counts["above"]+counts["below"]) + text
	}
	if c.Left > 0 {
		text += fmt.Sprintf(" %d printed numbers are of columns that were not run.", c.Left)
	}
	return text
}

// cellOf words one number beside the paper's.
func cellOf(r *compare.ComparisonRow, data string) cellData {
	c := cellData{Data: data, Class: "none", Ours: "–"}
	if r == nil {
		return c
	}
	if r.Status != "" {
		c.Ours = r.Metric.Words(r.Mean, r.Std, r.N)
		if r.Status != string(results.CellOK) {
			c.Note = fmt.Sprintf("%s, %d %s", r.Status, r.N, plural(r.N, "seed", "seeds"))
		}
	}
	if r.PaperN > 0 {
		c.Paper = r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN)
	}
	if !r.Difference.Valid {
		return c
	}
	c.Difference = strings.Replace(strings.TrimSpace(r.Metric.Difference(r.Difference)), "-", "−", 1)
	near := r.Verdict == stats.Within
	switch side, known := r.Spread(); {
	case !known:
	case side == 0:
		c.Class, c.Mark = "in", "✓ inside"
	case side > 0 && near:
		c.Class, c.Mark = "near", "△ above, near"
	case side > 0:
		c.Class, c.Mark = "above", "▲ above"
	case near:
		c.Class, c.Mark = "near", "▽ below, near"
	default:
		c.Class, c.Mark = "below", "▼ below"
	}
	return c
}
