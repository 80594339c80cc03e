package files

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotUTF8 is wrapped by the errors about a text in another encoding.
var ErrNotUTF8 = errors.New("want UTF-8")

// errCR says that a text has no line feed.
var errCR = errors.New("lines end with CR alone, want LF")

// byteOrderMark may begin a text in UTF-8: spreadsheets and editors on Windows put it there.
const byteOrderMark = "\ufeff"

// marks begin texts in other encodings. The longer ones come first.
var marks = []struct{ mark, encoding string }{
	{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
}

// Text returns a text without the byte order mark. It returns an error for UTF-16, as spreadsheets save "Unicode text".
func Text(text []byte) ([]byte, error) {
	for _, m := range marks {
		if bytes.HasPrefix(text, []byte(m.mark)) {
			return nil, fmt.Errorf("%s, %w", m.encoding, ErrNotUTF8)
		}
	}
	// Without a mark, a letter of ASCII has a zero byte before or after it.
	if len(text) > 1 && (text[0] == 0) != (text[1] == 0) {
		return nil, fmt.Errorf("a zero byte, as in UTF-16, %w", ErrNotUTF8)
	}
	return bytes.TrimPrefix(text, []byte(byteOrderMark)), nil
}

// ReadText reads a whole text of at most 64 MiB, without the byte order mark. Checksums are of all bytes of a file,
// which [ReadUpTo] returns.
func ReadText(path string) ([]byte, error) { return ReadTextUpTo(path, MostText) }

// ReadTextUpTo reads a whole text of at most so many bytes.
func ReadTextUpTo(path string, most int64) ([]byte, error) {
	text, err := ReadUpTo(path, most)
	if err != nil {
		return nil, err
	}
	if text, err = Text(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// CheckCommas returns an error for the header of a file whose columns other characters separate, as spreadsheets of
// some languages save CSV, or whose lines end with CR. Its numbers may have decimal commas, so that it is not read.
func CheckCommas(header []string) error {
	if slices.ContainsFunc(header, func(name string) bool { return strings.Contains(name, "\r") }) {
		return errCR
	}
	for _, c := range []struct{ separator, name string }{{";", "semicolons"}, {"\t", "tabs"}} {
		if len(header) == 1 && strings.Contains(header[0], c.separator) {
			return fmt.Errorf("columns separated by %s, want commas", c.name)
		}
	}
	return nil
}

// ShellQuoted returns a text as one word of a POSIX shell.
func ShellQuoted(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_=+./,:@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Listed joins texts as a sentence does, with a word before the last one: "a", "a and b", "a, b and c".
func Listed(texts []string, last string) string {
	n := len(texts) - 1
	if n < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:n], ", ") + " " + last + " " + texts[n]
}

// DidYouMean returns ", did you mean X" for the known name nearest to name; "" if none is near. A name is near if no
// more than half of its letters differ, or two of a short one.
func DidYouMean(name string, known []string) string {
	best, distance := "", 1+max(2, len(name)/2)
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best
}

// editDistance returns Levenshtein's distance: how many bytes to insert, delete or replace.
func editDistance(a, b string) int {
	// Before step i, row[j] is the distance of a[:i] and b[:j]. A step needs no other row of the table of all prefixes.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
