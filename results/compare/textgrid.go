package compare

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"rollcall/results"
)

// textTable writes lines of cells in columns, the first line being the headings. align has l or r for each column. Columns
// without content are left out.
func textTable(b *strings.Builder, lines [][]string, align string) {
	lines, align = withoutEmpty(lines, align)
	widths := make([]int, len(align))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], runes(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			if align[i] == 'r' {
				cell = strings.Repeat(" ", widths[i]-runes(cell)) + cell
			}
			text.WriteString(pad(cell, widths[i]) + results.TableGap)
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(text.String(), " "))
	}
}

// markdownTable writes the same in Markdown.
func markdownTable(b *strings.Builder, lines [][]string, align string) {
	lines, align = withoutEmpty(lines, align)
	for i, line := range lines {
		cells := make([]string, len(line))
		for j, cell := range line {
			cells[j] = escapeMarkdown(cell)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.NewReplacer("l", " --- |", "r", " ---: |").Replace(align) + "\n")
		}
	}
}

// withoutEmpty drops the columns of which only the heading is there.
func withoutEmpty(lines [][]string, align string) (kept [][]string, keptAlign string) {
	kept = make([][]string, len(lines))
	for j := range align {
		content := false
		for _, line := range lines[1:] {
			content = content || line[j] != ""
		}
		if !content && len(lines) > 1 {
			continue
		}
		for i, line := range lines {
			kept[i] = append(kept[i], line[j])
		}
		keptAlign += align[j : j+1]
	}
	return kept, keptAlign
}

// escapeMarkdown makes the characters that the words of a comparison may have and Markdown reads as its own plain.
var escapeMarkdown = strings.NewReplacer("|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", "[", `\[`, "`", "\\`", "\n", " ").Replace

func runes(s string) int { return utf8.RuneCountInString(s) }

// pad fills s with blanks to a width in characters.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(width-runes(s), 0)) }
