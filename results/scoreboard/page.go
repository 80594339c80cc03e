package scoreboard

import (
	"fmt"
	"strings"
)

// BlockEnd is the line that ends a block of a page. A block begins with a line that has the command which writes it:
//
//	<!-- rollcall results scoreboard -->
//
//	what the command prints
//
//	<!-- end -->
const BlockEnd = "<!-- end -->"

// BlockCommand returns the words of the command, without its name, if a line begins a block; nil if it does not.
func BlockCommand(line string) []string {
	inside, begins := strings.CutPrefix(strings.TrimSpace(line), "<!-- rollcall ")
	inside, whole := strings.CutSuffix(inside, " -->")
	if !begins || !whole {
		return nil
	}
	return strings.Fields(inside)
}

// FillPage returns a page with its blocks written anew, so that its numbers are those of the files that the commands
// read, and everything else as it is. output returns what the command of a block prints.
func FillPage(text string, output func(words []string) (string, error)) (string, error) {
	var filled strings.Builder
	begun := 0 // the line of the block's beginning; 0: outside of a block
	blocks, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		words, ends := BlockCommand(line), strings.TrimSpace(line) == BlockEnd
		switch {
		case begun > 0 && words != nil:
			return "", fmt.Errorf("line %d: a block starts in the block of line %d, want %q first", n, begun, BlockEnd)
		case begun == 0 && ends:
			return "", fmt.Errorf("line %d: %q without a line <!-- rollcall … --> before it", n, BlockEnd)
		case words != nil:
			printed, err := output(words)
			if err != nil {
				return "", fmt.Errorf("line %d: %w", n, err)
			}
			filled.WriteString(line + "\n" + strings.TrimRight(printed, "\n") + "\n\n")
			begun, blocks = n, blocks+1
		case begun == 0 || ends:
			filled.WriteString(line)
			begun = 0
		}
	}
	switch {
	case begun > 0:
		return "", fmt.Errorf("line %d: the block has no end, want a line %q", begun, BlockEnd)
	case blocks == 0:
		return "", fmt.Errorf("no block, want lines <!-- rollcall results … --> and %s", BlockEnd)
	}
	return filled.String(), nil
}
