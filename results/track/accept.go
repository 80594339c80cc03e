package track

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
)

// Acceptance says that an event stays: its new speeds are as they should be.
type Acceptance struct {
	Time     string `csv:"time"` // RFC 3339
	ID       string `csv:"id"`   // of the event
	FirstRun string `csv:"first_run"`
	Metrics  string `csv:"metrics"` // those slower, with blanks between them
	Because  string `csv:"because"`
}

// acceptedSuffix ends the name of the file with a history's acceptances, which lies beside it.
const acceptedSuffix = ".accepted.csv"

// acceptedPath returns the path of the acceptances of a history.
func acceptedPath(history string) string { return strings.TrimSuffix(history, ".csv") + acceptedSuffix }

// ReadAcceptances reads the acceptances of a history. bad names bad rows.
func ReadAcceptances(history string) (all []Acceptance, bad []error) {
	all, _, bad = files.ReadCSVFileLenient[Acceptance](acceptedPath(history), files.MostText)
	if len(bad) == 1 && errors.Is(bad[0], fs.ErrNotExist) {
		return nil, nil
	}
	return all, bad
}

// Accept keeps an acceptance of an event of a history, in a file beside the history. Because must not be empty.
func Accept(h *History, f Finding, because string, now time.Time) (err error) {
	if because = strings.TrimSpace(files.OneLine(because)); because == "" {
		return errors.New("track: accept: no reason, want one")
	}
	path := acceptedPath(h.Path)
	var names []string
	for _, m := range f.Metrics {
		if m.worse {
			names = append(names, m.Metric)
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("track: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var text strings.Builder
	if err := files.WriteCSV(&text, []Acceptance{{
		now.UTC().Format(time.RFC3339), f.ID, f.FirstRun, strings.Join(names, " "), because,
	}}); err != nil {
		return err
	}
	lines := text.String()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("track: %w", err)
	}
	if size > 0 {
		_, lines, _ = strings.Cut(lines, "\n") // the header is there
	}
	if _, err := io.WriteString(file, lines); err != nil { // one write, which is appended whole
		return fmt.Errorf("track: %w", err)
	}
	return file.Sync()
}

// accepts reports whether an acceptance is of an event: it has its ID, or it has its first run and one of its metrics,
// since with another level or least effect the same event has another ID.
func (a Acceptance) accepts(f Finding) bool {
	return a.ID == f.ID || a.FirstRun == f.FirstRun && slices.ContainsFunc(f.Metrics, func(m Change) bool {
		return m.worse && slices.Contains(strings.Fields(a.Metrics), m.Metric)
	})
}
