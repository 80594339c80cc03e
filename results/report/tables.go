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
		t := tableData{Grid: c.Grid(), ID: "table-" + slug(id), Title: id, Printed: len(printed) > 0}
		if id == "run" {
			t.Title = "Single runs"
		}
		if t.Printed {
			t.Title, t.Source, t.Summary = "Table "+id, known.Source, summary(c)
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
func summary(c compare.Comparing) string {
	counts := map[string]int{}
	compared := 0
	for i := range c.Rows {
		if cell := cellOf(&c.Rows[i]); cell.Mark != "" {
			compared++
			counts[cell.Class]++
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
func cellOf(r *compare.ComparisonRow) cellData {
	c := cellData{Class: "none", Ours: "–"}
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
