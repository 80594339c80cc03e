package compare

import (
	"fmt"
	"io"
	"strings"

	"rollcall/results/files"
	"rollcall/results/metrics"
)

// ExportFormats are the formats [Grid.Write] knows.
func ExportFormats() []string { return []string{"csv", "markdown", "latex"} }

// Export says how a grid is written.
type Export struct {
	Format  string // one of [ExportFormats]
	Printed bool   // with the printed numbers beside ours
	Caption string // of the LaTeX table
	Label   string // likewise; empty: none
}

// ExportRow is one number of an exported table.
type ExportRow struct {
	Availability string         `csv:"availability"`
	Group        string         `csv:"group"` // preset or clients, where the table has several
	Method       string         `csv:"method"`
	Params       string         `csv:"params"` // of the method's own
	Data         string         `csv:"data"`
	Column       string         `csv:"column"` // what else tells columns apart
	Metric       metrics.Metric `csv:"metric"`
	Mean         files.Optional `csv:"mean"` // as fractions
	Std          files.Optional `csv:"std"`
	N            int            `csv:"n"`
	Status       string         `csv:"status"`
}

// PrintedRow is an [ExportRow] with the printed number.
type PrintedRow struct {
	ExportRow
	PaperMean files.Optional `csv:"paper_mean"`
	PaperStd  files.Optional `csv:"paper_std"`
	PaperN    int            `csv:"paper_n"`
}

// Write writes the grid as CSV (one number a line), as Markdown, or as a LaTeX table that needs the package booktabs.
// In the latter two the best mean of ours in every column of a group is bold; where several round to it, all are.
func (g Grid) Write(w io.Writer, e Export) error {
	if !e.Printed {
		g = g.pick(g.places(), isOurs)
	}
	switch e.Format {
	case "csv":
		rows := g.rows()
		if e.Printed {
			return files.WriteCSV(w, rows)
		}
		ours := make([]ExportRow, 0, len(rows))
		for _, r := range rows {
			if r.Status != "" { // ours has nothing here
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

func (g Grid) rows() (rows []PrintedRow) {
	for _, group := range g.Groups {
		for _, line := range group.Lines {
			for i, r := range line.Cells {
				if r == nil {
					continue
				}
				c := g.Columns[i]
				rows = append(rows, PrintedRow{
					ExportRow{
						group.Availability, group.Set, line.Method, line.Set, c.Data, c.Set, c.Metric, r.Mean, r.Std, r.N,
						r.Status,
					},
					r.PaperMean, r.PaperStd, r.PaperN,
				})
			}
		}
	}
	return rows
}

// best reports whether the number is the best of ours in its group and column, as printed.
func (group GridGroup) best(r *ComparisonRow, column int) bool {
	if r == nil || !r.Mean.Valid {
		return false
	}
	top, more := r, r.Metric.Info().More
	for _, line := range group.Lines {
		other := line.Cells[column]
		if other == nil || !other.Mean.Valid {
			continue
		}
		if better := other.Mean.Value > top.Mean.Value; better == more && other.Mean.Value != top.Mean.Value {
			top = other
		}
	}
	return top.Metric.Words(top.Mean, files.Optional{}, 0) == r.Metric.Words(r.Mean, files.Optional{}, 0)
}

// cells returns the numbers of a line, ours each before the printed one where those are wanted. set sets a number; the
// best ones of ours are bold.
func (group GridGroup) cells(l GridLine, printed bool, set func(text string, bold bool) string) (cells []string) {
	for i, r := range l.Cells {
		cells = append(cells, set(ourWords(r), group.best(r, i)))
		if printed {
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

// Head is the title of a column, without the data set.
func (c GridColumn) Head() string {
	if c.Set == "" {
		return c.Metric.Name()
	}
	return c.Set + ", " + c.Metric.Name()
}

func (g Grid) markdown(e Export) string {
	var b strings.Builder
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
		line(rule)
		for _, l := range group.Lines {
			line(append([]string{files.EscapeMarkdown(l.Label())}, group.cells(l, e.Printed, markdownNumber)...))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Name is the heading of a group.
func (group GridGroup) Name() string {
	if group.Set == "" {
		return group.Availability
	}
	return group.Availability + ", " + group.Set
}

func ourWords(r *ComparisonRow) string {
	if !isOurs(r) {
		return metrics.NoNumber
	}
	return r.Metric.Words(r.Mean, r.Std, r.N)
}

func paperWords(r *ComparisonRow) string {
	if r == nil {
		return metrics.NoNumber
	}
	return r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN)
}

// escapeLaTeX makes characters plain that LaTeX reads as its own.
var escapeLaTeX = strings.NewReplacer(
	`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`, "~",
	`\textasciitilde{}`, "^", `\textasciicircum{}`,
	"±", `$\pm$`, "–", "--", "γ", `$\gamma$`, "α", `$\alpha$`, "≥", `$\geq$`, "η", `$\eta$`, "β", `$\beta$`,
).Replace

// latexNumber sets a number that may have a ±.
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
			cells := append([]string{escapeLaTeX(l.Label())}, group.cells(l, e.Printed, latexNumber)...)
			fmt.Fprintf(&b, "%s \\\\\n", strings.Join(cells, " & "))
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table*}\n")
	return b.String()
}

// latexHead writes two or three lines of headings: data sets, metrics, and ours beside printed.
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
		head := escapeLaTeX(c.Head())
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
