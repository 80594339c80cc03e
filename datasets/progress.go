package datasets

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// newProgress returns a writer that shows the progress of a download that has `have` of `total` bytes (−1: unknown).
// The caller writes the further bytes to it. It shows a bar if w is a terminal, lines on other writers, and nothing if
// w is nil.
func newProgress(w io.Writer, what string, have, total int64) io.WriteCloser {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return newBar(w, what, have, total)
	}
	if w == nil {
		w = io.Discard
	}
	return newLines(w, what, have, total)
}

// bar is a progress bar, a line that is drawn again and again. It ignores errors of drawing.
type bar struct {
	*progressbar.ProgressBar
	w io.Writer
}

// newBar returns a bar for a download that has `have` of `total` bytes.
func newBar(w io.Writer, what string, have, total int64) bar {
	b := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond))
	_ = b.Set64(have)
	return bar{b, w}
}

// Close ends the line of the bar, whether the download is complete or not.
func (b bar) Close() error {
	_ = b.Exit()
	_, err := fmt.Fprintln(b.w)
	return err
}

// lines shows progress as a line for every tenth of the file, or for every 16 MiB if the total is unknown.
type lines struct {
	w           io.Writer
	what        string
	have, total int64
	said        int64 // tenths, or steps of 16 MiB, up to the last line
}

// newLines writes the first line of a download that has `have` of `total` bytes.
func newLines(w io.Writer, what string, have, total int64) *lines {
	l := &lines{w: w, what: what, have: have, total: total}
	l.said = l.steps()
	fmt.Fprintf(w, "%s: downloading, %s\n", what, amount(have, total))
	return l
}

// Write counts the bytes, and writes a line when the next step is reached.
func (l *lines) Write(p []byte) (int, error) {
	l.have += int64(len(p))
	if s := l.steps(); s > l.said {
		l.said = s
		fmt.Fprintf(l.w, "%s: %s\n", l.what, amount(l.have, l.total))
	}
	return len(p), nil
}

// Close does nothing, as every line is complete.
func (l *lines) Close() error { return nil }

// steps returns the tenths of the file, or the steps of 16 MiB, that were received.
func (l *lines) steps() int64 {
	if l.total > 0 {
		return l.have * 10 / l.total
	}
	return l.have >> 24
}
