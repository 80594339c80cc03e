package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// tables fills in the tables of the page, the papers' first.
func (d *pageData) tables(b *builder) {
	for _, id := range compare.SummaryTables(b.Numbers) {
		rows := slices.DeleteFunc(slices.Clone(b.Numbers), func(r results.SummaryRow) bool { return r.Table != id })
		known, _ := papers.TableByID(id) // the zero Table, without printed numbers, for a table of ours
		compare.SortSummary(id, rows)
		c := compare.Table(&known, rows)
		t := tableData{
			Grid: c.Grid(), ID: "table-" + slug(id), Title: id, Printed: len(known.Printed) > 0,
			Ours: compare.Caption(rows), Not: compare.NotCompared(&known, rows),
		}
		if id == "run" {
			t.Title = "Single runs"
		}
		if t.Printed {
			t.Title, t.Source, t.Summary = "Table "+id, known.Source, summary(c)
		}
		if by := b.madeFor(id); by != "" {
			t.Ours += ". " + by
		}
		d.Tables = append(d.Tables, t)
	}
}

// madeFor describes the seeds and the machines of the runs of a table.
func (b *builder) madeFor(table string) string {
	var runs []*results.Run
	for i := range b.Runs {
		if b.Runs[i].Table == table {
			runs = append(runs, &b.Runs[i])
		}
	}
	return madeBy(runs)
}

// summary counts the marks in a table, and the columns in which the methods have the paper's order.
func summary(c compare.Comparing) string {
	n := c.Counts()
	asPrinted, columns := c.Orders()
	text := fmt.Sprintf("%s compared with the printed ones: %d inside, %d near, %d away, %d unknown.",
		n.Compared(), n.Inside, n.Near, n.Away, n.Unknown)
	if not := n.NotCompared(); not != "" {
		text += " " + not + "."
	}
	text += fmt.Sprintf(" The methods come in the paper's order in %d of %d columns.", asPrinted, columns)
	if c.Left > 0 {
		text += fmt.Sprintf(" %d printed numbers are of columns that were not run.", c.Left)
	}
	return text
}

// Cell returns the texts of one number beside the paper's; the template calls it. A nil row is an empty cell.
func (t tableData) Cell(r *compare.ComparisonRow) cellData {
	c := cellData{Class: "none", Ours: "–"}
	if r == nil {
		return c
	}
	if r.Status != "" {
		c.Ours = r.Metric.Words(r.Mean, r.Std, r.N)
		if r.Status != string(results.CellOK) {
			c.Note = r.Status + ", " + files.Count(r.N, "seed")
		}
	}
	if r.PaperN > 0 {
		c.Paper = r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN)
	}
	// A cell that is not comparable gets a mark, and its own reason if that is not the table's, which stands above.
	if r.NotJudged != "" {
		c.Class, c.Mark = "apart", "not comparable"
		if r.NotJudged != t.Not && r.N > 0 {
			c.Mark += ": " + r.NotJudged
			c.Note = ""
		}
		return c
	}
	if !r.Difference.Valid {
		return c
	}
	c.Difference = strings.Replace(strings.TrimSpace(r.Metric.Difference(r.Difference)), "-", "−", 1)
	// Marks have a symbol and a word as well as a colour, for readers who cannot see the colour.
	switch place, side := r.Place(); {
	case place == compare.Inside:
		c.Class, c.Mark = "in", "✓ inside"
	case place == compare.Near && side > 0:
		c.Class, c.Mark = "near", "△ above, near"
	case place == compare.Near:
		c.Class, c.Mark = "near", "▽ below, near"
	case place == compare.Away && side > 0:
		c.Class, c.Mark = "above", "▲ above"
	case place == compare.Away:
		c.Class, c.Mark = "below", "▼ below"
	}
	return c
}
