package scoreboard

import (
	"errors"
	"strings"
	"testing"
)

// Blocks are written anew, everything else stays, and a filled page can be filled again.
func TestFill(t *testing.T) {
	text := "# Title\n\n<!-- rollcall results scoreboard -->\nold\n" + BlockEnd +
		"\n\nBetween. <!-- a comment -->\n\n" +
		"<!-- rollcall results compare fedawe-2 out -->\n" + BlockEnd + "\nThe rest"
	want := "# Title\n\n<!-- rollcall results scoreboard -->\n\n[results scoreboard]\n\n" + BlockEnd +
		"\n\nBetween. <!-- a comment -->\n\n<!-- rollcall results compare fedawe-2 out -->\n\n" +
		"[results compare fedawe-2 out]\n\n" + BlockEnd + "\nThe rest"
	for range 2 {
		got, err := FillPage(text, func(words []string) (string, error) {
			return "[" + strings.Join(words, " ") + "]\n", nil
		})
		if err != nil || got != want {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
		}
		text = got
	}
}

// Every error says in which line it is.
func TestFillRefuses(t *testing.T) {
	const begin = "<!-- rollcall results scoreboard -->\n"
	for text, want := range map[string]string{
		"# Title\n":                        "no block",
		"# Title\n" + BlockEnd + "\n":      "line 2: \"" + BlockEnd + "\" without",
		begin + "old\n":                    "line 1: the block has no end",
		begin + begin + BlockEnd:           "line 2: a block starts in the block of line 1",
		"\n" + begin + BlockEnd + "\nrest": "line 2: no such folder",
	} {
		_, err := FillPage(text, func([]string) (string, error) {
			if want == "line 2: no such folder" {
				return "", errors.New("no such folder")
			}
			return "", nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
