package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// texTable is a grid as LaTeX sets it: either a block of lines for each group, or a column for each group.
type texTable struct {
	columns []texColumn
	blocks  []texBlock
	per     int // numbers of each column: 2 with the printed one
}

// texColumn has the headings of a column, as plain text: over neighbours of the same top, and its own, in lines.
type texColumn struct {
	top  string
	head []string
}

// texBlock has the lines below a heading; the heading may be empty.
type texBlock struct {
	name  string
	lines []texLine
}

// texLine is a method with its numbers.
type texLine struct {
	label []string // plain text; all but the first stand in lines of their own
	cells []texCell
}

// texCell is one number.
type texCell struct {
	tex string
	ems float64 // its width
}

// texSize is a size of type with the space on either side of a column.
type texSize struct {
	command        string
	em, separation float64 // in points, with Computer Modern at 10 points
}

// The sizes, from the largest; the last is taken if none is small enough.
var texSizes = []texSize{{`\small`, 9.25, 5}, {`\footnotesize`, 8.5, 4}, {`\scriptsize`, 8, 3}}

// Widths of text in points: a column of a conference with two, and its page.
const (
	texColumnWidth = 3.25 * 72.27
	texPageWidth   = 6.75 * 72.27
)

// Characters in a line of a method's label and of a heading.
const (
	texLabel   = 24
	texHeading = 14
)

// tallest is how many lines fit on a page below a caption.
const tallest = 50

// latex returns the grid as one LaTeX table. It is as wide as a column of a conference with two columns if it fits, and
// else as wide as the page, in the largest type with which it fits. LaTeX itself shrinks what is wider all the same. It
// needs the packages booktabs and graphicx.
//
// Groups stand one below the other; those of a single column stand side by side if they fit, as do those of a single
// metric that would not fit on a page.
func (g Grid) latex(e Export) string {
	rates := ""
	if g, rates = g.withoutRates(); rates != "" {
		e.say(rates)
	}
	t := g.texBlocks(&e)
	if len(g.Groups) > 1 && !e.Printed {
		across := g.texAcross(&e)
		narrow := len(g.Columns) == 1 && across.fits(texColumnWidth)
		if narrow || t.height() > tallest && len(g.metrics()) == 1 && across.fits(texPageWidth) {
			t = across
		}
	}
	return t.write(e)
}

// withoutRates returns the grid without the learning rates in the headings of methods that have one line in each group,
// and a sentence for the caption if there were any: in print they belong in the text.
func (g Grid) withoutRates() (out Grid, say string) {
	type place struct {
		group  int
		method string
	}
	lines := map[place]int{}
	several := map[string]bool{}
	var all []results.Params
	for i, group := range g.Groups {
		for _, l := range group.Lines {
			all = append(all, l.own)
			at := place{i, l.Method}
			lines[at]++
			several[l.Method] = several[l.Method] || lines[at] > 1
		}
	}
	out.Columns = g.Columns
	for _, group := range g.Groups {
		group.Lines = slices.Clone(group.Lines)
		for i := range group.Lines {
			l := &group.Lines[i]
			own := l.own.Without(results.Rates...)
			if several[l.Method] || !l.RatesVary && own == l.own {
				continue
			}
			l.Set, l.short, l.RatesVary = own.Words(" "), own.Short(" ", all...), false
			say = "Each method has its own learning rates."
		}
		out.Groups = append(out.Groups, group)
	}
	return out, say
}

// metrics returns the metrics of the grid, each once.
func (g Grid) metrics() []metrics.Metric {
	list, _ := results.Grouped(g.Columns, func(c GridColumn) metrics.Metric { return c.Metric })
	return list
}

// texBlocks lays the grid out with a block for each group.
func (g Grid) texBlocks(e *Export) texTable {
	t := texTable{per: 1}
	if e.Printed {
		t.per = 2
	}
	for _, c := range g.Columns {
		t.columns = append(t.columns, texColumn{papers.DataTitle(c.Data), g.texHead(c)})
	}
	for _, group := range g.Groups {
		block := texBlock{name: group.Name()}
		cells := g.texCells(group, e)
		for i, l := range group.Lines {
			block.lines = append(block.lines, texLine{shortLines(l.Label(), texLabel), cells[i]})
		}
		t.blocks = append(t.blocks, block)
	}
	return t
}

