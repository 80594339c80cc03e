package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// ExportFormats returns the formats of [Grid.Write].
func ExportFormats() []string { return []string{"csv", "markdown", "latex"} }

// Export says how [Grid.Write] writes a grid.
type Export struct {
	Format  string // one of [ExportFormats]
	Printed bool   // writes the printed numbers beside ours
	Caption string // of the LaTeX table, or above the Markdown tables; empty: none
	Label   string // of the LaTeX table; empty: none

	below notes // the reasons why numbers are not compared, if there are several, and why they lack seeds
}

// say adds a sentence to the caption.
func (e *Export) say(sentence string) {
	if e.Caption != "" && !strings.ContainsAny(e.Caption[len(e.Caption)-1:], ".!?") {
		e.Caption += "."
	}
	e.Caption = strings.TrimSpace(e.Caption + " " + sentence)
}

// note returns the reference to a note with its text, "[1] text", if the note is new; otherwise "".
func (e *Export) note(text string) string {
	if slices.Contains(e.below, text) {
		return ""
	}
	return strings.TrimSpace(e.below.mark(text)) + " " + text
}

// notCompared adds to the caption which numbers are not compared with the printed ones, and why.
func (e *Export) notCompared(rows []*ComparisonRow) {
	why := alike(rows)
	if why == "" { // the reasons differ: each becomes a note, to which the numbers refer
		var each []string
		for _, r := range rows {
			if r.NotJudged == "" || r.N == 0 {
				continue
			}
			if note := e.note(r.NotJudged); note != "" {
				each = append(each, note)
			}
		}
		why = strings.Join(each, "; ")
	}
	if why != "" {
		e.say(notCompared(why))
	}
}

// missing adds a note to the caption for every way in which seeds of a number ended that its mean lacks.
func (e *Export) missing(rows []*ComparisonRow) {
	for _, r := range rows {
		how, why := r.missing()
		if how == "" {
			continue
		}
		if note := e.note(withReason(how, why)); note != "" {
			e.say(strings.TrimRight(note, ".") + ".")
		}
	}
}

// mark returns the references to the notes that say which seeds a number lacks, and why it is not compared; "" if there
// is none.
func (e *Export) mark(r *ComparisonRow) (marks string) {
	if r == nil {
		return ""
	}
	for _, note := range files.Unique([]string{withReason(r.missing()), r.NotJudged}) {
		if slices.Contains(e.below, note) {
			marks += e.below.mark(note)
		}
	}
	return marks
}

// ExportRow is one number of an exported table.
type ExportRow struct {
	Availability string         `csv:"availability"`
	Group        string         `csv:"group"` // preset and clients, if the table has several
	Method       string         `csv:"method"`
	Params       string         `csv:"params"` // settings of this line alone
	Data         string         `csv:"data"`
	Column       string         `csv:"column"` // settings that distinguish columns of one data set
	Metric       metrics.Metric `csv:"metric"`
	Over         string         `csv:"over"` // which rounds of the runs the metric is about; may be empty
	Mean         files.Optional `csv:"mean"` // as fractions
	Std          files.Optional `csv:"std"`
	N            int            `csv:"n"`       // seeds
	Reached      files.Optional `csv:"reached"` // of these, see [results.SummaryRow]
	Status       string         `csv:"status"`
	Label        string         `csv:"label"` // distinguishes rows of one cell; usually empty
	Preset       string         `csv:"preset"`
	Net          string         `csv:"net"`
	Clients      int            `csv:"clients"`
	Alpha        files.Optional `csv:"alpha"`
	Rounds       int            `csv:"rounds"` // 0: unknown
	Version      string         `csv:"version"`
	Numerics     string         `csv:"numerics"`
}

// PrintedRow is an [ExportRow] with the printed number.
type PrintedRow struct {
	ExportRow
	PaperMean files.Optional `csv:"paper_mean"`
	PaperStd  files.Optional `csv:"paper_std"`
	PaperN    int            `csv:"paper_n"`
	NotJudged string         `csv:"not_judged"` // why the two are not compared; empty if they are
}

// Write writes the grid as CSV with one number on a line, as Markdown, or as a LaTeX table, see [Grid.latex]. Markdown
// and LaTeX set our best means in bold and mark those that are not told from them, see [GridGroup.Standings]; the
// caption says so, and how the seeds ended that a mean lacks. With printed numbers, it also says which of our numbers
// are not comparable.
func (g Grid) Write(w io.Writer, e Export) error {
	if e.Printed {
		e.notCompared(g.numbers())
	} else {
		g = g.pick(g.places(), isOurs)
	}
	e.missing(g.numbers())
	if about := g.AboutStandings(); about != "" {
		e.say(about)
	}
	switch e.Format {
	case "csv":
		rows := g.rows()
		if e.Printed {
			return files.WriteCSV(w, rows)
		}
		ours := make([]ExportRow, 0, len(rows))
		for _, r := range rows {
			if r.Status != "" { // else the number is the paper's alone
				ours = append(ours, r.ExportRow)
			}
		}
		return files.WriteCSV(w, ours)
	case "markdown":
		_, err := io.WriteString(w, g.markdown(e))
		return err
	default:
		_, err := io.WriteString(w, g.latex(e))
		return err
	}
}

