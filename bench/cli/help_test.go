package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Help fits a window of helpWidth columns, whatever names and flags there are.
func TestHelpWidth(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if strings.HasPrefix(c.CommandPath(), "rollcall completion") {
			return // cobra's own
		}
		for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", c.CommandPath(), n, helpWidth, line)
			}
		}
	}
	walk(Root())
}

func TestWrapText(t *testing.T) {
	const text = "one two  three\nκλμν five\n\nsix-and-a-half seven"
	if got, want := wrapText(text, 9), "one two\nthree\nκλμν five\n\nsix-and-a-half\nseven"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