// texAcross lays the grid out with the groups side by side, below each data set.
func (g Grid) texAcross(e *Export) texTable {
	t, block := texTable{per: 1}, texBlock{}
	at := map[string]int{} // lines by their labels
	for i, group := range g.Groups {
		cells := g.texCells(group, e)
		met := map[string]int{} // lines of one label, which are told apart by their order
		for k, l := range group.Lines {
			met[l.Label()]++
			name := fmt.Sprintf("%s %d", l.Label(), met[l.Label()])
			line, known := at[name]
			if !known {
				line, at[name] = len(block.lines), len(block.lines)
				none := texCell{texNumber(metrics.NoNumber, NoStanding, ""), 0}
				cells := slices.Repeat([]texCell{none}, len(g.Columns)*len(g.Groups))
				block.lines = append(block.lines, texLine{shortLines(l.Label(), texLabel), cells})
			}
			for j := range g.Columns {
				block.lines[line].cells[j*len(g.Groups)+i] = cells[k][j]
			}
		}
	}
	for _, c := range g.Columns {
		for _, group := range g.Groups {
			head := slices.Concat(shortLines(group.Name(), texHeading), g.texHead(c))
			t.columns = append(t.columns, texColumn{papers.DataTitle(c.Data), head})
		}
	}
	t.blocks = []texBlock{block}
	return t
}

// texHead returns the lines of a column's own heading: its settings, its metric if the table has several, and its
// rounds if metrics have one name. The caption has the rest.
func (g Grid) texHead(c GridColumn) []string {
	list := g.metrics()
	lines := shortLines(c.Set, texHeading)
	if len(list) > 1 {
		lines = append(lines, shortLines(strings.ReplaceAll(c.Metric.Name(), "accuracy", "acc."), texHeading)...)
		names := 0 // metrics of the same name
		for _, m := range list {
			if m.Name() == c.Metric.Name() {
				names++
			}
		}
		if names > 1 {
			lines = append(lines, shortLines(c.Over, texHeading)...)
		}
	}
	return lines
}

// texCells returns the numbers of each line of a group.
func (g Grid) texCells(group GridGroup, e *Export) [][]texCell {
	return cellsOf(g, group, e, func(text string, s Standing, mark string) texCell {
		text = texShort.Replace(text)
		return texCell{texNumber(text, s, mark), ems(text + mark)}
	})
}

// height returns the lines of the table.
func (t *texTable) height() (n int) {
	for _, b := range t.blocks {
		for _, l := range b.lines {
			n += len(l.label)
		}
		n++
	}
	return n
}

// width returns the width of the table in points.
func (t *texTable) width(size texSize) float64 {
	widths := make([]float64, 1+t.per*len(t.columns))
	widest := func(column int, ems float64) { widths[column] = max(widths[column], ems) }
	widest(0, ems("method"))
	for _, b := range t.blocks {
		for _, l := range b.lines {
			for i, part := range l.label {
				widest(0, ems(part)+min(float64(i), 1)) // \quad is 1 em
			}
			for i, c := range l.cells {
				widest(1+i, c.ems)
			}
		}
	}
	for i, c := range t.columns {
		for k := range t.per {
			widest(1+t.per*i+k, widestOf(c.head)/float64(t.per))
		}
	}
	total := float64(2*len(widths)) * size.separation
	for _, w := range widths {
		total += w * size.em
	}
	return total
}

// fits reports whether the table is at most so many points wide in the second largest type.
func (t *texTable) fits(points float64) bool { return t.width(texSizes[1]) <= points }

