package datasets

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// newProgress returns what shows how far a download is that has brought `have` of `total` bytes (−1: nobody knows) and
// whose further bytes are written to it: a bar on a terminal, lines on any other writer, and silence without one.
func newProgress(w io.Writer, what string, have, total int64) io.WriteCloser {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return newBar(w, what, have, total)
	}
	if w == nil {
		w = io.Discard
	}
	return newLines(w, what, have, total)
}

// bar is a line that is drawn again and again. What cannot be drawn is not drawn.
type bar struct {
	*progressbar.ProgressBar
	w io.Writer
}

func newBar(w io.Writer, what string, have, total int64) bar {
	b := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond))
	_ = b.Set64(have)
	return bar{b, w}
}

// Close ends the line, drawn to where it came.
func (b bar) Close() error {
	_ = b.Exit()
	_, err := fmt.Fprintln(b.w)
	return err
}

// lines is a line for every tenth, or for every 16 MiB where the total is unknown.
type lines struct {
	w           io.Writer
	what        string
	have, total int64
	said        int64 // tenths, or steps of 16 MiB
}

func newLines(w io.Writer, what string, have, total int64) *lines {
	l := &lines{w: w, what: what, have: have, total: total}
	l.said = l.steps()
	fmt.Fprintf(w, "%s: downloading, %s\n", what, amount(have, total))
	return l
}

func (l *lines) Write(p []byte) (int, error) {
	l.have += int64(len(p))
	if s := l.steps(); s > l.said {
		l.said = s
		fmt.Fprintf(l.w, "%s: %s\n", l.what, amount(l.have, l.total))
	}
	return len(p), nil
}

// Close does nothing: every line is whole.
func (l *lines) Close() error { return nil }

func (l *lines) steps() int64 {
	if l.total > 0 {
		return l.have * 10 / l.total
	}
	return l.have >> 24
}
