package compare

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/results"
)

// ListOnScreen returns a list as text for a terminal of the given size in characters. It begins with the number of runs
// and with what all rows share. Then come the rows: first the running cells, then unfinished ones, then complete ones.
func ListOnScreen(rows []ListRow, columns, lines int) []string {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b ListRow) int { return a.urgency() - b.urgency() })
	common, table := screenTable(rows)
	out := []string{screenSummary(rows)}
	if common != "" {
		out = append(out, common)
	}
	room := max(0, lines-len(out)-1) // lines below the headings
	left := len(rows) - room
	if left > 0 {
		left++ // the line that says how many rows are left takes the place of one more
		table.Lines = table.Lines[:1+max(0, room-1)]
	}
	shrink(&table, columns)
	var b strings.Builder
	table.Text(&b)
	out = append(out, strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...)
	if left > 0 {
		out = append(out, fmt.Sprintf("… %d more", min(left, len(rows))))
	}
	out = out[:min(len(out), max(0, lines))]
	for i, line := range out {
		out[i] = cut(printable(line), columns)
	}
	return out
}

// urgency returns the order of a row on the screen, the smallest first.
func (r *ListRow) urgency() int {
	switch {
	case slices.Contains(r.statuses, results.RunRunning):
		return 0
	case r.Status != string(results.RunComplete):
		return 1
	}
	return 2
}

// screenSummary returns the first line: the number of runs, their statuses, and the processes at work.
func screenSummary(rows []ListRow) string {
	var statuses []results.RunStatus
	var processes []string
	for _, r := range rows {
		statuses, processes = append(statuses, r.statuses...), append(processes, strings.Fields(r.Process)...)
	}
	slices.Sort(processes)
	text := files.Count(len(statuses), "run")
	if len(statuses) > 0 {
		text += ": " + results.CommonStatus(statuses)
	}
	if len(processes) > 0 {
		text += "; at work: " + strings.Join(slices.Compact(processes), ", ")
	}
	return text
}

// screenTable returns the table of a list without the processes, and without the table, data set and availability if
// all rows share them; these are in common instead.
func screenTable(rows []ListRow) (common string, table files.TextTable) {
	table = tableOfRuns(rows)
	var words []string
	blank := func(column int) {
		for i := range table.Lines {
			table.Lines[i][column] = ""
		}
	}
	for _, column := range []int{listTable, listData, listAvailability} {
		differs := slices.ContainsFunc(table.Lines[1:], func(line []string) bool {
			return line[column] != table.Lines[1][column]
		})
		if len(rows) > 0 && !differs {
			words = append(words, table.Lines[0][column]+" "+table.Lines[1][column])
			blank(column)
		}
	}
	blank(listProcess)
	return strings.Join(words, ", "), table
}

// narrow is the width in characters to which columns with names are shortened. Only settings may be left out.
const narrow = 8

// shrink shortens cells until the table fits into the columns of the screen, or cannot become narrower. It begins with
// the settings.
func shrink(t *files.TextTable, columns int) {
	t.Gap = "  "
	for j := range t.Align {
		if !slices.ContainsFunc(t.Lines[1:], func(line []string) bool { return line[j] != "" }) {
			t.Lines[0][j] = "" // the column is left out
		}
	}
	for _, step := range []struct{ column, least int }{
		{listSettings, narrow},
		{listSettings, 0},
		{listAvailability, narrow},
		{listTable, narrow},
		{listData, narrow},
		{listMethod, narrow},
		{listSeeds, narrow},
	} {
		total := -len(t.Gap)
		widths := make([]int, len(t.Align))
		for j := range widths {
			for _, line := range t.Lines {
				widths[j] = max(widths[j], utf8.RuneCountInString(line[j]))
			}
			if widths[j] > 0 {
				total += widths[j] + len(t.Gap)
			}
		}
		if total <= columns {
			return
		}
		width := max(step.least, widths[step.column]-(total-columns))
		for _, line := range t.Lines {
			line[step.column] = cut(line[step.column], width)
		}
	}
}

// cut returns a text with at most that many characters; the last one is … if the text was longer.
func cut(text string, characters int) string {
	if utf8.RuneCountInString(text) <= characters {
		return text
	}
	if characters < 1 {
		return ""
	}
	return string([]rune(text)[:characters-1]) + "…"
}

// printable replaces the control characters in a text, because a terminal would take them for commands.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, text)
}
