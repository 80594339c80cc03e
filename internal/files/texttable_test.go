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

func TestWrap(t *testing.T) {
	const text = "one two  three\nκλμν five\n\nsix-and-a-half seven"
	if got, want := Wrap(text, 9), "one two\nthree\nκλμν five\n\nsix-and-a-half\nseven"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A table that is too wide has its longest cells below its lines; another one stays as it is.
func TestWithin(t *testing.T) {
	table := TextTable{Align: "llr", Gap: "  ", Lines: [][]string{
		{"name", "set", "n"}, {"a", "one=1 two=2 three=3", "10"}, {"b", "", "2"},
	}}
	for width, want := range map[int]string{
		28: "name   n\na     10\n  one=1 two=2 three=3\nb      2\n",
		29: "name  set                   n\na     one=1 two=2 three=3  10\nb                           2\n",
		12: "name   n\na     10\n  one=1\n  two=2\n  three=3\nb      2\n",
	} {
		var b strings.Builder
		table.Within(&b, width, 1)
		if b.String() != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, b.String(), want)
		}
	}
}
