package files

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// Printable returns a text in which nothing acts on a terminal or hides from the eye: control characters but line
// breaks and tabs, marks of direction and of width, and bytes that are no UTF-8 become \u001b and the like, as JSON
// writes them. Texts come from files, archives and servers, and whoever made these may have meant them to act.
func Printable(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\u00%02x`, text[i])
		case !hidden(r):
			b.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// hidden reports whether a character is none that a reader sees as it is.
func hidden(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsGraphic(r) }

// Printed returns a writer of texts that passes on what is [Printable] in them. All that people read goes through one:
// the program's output and log, and its pages.
func Printed(w io.Writer) io.Writer { return &printed{w: w} }

type printed struct {
	w    io.Writer
	lock sync.Mutex
	rest []byte // the beginning of a character, whose other bytes come with the next Write
}

func (p *printed) Write(text []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	whole := append(p.rest, text...)
	end := len(whole)
	for i := 1; i < utf8.UTFMax && i <= len(whole); i++ {
		if tail := whole[len(whole)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end = len(whole) - i
			}
			break
		}
	}
	p.rest = append([]byte(nil), whole[end:]...)
	if _, err := p.w.Write([]byte(Printable(string(whole[:end])))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Terminal returns the terminal that w writes to, for what is drawn on it by control characters, if there is one that
// knows these: the dumb terminal of an editor does not.
func Terminal(w io.Writer) (f *os.File, is bool) {
	if p, ok := w.(*printed); ok {
		w = p.w
	}
	f, is = w.(*os.File)
	return f, is && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// CSVText returns a text as the cell of a table that a spreadsheet opens: [Printable], and with an apostrophe before
// what a spreadsheet would compute, as a formula may run programs. [plain] undoes the latter.
func CSVText(cell string) string {
	cell = Printable(lineBreaks.Replace(cell))
	if _, err := strconv.ParseFloat(cell, 64); err != nil && computes(strings.TrimLeft(cell, "'")) {
		return "'" + cell
	}
	return cell
}

// plain returns the text of a cell that [CSVText] returned.
func plain(cell string) string {
	if text, quoted := strings.CutPrefix(cell, "'"); quoted && computes(strings.TrimLeft(text, "'")) {
		return text
	}
	return cell
}

// computes reports whether a spreadsheet may take a text for a formula. It takes none for a number in words, such as
// "+3.3 (1 seed)" or "-0.5 ± 0.1 points".
func computes(cell string) bool {
	return cell != "" && strings.ContainsRune("=+-@\t\n", rune(cell[0])) && !inWords.MatchString(cell)
}

var inWords = regexp.MustCompile(`^[+-]?[0-9.]+ [(±][^|!=@"&+*^]*$`)