// write returns the table's LaTeX.
func (t *texTable) write(e Export) string {
	environment, size := "table*", texSizes[len(texSizes)-1]
	wanted := texPageWidth
	if t.fits(texColumnWidth) {
		environment, wanted = "table", texColumnWidth
	}
	if i := slices.IndexFunc(texSizes, func(s texSize) bool { return t.width(s) <= wanted }); i >= 0 {
		size = texSizes[i]
	}
	var b strings.Builder
	b.WriteString("% needs \\usepackage{booktabs} and \\usepackage{graphicx}\n")
	fmt.Fprintf(&b, "\\begin{%s}[t]\n\\centering\n", environment)
	if e.Caption != "" {
		// Long words of settings and versions would stand out of a narrow column, and some classes leave no space below
		// a caption.
		fmt.Fprintf(&b, "\\emergencystretch=3em\n\\caption{%s}\n\\smallskip\n", EscapeLaTeX(e.Caption))
	}
	if e.Label != "" {
		fmt.Fprintf(&b, "\\label{%s}\n", e.Label)
	}
	fmt.Fprintf(&b, "%s\\setlength{\\tabcolsep}{%gpt}\n\\sbox0{%%\n\\begin{tabular}{l%s}\n\\toprule\n",
		size.command, size.separation, strings.Repeat("r", t.per*len(t.columns)))
	t.writeHead(&b)
	for i, block := range t.blocks {
		if i > 0 {
			b.WriteString("\\midrule\n")
		}
		if block.name != "" {
			fmt.Fprintf(&b, "\\multicolumn{%d}{l}{\\emph{%s}} \\\\\n", 1+t.per*len(t.columns), EscapeLaTeX(block.name))
		}
		for _, l := range block.lines {
			b.WriteString(EscapeLaTeX(l.label[0]))
			for _, c := range l.cells {
				b.WriteString(" & " + c.tex)
			}
			b.WriteString(" \\\\\n")
			for _, more := range l.label[1:] {
				fmt.Fprintf(&b, "\\quad %s \\\\\n", EscapeLaTeX(more))
			}
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}}\n" +
		"\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n")
	fmt.Fprintf(&b, "\\end{%s}\n", environment)
	return b.String()
}

// writeHead writes the headings: data sets, then the columns' own if there are any, then "ours" and "printed".
func (t *texTable) writeHead(b *strings.Builder) {
	own := slices.ContainsFunc(t.columns, func(c texColumn) bool { return len(c.head) > 0 })
	var rules []string
	tops := t.tops()
	first := "method"
	if own || t.per > 1 {
		first = ""
	}
	b.WriteString(first)
	last := 1
	for _, top := range tops {
		width := t.per * top.Over
		align := "c"
		if width == 1 {
			align = "r"
		}
		fmt.Fprintf(b, " & \\multicolumn{%d}{%s}{%s}", width, align, EscapeLaTeX(top.Name))
		rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", last+1, last+width))
		last += width
	}
	b.WriteString(" \\\\\n")
	if own || t.per > 1 {
		b.WriteString(strings.Join(rules, " ") + "\n")
	}
	if own {
		align := "c" // over two numbers
		if t.per == 1 {
			align = "r"
			b.WriteString("method")
		}
		for _, c := range t.columns {
			head := EscapeLaTeX(strings.Join(c.head, " "))
			if len(c.head) > 1 {
				head = `\shortstack[` + align + `]{`
				for _, line := range c.head {
					head += EscapeLaTeX(line) + `\\`
				}
				head = strings.TrimSuffix(head, `\\`) + "}"
			}
			if t.per > 1 {
				head = fmt.Sprintf("\\multicolumn{%d}{c}{%s}", t.per, head)
			}
			b.WriteString(" & " + head)
		}
		b.WriteString(" \\\\\n")
	}
	if t.per > 1 {
		b.WriteString("method" + strings.Repeat(" & ours & printed", len(t.columns)) + " \\\\\n")
	}
	b.WriteString("\\midrule\n")
}

// tops returns the headings over neighbouring columns.
func (t *texTable) tops() (tops []Span) {
	for i, c := range t.columns {
		if i > 0 && c.top == t.columns[i-1].top {
			tops[len(tops)-1].Over++
		} else {
			tops = append(tops, Span{c.top, 1})
		}
	}
	return tops
}

