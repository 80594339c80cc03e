package files

import (
	"strings"
	"testing"
)

func TestTextTable(t *testing.T) {
	heading := []string{"name", "empty", "n", "why"}
	for _, c := range []struct {
		name           string
		lines          [][]string
		text, markdown string
	}{
		{"none", nil, "", ""},
		{
			"headings alone",
			[][]string{heading},
			"name  empty  n  why\n",
			"| name | empty | n | why |\n| --- | --- | ---: | --- |\n",
		},
		{
			"an empty column",
			[][]string{heading, {"α", "", "1", ""}, {"long_er", "", "1234", "a|b"}},
			"name        n  why\nα           1\nlong_er  1234  a|b\n",
			"| name | n | why |\n| --- | ---: | --- |\n| α | 1 |  |\n| long\\_er | 1234 | a\\|b |\n",
		},
	} {
		var text, markdown strings.Builder
		table := TextTable{Align: "llrl", Gap: "  ", Lines: c.lines}
		table.Text(&text)
		table.Markdown(&markdown)
		if got := text.String(); got != c.text {
			t.Errorf("%s: text\ngot  %q\nwant %q", c.name, got, c.text)
		}
		if got := markdown.String(); got != c.markdown {
			t.Errorf("%s: Markdown\ngot  %q\nwant %q", c.name, got, c.markdown)
		}
	}
}
