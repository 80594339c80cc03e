package scoreboard

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"rollcall/results/files"
)

// The lines of a page between which [Update] writes.
const (
	Begin = "<!-- rollcall results scoreboard -->"
	End   = "<!-- end of the scoreboard -->"
)

// WriteMarkdown writes two tables: every table and figure of the documents, and what the papers say about them.
func WriteMarkdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	items := files.TextTable{
		Align: "lllllll",
		Lines: [][]string{{"document", "item", "shows", "rollcall …", "run", "ours and the paper's", "verdict"}},
	}
	claims := files.TextTable{
		Align: "lllll", Lines: [][]string{{"item", "the paper says", "where", "ours", ""}},
	}
	for i := range rows {
		r := &rows[i]
		items.Lines = append(items.Lines, []string{
			r.Document, r.Item + reading(r), r.Shows, r.Command, r.Run, r.String(), string(r.Verdict),
		})
		// The slides show figures of the journal paper again.
		again := slices.ContainsFunc(rows[:i], func(earlier Row) bool {
			return earlier.Command == r.Command && earlier.Reading == r.Reading
		})
		for _, c := range r.Claims {
			if again {
				break
			}
			answer := string(c.Answer)
			switch {
			case r.Verdict == NotTried:
				answer = string(NotTried)
			case answer == "":
				answer = "not judged: " + r.Run
			}
			claims.Lines = append(claims.Lines, []string{
				r.Document + ", " + r.Item + reading(r), c.Says, c.Place, c.Ours, answer,
			})
		}
	}
	items.Markdown(&b)
	b.WriteString("\nWhat the papers say about these in words and single numbers:\n\n")
	claims.Markdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// reading returns the reading of a row for people, with a comma before it.
func reading(r *Row) string {
	if r.Reading == "" {
		return ""
	}
	return ", " + r.Reading
}

// String says what agrees and what does not: "20 numbers agree, 4 do not; 1 sentence holds".
func (t *Tally) String() string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(t.Agree, "number agrees", "numbers agree")
	add(t.Differ, "number differs", "numbers differ")
	add(t.NoSpread, "number without a spread", "numbers without a spread")
	add(t.Hold, "sentence holds", "sentences hold")
	add(t.Fail, "sentence does not hold", "sentences do not hold")
	add(t.Untold, "sentence cannot be told", "sentences cannot be told")
	add(t.NotJudged, "not judged", "not judged")
	return strings.Join(parts, ", ")
}

// Update writes the tables into a page, between its lines [Begin] and [End], and leaves the rest as it is.
func Update(page string, rows []Row) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("scoreboard: %w", err)
	}
	before, rest, begun := strings.Cut(string(text), Begin+"\n")
	_, after, ended := strings.Cut(rest, End+"\n")
	if !begun || !ended {
		return fmt.Errorf("scoreboard: %s: lacks the lines %q and %q, want both in this order", page, Begin, End)
	}
	var table bytes.Buffer
	if err := WriteMarkdown(&table, rows); err != nil {
		return err
	}
	return files.WriteFile(page, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s\n\n%s\n%s\n%s", before, Begin, table.String(), End, after)
		return err
	})
}