// shortLines breaks a text at spaces into lines of at most so many characters, or of one word.
func shortLines(text string, most int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && len([]rune(lines[last]))+1+len([]rune(word)) <= most {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// ems returns about how wide a text is in Computer Modern, a little too wide.
func ems(text string) (width float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune(" .,;:il|'()[]/", r):
			width += 0.34
		case 'A' <= r && r <= 'Z' || strings.ContainsRune("±%mw=", r):
			width += 0.78
		default:
			width += 0.53
		}
	}
	return width
}

// widestOf returns the width of the widest line.
func widestOf(lines []string) (widest float64) {
	for _, line := range lines {
		widest = max(widest, ems(line))
	}
	return widest
}

// texShort shortens what stands in place of a number: "not reached by 1 of 3 seeds".
var texShort = strings.NewReplacer("not reached by ", "not by ", " seeds", "", " seed", "")

// texNumber formats a number, or mean ± std, for LaTeX. Only the mean is set in bold, and a word such as "never" is no
// mathematics.
func texNumber(text string, s Standing, mark string) string {
	if text == metrics.NoNumber {
		return "--" + mark
	}
	mean, std, spread := strings.Cut(text, " ± ")
	mean = EscapeLaTeX(mean)
	if s == Best {
		mean = `\mathbf{` + mean + `}`
	}
	switch {
	case spread:
		mean = "$" + mean + ` \pm ` + std + "$"
	case s == Best || strings.Trim(mean, "0123456789.") == "":
		mean = "$" + mean + "$"
	}
	if s == NotTold {
		sign := `$^{\dagger}$`
		if mark == "" { // the sign stands beside the column, whose digits stay one below the other
			sign = `\rlap{` + sign + `}`
		}
		mean += sign
	}
	return mean + mark
}

// EscapeLaTeX returns a text, of one line, that LaTeX sets as it is. The characters that have a meaning in LaTeX, and
// those that pdfTeX's usual fonts lack, become commands; one for which there is none becomes its number, (U+65E5).
func EscapeLaTeX(text string) string {
	var b strings.Builder
	letters := []rune(files.OneLine(text))
	for i := 0; i < len(letters); i++ {
		r := letters[i]
		tex, math := texOf(r)
		if i+1 < len(letters) {
			if accent, is := texAccents[letters[i+1]]; is {
				tex = cmp.Or(tex, string(r))
				if math {
					tex = accent.math + "{" + tex + "}"
				} else {
					tex = accent.text + "{" + tex + "}"
				}
				i++
			}
		}
		switch {
		case math:
			tex = "$" + tex + "$"
		case tex == "-" && i > 0 && letters[i-1] == '-': // two hyphens would become a dash
			tex = "{}-"
		}
		b.WriteString(tex)
	}
	return b.String()
}

// texOf returns the LaTeX of one character, and whether it is a formula.
func texOf(r rune) (tex string, math bool) {
	if tex, is := texText[r]; is {
		return tex, false
	}
	if tex, is := texMath[r]; is {
		return tex, true
	}
	switch {
	case ' ' <= r && r <= '~', 0xC0 <= r && r <= 0x17F && !strings.ContainsRune(noTeXLetters, r):
		return string(r), false
	}
	return fmt.Sprintf("(U+%04X)", r), false // a bracket at the start of a line would be an option of the line before
}

// noTeXLetters are the letters of Latin-1 and Latin Extended-A that need other fonts than LaTeX's usual ones.
const noTeXLetters = "×÷ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ"

var texText = map[rune]string{
	'\\': `\textbackslash{}`, '&': `\&`, '%': `\%`, '$': `\$`, '#': `\#`, '_': `\_`, '{': `\{`, '}': `\}`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'|': `\textbar{}`, '"': `''`, '`': "\\`{}",
	'–': "--", '—': "---", '…': `\dots{}`, '‘': "`", '’': "'", '“': "``", '”': "''",
	'§': `\S{}`, '©': `\copyright{}`, '\u00a0': "~", '\u2009': `\,`, '\u202f': `\,`,
}

