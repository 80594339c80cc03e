package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns a line of help has at most. Descriptions, lists of names and flags are written as they
// come in the source and wrapped here, so that the lists may grow.
const helpWidth = 100

// wrapHelp wraps the descriptions of a command and its subcommands, and the help of their flags. It leaves cobra's own
// commands alone, whose descriptions have lines of shell in them.
func wrapHelp(c *cobra.Command) {
	if c.Name() == "completion" {
		return
	}
	if !c.HasParent() {
		// Cobra's template does not wrap the help of flags, and has no setting for that.
		usages := fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)
		c.SetUsageTemplate(strings.ReplaceAll(c.UsageTemplate(), ".FlagUsages", usages)) // subcommands take it over
	}
	c.Long = wrapText(c.Long, helpWidth)
	for _, sub := range c.Commands() {
		wrapHelp(sub)
	}
}

// wrapText breaks the paragraphs of a text anew into lines of at most so many columns. An empty line ends a paragraph.
func wrapText(text string, width int) string {
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
