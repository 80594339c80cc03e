package compare

import (
	"fmt"
	"strings"

	"rollcall/results/metrics"
)

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

// latexHead writes the headings: data sets, then metrics, then "ours" and "printed" if per is 2.
func (g Grid) latexHead(b *strings.Builder, per int) {
	var rules []string
	last := 1
	// Each data set spans its columns, with a rule below its name.
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