var texMath = map[rune]string{
	'±': `\pm`, '∓': `\mp`, '×': `\times`, '÷': `\div`, '·': `\cdot`, '−': `-`, '≤': `\leq`, '≥': `\geq`, '≠': `\neq`,
	'†': `\dagger`, '‡': `\ddagger`,
	'≈': `\approx`, '∝': `\propto`, '∈': `\in`, '∞': `\infty`, '√': `\surd`, '∑': `\sum`, '∏': `\prod`, '∂': `\partial`,
	'∇': `\nabla`, '∀': `\forall`, '∃': `\exists`, '⊙': `\odot`, '‖': `\|`, '¬': `\neg`, '°': `^{\circ}`, '′': `'`,
	'⌊': `\lfloor`, '⌋': `\rfloor`, '⌈': `\lceil`, '⌉': `\rceil`, '⟨': `\langle`, '⟩': `\rangle`,
	'←': `\leftarrow`, '→': `\rightarrow`, '↔': `\leftrightarrow`, '⇒': `\Rightarrow`,
	'½': `\frac{1}{2}`, '¼': `\frac{1}{4}`, '¾': `\frac{3}{4}`, '•': `\bullet`, 'µ': `\mu`, 'ℓ': `\ell`,
	'⁰': "^0", '¹': "^1", '²': "^2", '³': "^3", '⁴': "^4", '⁵': "^5", '⁶': "^6", '⁷': "^7", '⁸': "^8", '⁹': "^9",
	'⁺': "^+", '⁻': "^-", 'ⁿ': "^n", 'ᵗ': "^t", 'ᵀ': "^T", 'ª': `^a`, 'º': `^o`,
	'₀': "_0", '₁': "_1", '₂': "_2", '₃': "_3", '₄': "_4", '₅': "_5", '₆': "_6", '₇': "_7", '₈': "_8", '₉': "_9",
	'α': `\alpha`, 'β': `\beta`, 'γ': `\gamma`, 'δ': `\delta`, 'ε': `\varepsilon`, 'ζ': `\zeta`, 'η': `\eta`,
	'θ': `\theta`, 'ι': `\iota`, 'κ': `\kappa`, 'λ': `\lambda`, 'μ': `\mu`, 'ν': `\nu`, 'ξ': `\xi`, 'ο': "o",
	'π': `\pi`, 'ρ': `\rho`, 'σ': `\sigma`, 'ς': `\varsigma`, 'τ': `\tau`, 'υ': `\upsilon`, 'φ': `\varphi`,
	'χ': `\chi`, 'ψ': `\psi`, 'ω': `\omega`, 'ϕ': `\phi`, 'ϵ': `\epsilon`, 'ϑ': `\vartheta`,
	'Α': `\mathrm{A}`, 'Β': `\mathrm{B}`, 'Γ': `\Gamma`, 'Δ': `\Delta`, 'Ε': `\mathrm{E}`, 'Ζ': `\mathrm{Z}`,
	'Η': `\mathrm{H}`, 'Θ': `\Theta`, 'Ι': `\mathrm{I}`, 'Κ': `\mathrm{K}`, 'Λ': `\Lambda`, 'Μ': `\mathrm{M}`,
	'Ν': `\mathrm{N}`, 'Ξ': `\Xi`, 'Ο': `\mathrm{O}`, 'Π': `\Pi`, 'Ρ': `\mathrm{P}`, 'Σ': `\Sigma`, 'Τ': `\mathrm{T}`,
	'Υ': `\Upsilon`, 'Φ': `\Phi`, 'Χ': `\mathrm{X}`, 'Ψ': `\Psi`, 'Ω': `\Omega`,
}

// texAccents are the marks of Unicode that stand behind the character that they are above: κ̄.
var texAccents = map[rune]struct{ text, math string }{
	'\u0300': {"\\`", `\grave`}, '\u0301': {`\'`, `\acute`}, '\u0302': {`\^`, `\hat`}, '\u0303': {`\~`, `\tilde`},
	'\u0304': {`\=`, `\bar`}, '\u0305': {`\=`, `\bar`}, '\u0306': {`\u`, `\breve`}, '\u0307': {`\.`, `\dot`},
	'\u0308': {`\"`, `\ddot`}, '\u030c': {`\v`, `\check`},
}
