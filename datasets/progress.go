package datasets

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a download is.
type progress interface {
	start(have, total int64) // total −1: unknown
	add(n int)
	close()
}

// newProgress returns a bar on a terminal, lines on any other writer, and silence without one.
func newProgress(w io.Writer, what string) progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bar{w: w, what: what}
	}
	if w == nil {
		w = io.Discard
	}
	return &lines{w: w, what: what}
}

// bar is a line that is drawn again and again.
type bar struct {
	w    io.Writer
	what string
	bar  *progressbar.ProgressBar
}

func (b *bar) start(have, total int64) {
	b.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(b.what), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond))
	_ = b.bar.Set64(have) // what cannot be drawn is not drawn
}

func (b *bar) add(n int) { _ = b.bar.Add(n) }

// close ends the line, drawn to where it came.
func (b *bar) close() {
	if b.bar != nil {
		_ = b.bar.Exit()
		fmt.Fprintln(b.w)
	}
}

// lines is a line for every tenth, or for every 16 MiB where the total is unknown.
type lines struct {
	w           io.Writer
	what        string
	have, total int64
	said        int64 // tenths, or steps of 16 MiB
}

func (l *lines) start(have, total int64) {
	l.have, l.total = have, total
	l.said = l.steps()
	fmt.Fprintf(l.w, "%s: downloading, %s\n", l.what, amount(have, total))
}

func (l *lines) add(n int) {
	l.have += int64(n)
	if s := l.steps(); s > l.said {
		l.said = s
		fmt.Fprintf(l.w, "%s: %s\n", l.what, amount(l.have, l.total))
	}
}

func (l *lines) close() {}

func (l *lines) steps() int64 {
	if l.total > 0 {
		return l.have * 10 / l.total
	}
	return l.have >> 24
}
