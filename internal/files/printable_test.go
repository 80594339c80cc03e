package files

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"rollcall/internal/must"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\tb\nc", "a\tb\nc"},
		{"0.5 ± 0.1 – γ 日本 é \u00a0 😀", "0.5 ± 0.1 – γ 日本 é \u00a0 😀"},
		{"\x1b[2J\x1b[31mPWN", `\u001b[2J\u001b[31mPWN`},
		{"a\rb\r\n", `a\u000db\u000d` + "\n"},
		{"\x00\a\b\x7f", `\u0000\u0007\u0008\u007f`},
		{"\u009b31m", `\u009b31m`},             // what ESC [ is in one character
		{"a\u202eb\u2066c", `a\u202eb\u2066c`}, // marks of direction
		{"\ufeffa\u200bb\u00ad", `\ufeffa\u200bb\u00ad`},
		{"\U000e0041", `\udb40\udc41`}, // a tag, which no font shows
		{"a\xffb\xc3", `a\u00ffb\u00c3`},
		{"\ufffd", "\ufffd"},
		{"", ""},
	} {
		if got := Printable(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// A writer gets texts in pieces, which may end within a character.
func TestPrinted(t *testing.T) {
	const text = "0.5 ± 0.1\x1b[31m 😀\u202e\xff end ±\n"
	var whole, bytewise bytes.Buffer
	must.Get(io.WriteString(Printed(&whole), text))(t)
	must.Get(io.Copy(struct{ io.Writer }{Printed(&bytewise)}, iotest.OneByteReader(strings.NewReader(text))))(t)
	if want := Printable(text); whole.String() != want || bytewise.String() != want {
		t.Errorf("%q at once, %q byte by byte, want %q", whole.String(), bytewise.String(), want)
	}
}

// A spreadsheet computes nothing in a cell, and a reader gets the text that was written.
func TestCSVText(t *testing.T) {
	for _, c := range []struct{ text, cell string }{
		{"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
		{"+1+1", "'+1+1"},
		{"@SUM(1)", "'@SUM(1)"},
		{"-2+3", "'-2+3"},
		{"\t=1", "'\t=1"},
		{"'=1", "''=1"},
		{"-0.5", "-0.5"}, // a number
		{"+1e-05", "+1e-05"},
		{"+3.33 (1 seed) after round 3", "+3.33 (1 seed) after round 3"},
		{"-0.5 ± 0.1 points", "-0.5 ± 0.1 points"},
		{`-1 (HYPERLINK("x"))`, `'-1 (HYPERLINK("x"))`},
		{"-2 (cmd|' /C calc'!A0)", "'-2 (cmd|' /C calc'!A0)"},
		{"'", "'"},
		{"it's = 1", "it's = 1"},
		{"lr=0.1;p=1", "lr=0.1;p=1"},
	} {
		got := CSVText(c.text)
		if got != c.cell || plain(got) != c.text {
			t.Errorf("%q: %q, read as %q, want %q", c.text, got, plain(got), c.cell)
		}
	}
}

// FuzzPrintable: nothing hidden is left, and what is printable stays.
func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[31m")
	f.Add("=\u202e'\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text)
		if strings.ContainsFunc(got, hidden) || !utf8.ValidString(got) || Printable(got) != got {
			t.Errorf("%q: %q", text, got)
		}
		if cell := CSVText(text); computes(cell) && plain(cell) != cell {
			t.Errorf("%q: cell %q", text, cell)
		} else if plain(cell) != Printable(lineBreaks.Replace(text)) {
			t.Errorf("%q: cell %q is read as %q", text, cell, plain(cell))
		}
	})
}
