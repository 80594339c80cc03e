package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"rollcall/results/compare"
)

// watchEvery is the time between two lists: short for people, long for a network folder of many runs. The help of
// --watch states it.
const watchEvery = 2 * time.Second

// watch lists the runs again and again until none is running, in place on a terminal, else whenever the list has
// changed. A dumb terminal, such as an editor's, does not know the codes that move the cursor, and counts as a file.
func (a *app) watch(ctx context.Context, l *lister) error {
	show := onChange(a.stdout) // writes the rows of one reading
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		show = inPlace(a.stdout, func() (columns, lines int) {
			columns, lines, err := term.GetSize(int(f.Fd()))
			if err != nil || columns < 1 || lines < 1 {
				return 80, 24 // a terminal that does not know its size
			}
			return columns, lines
		})
	}
	for {
		if err := l.read(ctx); err != nil {
			return err
		}
		rows := compare.ListRuns(l.runs, l.work)
		if err := show(rows); err != nil {
			return err
		}
		// A row names a process only while the process computes a run. Without any, the list would not change any more.
		if !slices.ContainsFunc(rows, func(r compare.ListRow) bool { return r.Process != "" }) {
			return a.complain("results list", l.bad)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery):
		}
	}
}

// onChange returns a function that writes a list if it differs from the last one. A log of lists stays short that way.
func onChange(w io.Writer) func(rows []compare.ListRow) error {
	last := "" // the text of the last list
	return func(rows []compare.ListRow) error {
		if len(rows) == 0 {
			return nil
		}
		var b strings.Builder
		if err := compare.WriteList(&b, rows); err != nil {
			return err
		}
		text := b.String()
		if text == last {
			return nil
		}
		if last != "" { // an empty line between two lists
			text = "\n" + text
		}
		last = b.String()
		_, err := io.WriteString(w, text)
		return err
	}
}

// inPlace returns a function that draws a list over the last one. The last column and the last line of the screen stay
// empty: a character there would make the terminal scroll.
func inPlace(w io.Writer, size func() (columns, lines int)) func(rows []compare.ListRow) error {
	return func(rows []compare.ListRow) error {
		columns, lines := size()
		const clear = "\x1b[H\x1b[J" // move to the upper left, clear what follows
		text := strings.Join(compare.ListOnScreen(rows, columns-1, lines-1), "\n")
		_, err := io.WriteString(w, clear+text+"\n")
		return err
	}
}