// rows returns the numbers of the grid line by line, for CSV.
func (g Grid) rows() (rows []PrintedRow) {
	for _, group := range g.Groups {
		for _, line := range group.Lines {
			for i, r := range line.Cells {
				if r == nil {
					continue
				}
				c := g.Columns[i]
				ours := r.ours
				if ours == nil { // a printed number alone, whose line leaves our columns empty
					ours = &results.SummaryRow{}
				}
				set := line.Set
				if line.RatesVary {
					set = strings.TrimSpace(set + " " + r.own.Only(results.Rates...).Words(" "))
				}
				rows = append(rows, PrintedRow{
					ExportRow{
						group.Availability, group.Set, line.Method, set, c.Data, c.Set,
						c.Metric, c.Over, r.Mean, r.Std, r.N, r.reached, r.Status, r.Label,
						ours.Preset, ours.Net, ours.Clients, ours.Alpha, r.Rounds, ours.Version, ours.Numerics,
					},
					r.PaperMean, r.PaperStd, r.PaperN, r.NotJudged,
				})
			}
		}
	}
	return rows
}

// cellsOf returns the numbers of each line of a group, ours followed by the printed one if e asks for it. The function
// set formats a number with its standing; behind it stands a mark that refers to notes, which may be empty.
func cellsOf[T any](
	g Grid, group GridGroup, e *Export, set func(text string, s Standing, mark string) T,
) [][]T {
	cells := make([][]T, len(group.Lines))
	for column := range g.Columns {
		standings := group.Standings(column)
		for i, l := range group.Lines {
			r := l.Cells[column]
			cells[i] = append(cells[i], set(r.Ours(), standings[i], e.mark(r)))
			if e.Printed {
				cells[i] = append(cells[i], set(paperWords(r), NoStanding, ""))
			}
		}
	}
	return cells
}

func markdownNumber(text string, s Standing, mark string) string {
	switch s {
	case Best:
		text = "**" + text + "**"
	case NotTold:
		text += " " + notToldMark
	}
	return text + mark
}

// Head returns the heading of a column, without the data set, which has a heading of its own.
func (c GridColumn) Head() string { return withCommas(c.name(), c.Over) }

// Heads returns the headings of the columns, with the rounds only if these differ: a caption says what all share.
func (g Grid) Heads() (heads []string) {
	differ := slices.ContainsFunc(g.Columns, func(c GridColumn) bool { return c.Over != g.Columns[0].Over })
	for _, c := range g.Columns {
		if differ {
			heads = append(heads, c.Head())
		} else {
			heads = append(heads, c.name())
		}
	}
	return heads
}

// name returns the heading without the rounds.
func (c GridColumn) name() string { return withCommas(c.Set, c.Metric.Name()) }

func (g Grid) markdown(e Export) string {
	var b strings.Builder
	if e.Caption != "" {
		fmt.Fprintf(&b, "%s\n\n", files.EscapeMarkdown(e.Caption))
	}
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	for _, group := range g.Groups {
		fmt.Fprintf(&b, "**%s**\n\n", files.EscapeMarkdown(group.Name()))
		head, rule := []string{"method"}, []string{"---"}
		for _, c := range g.Columns {
			title := papers.DataTitle(c.Data) + ", " + c.Head()
			head, rule = append(head, files.EscapeMarkdown(title)), append(rule, "---:")
			if e.Printed {
				head, rule = append(head, "printed"), append(rule, "---:")
			}
		}
		line(head)
		fmt.Fprintf(&b, "|%s|\n", strings.Join(rule, "|"))
		numbers := cellsOf(g, group, &e, markdownNumber)
		for i, l := range group.Lines {
			line(append([]string{files.EscapeMarkdown(l.Label())}, numbers[i]...))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Name returns the heading of a group.
func (group GridGroup) Name() string {
	if group.Set == "" {
		return group.Availability
	}
	return group.Availability + ", " + group.Set
}

// Ours returns our number as text; [metrics.NoNumber] if there is none.
func (r *ComparisonRow) Ours() string {
	if !isOurs(r) {
		return metrics.NoNumber
	}
	return cmp.Or(r.notReached(), r.Metric.Words(r.Mean, r.Std, r.N))
}

// notReached says how many of our seeds do not reach the accuracy of the metric; empty if all do.
func (r *ComparisonRow) notReached() string {
	if left := r.N - int(r.reached.Value); r.reached.Valid && left > 0 {
		return fmt.Sprintf("not reached by %d of %s", left, files.Count(r.N, "seed"))
	}
	return ""
}

// paperWords returns the printed number as text.
func paperWords(r *ComparisonRow) string {
	if r == nil {
		return metrics.NoNumber
	}
	return r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN)
}
