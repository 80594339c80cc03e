package files

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/internal/must"
)

type fuzzed struct {
	Text  string   `csv:"text"`
	Other string   `csv:"other"`
	X     float64  `csv:"x"`
	Y     Optional `csv:"y"`
	N     int64    `csv:"n"`
}

// FuzzCSV: what is written is read back, line breaks aside, of which one kind is kept.
func FuzzCSV(f *testing.F) {
	f.Add("a", `b"c`, 0.1, int64(1), true)
	f.Add("\ufeff=cmd\r\n", "\r\r\n", math.Inf(1), int64(math.MinInt64), false)
	f.Add("", "", math.NaN(), int64(0), true)
	f.Fuzz(func(t *testing.T, text, other string, x float64, n int64, valid bool) {
		row := fuzzed{Text: text, Other: other, X: x, N: n, Y: Optional{Valid: valid}}
		if valid {
			row.Y.Value = x
		}
		var b bytes.Buffer
		must.OK(t, WriteCSV(&b, []fuzzed{row, row}))
		rows, err := ReadCSV[fuzzed](bytes.NewReader(b.Bytes()), "x.csv")
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows, %v of %q", len(rows), err, b.String())
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		got := rows[1]
		if got.Text != lineBreaks.Replace(text) || got.Other != lineBreaks.Replace(other) || got.N != n ||
			!same(got.X, x) || got.Y.Valid != valid || !same(got.Y.Value, row.Y.Value) {
			t.Errorf("got %+v, want %+v from %q", got, row, b.String())
		}
	})
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

// FuzzText: a line for each line, its columns under one another.
func FuzzText(f *testing.F) {
	f.Add("a", "héllo", "x y")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !utf8.ValidString(a + b + c) {
			return
		}
		var out strings.Builder
		TextTable{Align: "lrl", Gap: "  ", Lines: [][]string{{"x", "y", "z"}, {a, b, c + "!"}}}.Text(&out)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if strings.Contains(a+b+c, "\n") {
			return
		}
		if len(lines) != 2 || !strings.HasSuffix(lines[1], "!") {
			t.Errorf("%q, want two lines", out.String())
		}
	})
}
