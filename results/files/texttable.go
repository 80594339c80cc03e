package files

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// TextTable is lines of cells to be set in columns, as text or in Markdown. Its first line has the headings; columns
// with nothing below them are left out.
type TextTable struct {
	Align string     // l or r for each column
	Gap   string     // between the columns of a text
	Lines [][]string // each with a cell for every column
}

// Text writes the table with columns of equal width, in characters, and nothing at the ends of its lines.
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
				width = -width // blanks behind the cell
			}
			fmt.Fprintf(&text, "%*s%s", width, cell, t.Gap)
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(text.String(), " "))
	}
}

// Markdown writes the table in Markdown.
func (t TextTable) Markdown(b *strings.Builder) {
	t = t.withoutEmpty()
	for i, line := range t.Lines {
		cells := make([]string, len(line))
		for j, cell := range line {
			cells[j] = EscapeMarkdown(strings.TrimSpace(cell))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.NewReplacer("l", " --- |", "r", " ---: |").Replace(t.Align) + "\n")
		}
	}
}

// withoutEmpty drops the columns of which only the heading is there.
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

// EscapeMarkdown makes the characters that words for people may have and Markdown reads as its own plain.
func EscapeMarkdown(text string) string { return markdown.Replace(text) }

var markdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", "[", `\[`, "`", "\\`", "\r", " ", "\n", " ")

// OneLine joins the words of a text by single blanks.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
