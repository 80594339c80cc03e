package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TextTable is a table for people, printed as text or as Markdown. The first line has the headings. Columns that are
// empty below their heading are not printed.
type TextTable struct {
	Align string     // for each column l or r, left or right
	Gap   string     // separates the columns of a text
	Lines [][]string // each line has a cell for every column
}

// Text writes the table as text, the cells of a column padded to one width, without spaces at the ends of lines.
func (t TextTable) Text(b *strings.Builder) {
	t = t.withoutEmpty()
	widths := make([]int, len(t.Align))
	for _, line := range t.Lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range t.Lines {
		var text strings.Builder
		for i, cell := range line {
			width := widths[i]
			if t.Align[i] == 'l' {
				width = -width // padded on the right
			}
			fmt.Fprintf(&text, "%*s%s", width, cell, t.Gap)
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(text.String(), " "))
	}
}

// Within is Text in lines of at most so many columns, as far as it can be: if the table is wider, the cells of the
// columns below, in ascending order, stand under their lines, indented.
func (t TextTable) Within(b *strings.Builder, width int, below ...int) {
	var text strings.Builder
	t.Text(&text)
	if !slices.ContainsFunc(strings.Split(text.String(), "\n"), func(line string) bool {
		return utf8.RuneCountInString(line) > width
	}) {
		b.WriteString(text.String())
		return
	}
	narrow := TextTable{Align: t.Align, Gap: t.Gap}
	for _, j := range slices.Backward(below) {
		narrow.Align = narrow.Align[:j] + narrow.Align[j+1:]
	}
	for _, line := range t.Lines {
		line = slices.Clone(line)
		for _, j := range slices.Backward(below) {
			line = slices.Delete(line, j, j+1)
		}
		narrow.Lines = append(narrow.Lines, line)
	}
	text.Reset()
	narrow.Text(&text)
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		fmt.Fprintln(b, line)
		for _, j := range below {
			if cell := t.Lines[i][j]; i > 0 && cell != "" {
				fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(Wrap(cell, width-2), "\n", "\n  "))
			}
		}
	}
}

// Markdown writes the table as Markdown, with all cells escaped.
func (t TextTable) Markdown(b *strings.Builder) {
	t = t.withoutEmpty()
	for i, line := range t.Lines {
		cells := make([]string, len(line))
		for j, cell := range line {
			cells[j] = EscapeMarkdown(strings.TrimSpace(cell))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.NewReplacer("l", "---|", "r", "---:|").Replace(t.Align) + "\n")
		}
	}
}

// withoutEmpty returns the table without the columns that are empty below their heading.
func (t TextTable) withoutEmpty() TextTable {
	out := TextTable{Gap: t.Gap, Lines: make([][]string, len(t.Lines))}
	for j := range t.Align {
		filled := func(line []string) bool { return line[j] != "" }
		if len(t.Lines) > 1 && !slices.ContainsFunc(t.Lines[1:], filled) {
			continue
		}
		for i, line := range t.Lines {
			out.Lines[i] = append(out.Lines[i], line[j])
		}
		out.Align += t.Align[j : j+1]
	}
	return out
}

// EscapeMarkdown escapes the characters of a text that have a meaning in Markdown, and makes it one line.
func EscapeMarkdown(text string) string { return markdown.Replace(text) }

// markdown replaces each character that has a meaning in Markdown or HTML.
var markdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", "[", `\[`, "`", "\\`", "\r", " ", "\n", " ")

// Count returns a number with its noun: "1 seed", "10 seeds".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Thousands returns a number that is not negative with commas between its thousands: "50,000".
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// OneLine returns the words of a text with single spaces between them, without line breaks.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Wrap breaks the paragraphs of a text anew into lines of at most so many columns. An empty line ends a paragraph.
func Wrap(text string, width int) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n\n")
		}
		column := 0
		for word := range strings.FieldsSeq(paragraph) {
			n := utf8.RuneCountInString(word) // not bytes: help has characters such as τ
			switch {
			case column == 0:
			case column+1+n > width:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += n
		}
	}
	return b.String()
}
