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
			"| name | empty | n | why |\n|---|---|---:|---|\n",
		},
		{
			"an empty column",
			[][]string{heading, {"α", "", "1", ""}, {"long_er", "", "1234", "a|b"}},
			"name        n  why\nα           1\nlong_er  1234  a|b\n",
			"| name | n | why |\n|---|---:|---|\n| α | 1 |  |\n| long\\_er | 1234 | a\\|b |\n",
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

// FuzzMarkdown: a line has as many cells as the table has columns, whatever is in them.
func FuzzMarkdown(f *testing.F) {
	f.Add("a|b", `c\|d`, "e\r\nf")
	f.Add(`\`, "`x`", "<script>")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if strings.TrimSpace(a+b+c) == "" {
			return
		}
		var out strings.Builder
		TextTable{Align: "lrl", Lines: [][]string{{"x", "y", "z"}, {"1" + a, "2" + b, "3" + c}}}.Markdown(&out)
		lines := strings.FieldsFunc(strings.TrimSuffix(out.String(), "\n"), func(r rune) bool {
			return r == '\n' || r == '\r'
		})
		if len(lines) != 3 {
			t.Fatalf("%d lines, want 3:\n%q", len(lines), out.String())
		}
		bars := 0
		for i := 0; i < len(lines[2]); i++ {
			switch lines[2][i] {
			case '\\':
				i++ // and what it makes plain
			case '|':
				bars++
			case '<', '`':
				t.Errorf("%q is not made plain in %q", lines[2][i], lines[2])
			}
		}
		if bars != 4 {
			t.Errorf("%d bars, want 4 in %q", bars, lines[2])
		}
	})
}
