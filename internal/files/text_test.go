package files

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"rollcall/internal/must"
)

// utf16Text returns a text in UTF-16.
func utf16Text(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// What spreadsheets and editors save: a mark and CRLF are read, other encodings and separators are named.
func TestForeignText(t *testing.T) {
	type row struct {
		Name string  `csv:"name"`
		X    float64 `csv:"x"`
	}
	const plain = "name,x\né,0.5\n\"a\nb\",2\n"
	want := []row{{"é", 0.5}, {"a\nb", 2}}
	little, big := binary.LittleEndian, binary.BigEndian
	for _, c := range []struct{ name, text, want string }{
		{"plain", plain, ""},
		{"mark", "\ufeff" + plain, ""},
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n"), ""},
		{"mark, CRLF and a quoted name", "\ufeff\"name\",x\r\n" + strings.ReplaceAll(plain[7:], "\n", "\r\n"), ""},
		{"UTF-16", utf16Text("\ufeff"+plain, little), "line 1: UTF-16, want UTF-8"},
		{"UTF-16, the other order", utf16Text("\ufeff"+plain, big), "line 1: UTF-16, want UTF-8"},
		{"UTF-16 without a mark", utf16Text(plain, little), "line 1: a zero byte, as in UTF-16, want UTF-8"},
		{"the same, the other order", utf16Text(plain, big), "line 1: a zero byte, as in UTF-16, want UTF-8"},
		{"UTF-32", "\xff\xfe\x00\x00n\x00\x00\x00", "line 1: UTF-32, want UTF-8"},
		{"semicolons", "\ufeffname;x\r\na;0,5\r\n", "line 1: columns separated by semicolons, want commas"},
		{"tabs", "name\tx\na\t0.5\n", "line 1: columns separated by tabs, want commas"},
		{"CR alone", strings.ReplaceAll(plain, "\n", "\r"), "line 1: lines end with CR alone, want LF"},
		{"CR alone, quoted", "\ufeff\"name\",\"x\"\r\"a\",\"1\"\r", "line 1: lines end with CR alone, want LF"},
		{"CR in the header, then LF", "name,x\ra,1\nb,2\n", "line 1: lines end with CR alone, want LF"},
		{"empty rows at the end", plain + ",\n,\n", ""},
		{"empty rows of Windows", strings.ReplaceAll(plain+",\n\" \",\t\n", "\n", "\r\n"), ""},
		{"empty rows of more cells", plain + ",,,,\n\n,,,,\n", ""},
		{"empty row without a line break", plain + ",\n,", ""},
		{"empty rows above and between", ",\nname,x\n,\né,0.5\n,\n\"a\nb\",2\n", ""},
		{"one cell of a row is empty", plain + ",\nc,\n", `line 6: column x: ""`},
		{"a mark alone", "\ufeff", "empty, want the header name,x"},
		{"one byte", "n", `line 1: unknown column "n"`},
	} {
		path := filepath.Join(t.TempDir(), "f.csv")
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		rows, err := ReadCSVFile[row](path, MostTable)
		lenient, _, bad := ReadCSVFileLenient[row](path, MostTable)
		if c.want == "" {
			if err != nil || len(bad) > 0 || !slices.Equal(rows, want) || !slices.Equal(lenient, want) {
				t.Errorf("%s: %v, %v, lenient %v, %v, want %v", c.name, rows, err, lenient, bad, want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) ||
			len(bad) != 1 || !strings.Contains(bad[0].Error(), c.want) {
			t.Errorf("%s: %v, lenient %v, want %s", c.name, err, bad, c.want)
		}
		_, err = ReadText(path)
		if other := strings.Contains(c.want, "UTF"); other != errors.Is(err, ErrNotUTF8) || !other && err != nil {
			t.Errorf("%s: text: %v, want an error for UTF-16 and UTF-32 alone", c.name, err)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, name := range []string{"fedawe-2", "x", ""} {
		if got := DidYouMean(name, []string{"stationary", "sine"}); got != "" {
			t.Errorf("%q: %q, want nothing", name, got)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"sine", "sine", 0}, {"flaw", "lawn", 2}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
