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

// Write writes the grid as CSV with one number on a line, as Markdown, or as a LaTeX table that needs the package
// booktabs. Markdown and LaTeX set our best mean in each column of a group in bold, and all means that round to it; a
// mean that lacks seeds, such as failed ones, is none of them, and their caption says how these seeds ended. With
// printed numbers, it also says which of our numbers are not comparable.
func (g Grid) Write(w io.Writer, e Export) error {
	if e.Printed {
		e.notCompared(g.cells())
	} else {
		g = g.pick(g.places(), isOurs)
	}
	e.missing(g.cells())
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

// best reports whether a number is our best one in its group and column, after rounding. A mean that lacks seeds may be
// large for that alone, and is left out.
func (group GridGroup) best(r *ComparisonRow, column int) bool {
	whole := func(r *ComparisonRow) bool {
		how, _ := r.missing()
		return isOurs(r) && r.Mean.Valid && how == ""
	}
	if !whole(r) || !r.Metric.IsJudged() {
		return false
	}
	top, more := r, r.Metric.Info().More // more: a larger number is better
	for _, line := range group.Lines {
		other := line.Cells[column]
		if !whole(other) {
			continue
		}
		if larger := other.Mean.Value > top.Mean.Value; larger == more && other.Mean.Value != top.Mean.Value {
			top = other
		}
	}
	// Means that print alike are equally good to the reader, so the printed texts are compared.
	return top.Metric.Words(top.Mean, files.Optional{}, 0) == r.Metric.Words(r.Mean, files.Optional{}, 0)
}

// cells returns the numbers of a line, each of ours followed by the printed one if e asks for it. The function set
// formats a number, in bold if it is our best.
func (group GridGroup) cells(l GridLine, e *Export, set func(text string, bold bool) string) (cells []string) {
	for i, r := range l.Cells {
		cells = append(cells, set(r.Ours(), group.best(r, i))+e.mark(r))
		if e.Printed {
			cells = append(cells, set(paperWords(r), false))
		}
	}
	return cells
}

func markdownNumber(text string, bold bool) string {
	if bold {
		return "**" + text + "**"
	}
	return text
}

// Head returns the heading of a column, without the data set, which has a heading of its own.
func (c GridColumn) Head() string { return withCommas(c.name(), c.Over) }

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
			head, rule = append(head, files.EscapeMarkdown(c.Data+", "+c.Head())), append(rule, "---:")
			if e.Printed {
				head, rule = append(head, "printed"), append(rule, "---:")
			}
		}
		line(head)
		fmt.Fprintf(&b, "|%s|\n", strings.Join(rule, "|"))
		for _, l := range group.Lines {
			line(append([]string{files.EscapeMarkdown(l.Label())}, group.cells(l, &e, markdownNumber)...))
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

// escapeLaTeX escapes the characters that have a meaning in LaTeX, and replaces symbols by commands.
var escapeLaTeX = strings.NewReplacer(
	`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`,
	"±", `$\pm$`, "–", "--", "γ", `$\gamma$`, "α", `$\alpha$`, "≥", `$\geq$`, "η", `$\eta$`, "β", `$\beta$`,
).Replace

// latexNumber formats a number, or mean ± std, for LaTeX. Only the mean is set in bold, and a word such as "never"
// is no mathematics.
func latexNumber(text string, bold bool) string {
	if text == metrics.NoNumber {
		return "--"
	}
	mean, std, spread := strings.Cut(text, " ± ")
	mean = escapeLaTeX(mean)
	if bold {
		mean = `\mathbf{` + mean + `}`
	}
	switch {
	case spread:
		return "$" + mean + ` \pm ` + std + "$"
	case bold || strings.Trim(mean, "0123456789.") == "":
		return "$" + mean + "$"
	}
	return mean
}

// latex returns the grid as one LaTeX table, with a heading above each group.
func (g Grid) latex(e Export) string {
	var b strings.Builder
	per := 1 // columns for each number
	if e.Printed {
		per = 2
	}
	fmt.Fprintf(&b, "%% needs \\usepackage{booktabs}\n\\begin{table*}[t]\n\\centering\n\\small\n")
	if e.Caption != "" {
		fmt.Fprintf(&b, "\\caption{%s}\n", escapeLaTeX(e.Caption))
	}
	if e.Label != "" {
		fmt.Fprintf(&b, "\\label{%s}\n", e.Label)
	}
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\toprule\n", strings.Repeat("r", per*len(g.Columns)))
	g.latexHead(&b, per)
	for i, group := range g.Groups {
		if i > 0 {
			b.WriteString("\\midrule\n")
		}
		fmt.Fprintf(&b, "\\multicolumn{%d}{l}{\\emph{%s}} \\\\\n", 1+per*len(g.Columns), escapeLaTeX(group.Name()))
		for _, l := range group.Lines {
			cells := append([]string{escapeLaTeX(l.Label())}, group.cells(l, &e, latexNumber)...)
			fmt.Fprintf(&b, "%s \\\\\n", strings.Join(cells, " & "))
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table*}\n")
	return b.String()
}

// shortLines breaks a text at spaces into lines of at most 20 characters, or of one word.
func shortLines(text string) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(word) <= 20 {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// latexHead writes the headings: data sets, then metrics, then "ours" and "printed" if per is 2.
func (g Grid) latexHead(b *strings.Builder, per int) {
	var rules []string
	last := 1
	for _, data := range g.Datas() {
		width := per * data.Over
		fmt.Fprintf(b, " & \\multicolumn{%d}{c}{%s}", width, escapeLaTeX(data.Name))
		rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", last+1, last+width))
		last += width
	}
	fmt.Fprintf(b, " \\\\\n%s\nmethod", strings.Join(rules, " "))
	for _, c := range g.Columns {
		head := escapeLaTeX(c.name())
		if c.Over != "" {
			lines := append(shortLines(c.name()), shortLines(c.Over)...)
			head = `\shortstack[r]{` + strings.ReplaceAll(escapeLaTeX(strings.Join(lines, "\n")), "\n", `\\`) + "}"
		}
		if per > 1 {
			head = fmt.Sprintf("\\multicolumn{%d}{c}{%s}", per, head)
		}
		fmt.Fprintf(b, " & %s", head)
	}
	b.WriteString(" \\\\\n")
	if per > 1 {
		b.WriteString(strings.Repeat(" & ours & printed", len(g.Columns)) + " \\\\\n")
	}
	b.WriteString("\\midrule\n")
}
