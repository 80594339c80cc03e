package scoreboard

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// WriteMarkdown writes two tables: every table and figure of the documents, and what the papers say about them.
func WriteMarkdown(w io.Writer, rows []Result) error {
	var b strings.Builder
	items := files.TextTable{
		Align: "lllllll",
		Lines: [][]string{{"document", "item", "shows", "rollcall …", "run", "ours and the paper's", "verdict"}},
	}
	said := files.TextTable{
		Align: "lllll", Lines: [][]string{{"item", "the paper says", "where", "ours", ""}},
	}
	for i := range rows {
		r := &rows[i]
		items.Lines = append(items.Lines, []string{
			r.Document, r.Item + reading(r), r.Shows, r.Command, r.Run, r.String(), string(r.Verdict),
		})
		// The slides show figures of the journal paper again.
		again := slices.ContainsFunc(rows[:i], func(earlier Result) bool {
			return earlier.Command == r.Command && earlier.Reading == r.Reading
		})
		for _, c := range r.Says {
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
			said.Lines = append(said.Lines, []string{
				r.Document + ", " + r.Item + reading(r), c.Text(), c.Place, c.OursText(), answer,
			})
		}
	}
	items.Markdown(&b)
	b.WriteString("\nWhat the papers say about these in words and single numbers:\n\n")
	said.Markdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// reading returns the reading of a row for people, with a comma before it.
func reading(r *Result) string {
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
