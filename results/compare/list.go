package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
)

// ListRow is one cell of one table in a list of runs.
type ListRow struct {
	Table string `csv:"table"`
	results.CellKey
	Seeds   string         `csv:"seeds"`       // separated by spaces
	Rounds  int            `csv:"rounds"`      // done by the seed with the fewest
	Most    int            `csv:"rounds_most"` // done by the seed with the most
	Status  string         `csv:"status"`
	Mark    string         `csv:"mark"`         // see [results.Cell]
	Folder  string         `csv:"folder"`       // of the cell
	Total   files.Optional `csv:"rounds_total"` // of a complete run; missing if unknown
	Process string         `csv:"process"`      // the processes that compute its runs, PID@HOST, separated by spaces

	statuses []results.RunStatus // one for each seed, in the order of Seeds
}

// Progress says how far an unfinished run is and which process computes it, from other files in its folder than the
// curve.
type Progress struct {
	Round   int    // done
	Rounds  int    // of the complete run; 0: unknown
	Process string // the process that computes it, PID@HOST; empty: no living process is known
}

// ListRuns returns a row for every cell of every table. work has the work on unfinished runs by folder; nil: none.
func ListRuns(runs []results.Run, work map[string]Progress) (rows []ListRow) {
	tables, byTable := results.ByTable(runs)
	for _, table := range tables {
		for _, c := range results.Cells(byTable[table], false) {
			rows = append(rows, listRow(table, &c, work))
		}
	}
	return rows
}

func listRow(table string, c *results.Cell, work map[string]Progress) ListRow {
	row := ListRow{
		Table: table, CellKey: c.CellKey, Mark: c.Mark, Folder: cellFolder(c.Runs[0].Dir),
		Rounds: roundsDone(&c.Runs[0], work),
	}
	var seeds, processes []string
	total := 0
	for i := range c.Runs {
		r := &c.Runs[i]
		seeds = append(seeds, fmt.Sprint(r.Seed))
		status := StatusOf(r, work)
		row.statuses = append(row.statuses, status)
		done := roundsDone(r, work)
		row.Rounds, row.Most, total = min(row.Rounds, done), max(row.Most, done), max(total, roundsInAll(r, work))
		if p := work[r.Dir].Process; p != "" && status == results.RunRunning && !slices.Contains(processes, p) {
			processes = append(processes, p)
		}
	}
	row.Seeds, row.Process = strings.Join(seeds, " "), strings.Join(processes, " ")
	row.Status = results.CommonStatus(row.statuses)
	if total > 0 {
		row.Total = files.Some(float64(total))
	}
	return row
}

// roundsDone returns how many rounds of a run are done, from its curve, its run.json or its work, whichever has most.
func roundsDone(r *results.Run, work map[string]Progress) int {
	done := work[r.Dir].Round
	if len(r.Curve) > 0 {
		done = max(done, r.Rounds())
	}
	if r.Info != nil && !r.Damaged {
		done = max(done, r.Info.Rounds)
	}
	return done
}

// roundsInAll returns how many rounds the complete run has; 0 if unknown.
func roundsInAll(r *results.Run, work map[string]Progress) int {
	// The params have the rounds only if they differ from the preset's. run.json always has them.
	text := r.Params.Get("rounds")
	if settings := r.Settings(); settings != nil {
		text = fmt.Sprint(settings["rounds"])
	}
	if rounds, err := strconv.Atoi(text); err == nil && rounds > 0 {
		return rounds
	}
	return work[r.Dir].Rounds
}

// StatusOf returns the status of a run. An interrupted or failed run is running if a process has resumed it.
func StatusOf(r *results.Run, work map[string]Progress) results.RunStatus {
	switch s := r.Status(); {
	case work[r.Dir].Process == "", s == results.RunComplete, s == results.RunDiverged, s == results.RunDamaged:
		return s
	}
	return results.RunRunning
}

// cellFolder returns the folder of a cell, given the folder of one of its seeds.
func cellFolder(dir string) string {
	if i := strings.LastIndexAny(dir, `/\`); i > 0 {
		return dir[:i]
	}
	return dir
}

// FailedRow is one run in a list of runs that ended badly.
type FailedRow struct {
	ListRow
	Error string `csv:"error"` // why the run ended
}

// ListFailed returns a row for every run that is neither complete nor running; why returns the reason for one run.
func ListFailed(runs []results.Run, work map[string]Progress, why func(*results.Run) string) (rows []FailedRow) {
	tables, byTable := results.ByTable(runs)
	for _, table := range tables {
		for _, c := range results.Cells(byTable[table], false) {
			for i := range c.Runs {
				one := c // the cell with this run alone
				one.Runs = c.Runs[i : i+1]
				if s := StatusOf(&c.Runs[i], work); s != results.RunComplete && s != results.RunRunning {
					rows = append(rows, FailedRow{listRow(table, &one, work), why(&c.Runs[i])})
				}
			}
		}
	}
	return rows
}

// WriteList writes the list as a table with a line for each row, and the settings under it where the lines would be
// wider than so many columns.
func WriteList(w io.Writer, rows []ListRow, width int) error {
	return writeTable(w, tableOfRuns(rows), width, listSettings)
}

// WriteFailed writes the list as a table with a line for each row, and the reason in the last column. Settings and
// reason are under the line where it would be wider than so many columns.
func WriteFailed(w io.Writer, rows []FailedRow, width int) error {
	plain := make([]ListRow, len(rows))
	for i := range rows {
		plain[i] = rows[i].ListRow
	}
	table := tableOfRuns(plain)
	table.Align += "l"
	for i := range table.Lines {
		cell := "error" // the heading, in the first line
		if i > 0 {
			cell = files.OneLine(rows[i-1].Error)
		}
		table.Lines[i] = append(table.Lines[i], cell)
	}
	return writeTable(w, table, width, listSettings, listError)
}

func writeTable(w io.Writer, table files.TextTable, width int, below ...int) error {
	var b strings.Builder
	table.Within(&b, width, below...)
	_, err := io.WriteString(w, b.String())
	return err
}

// The columns of [tableOfRuns].
const (
	listTable = iota
	listMethod
	listData
	listAvailability
	listSettings
	listSeeds
	listRounds
	listStatus
	listProcess
	listError // of a list of failed runs
)

// tableOfRuns returns a list as a table for people. It shows only the settings in which rows differ.
func tableOfRuns(rows []ListRow) files.TextTable {
	// Rows without a preset are unfinished runs without a curve, whose settings are unknown.
	known := slices.DeleteFunc(slices.Clone(rows), func(r ListRow) bool { return r.Preset == "" })
	params := func(r ListRow) results.Params { return r.Params }
	common, all := results.CommonParams(known, params), results.AllParams(known, params)
	presets := slices.ContainsFunc(known, func(r ListRow) bool { return r.Preset != known[0].Preset })
	clients := slices.ContainsFunc(known, func(r ListRow) bool { return r.Clients != known[0].Clients })
	alphas := slices.ContainsFunc(known, func(r ListRow) bool { return r.Alpha != known[0].Alpha })
	table := newTable("lllllrrll",
		"table", "method", "data", "availability", "settings", "seeds", "rounds", "status", "process")
	for _, r := range rows {
		var set []string
		if presets && r.Preset != "" {
			set = append(set, r.Preset)
		}
		if clients && r.Preset != "" {
			set = append(set, fmt.Sprintf("clients=%d", r.Clients))
		}
		if alphas && r.Alpha.Valid {
			set = append(set, "alpha="+r.Alpha.String())
		}
		if own := r.Params.Minus(common); own != "" {
			set = append(set, own.Short(" ", all...))
		}
		if r.Mark != "" {
			set = append(set, r.Mark)
		}
		table.Lines = append(table.Lines, []string{
			r.Table, r.Method, r.Data, r.Availability, strings.Join(set, " "), r.Seeds, r.rounds(), r.Status, r.Process,
		})
	}
	return table
}

// rounds returns how far the runs are: "120 … 340 of 2000".
func (r *ListRow) rounds() string {
	text := fmt.Sprint(r.Rounds)
	if r.Most > r.Rounds {
		text += fmt.Sprintf(" … %d", r.Most)
	}
	if r.Total.Valid && r.Total.Value > float64(r.Rounds) {
		text += " of " + r.Total.String()
	}
	return text
}

// WriteCell writes everything about one cell: its runs with their results, its settings and its folders.
func WriteCell(w io.Writer, c results.Cell) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(c.String()+" "+c.Mark))
	fmt.Fprintf(&b, "tables: %s; status: %s\n\n", strings.Join(c.Tables, ", "), c.Status())
	table := newTable("rrlrrrrrlll", "seed", "rounds", "status", "test acc %", "train acc %", "test loss", "train loss",
		"seconds", "engine", "device", "version")
	measured := []metrics.Metric{metrics.TestAcc, metrics.TrainAcc, metrics.TestLoss, metrics.TrainLoss}
	var rounds []int
	for i := range c.Runs {
		r := &c.Runs[i]
		line := []string{fmt.Sprint(r.Seed), fmt.Sprint(r.Rounds()), string(r.Status())}
		for _, m := range measured {
			line = append(line, m.Words(protocol.LastRounds(r.Curve, results.ProtocolRounds, m), files.Optional{}, 1))
		}
		rounds = append(rounds, r.Rounds())
		last := r.Curve[len(r.Curve)-1]
		seconds, engine := fmt.Sprintf("%.1f", last.ElapsedSec), last.Engine+" "+last.Precision
		table.Lines = append(table.Lines, append(line, seconds, engine, r.Device(), last.Version))
	}
	// The last line has the means over the seeds; with one seed it would only repeat the line above.
	if curves := c.Complete(); len(curves) > 1 {
		line := []string{"all", "", fmt.Sprintf("%d seeds", len(curves))}
		for _, m := range measured {
			e, err := protocol.OverSeeds(curves, results.ProtocolRounds, m)
			if err != nil { // not measured
				line = append(line, metrics.NoNumber)
				continue
			}
			line = append(line, m.Words(files.Some(e.Mean), e.Std, e.N))
		}
		table.Lines = append(table.Lines, append(line, "", "", "", ""))
	}
	table.Text(&b)
	text, why := metrics.TestAcc.Over(results.ProtocolRounds, rounds...) // as the other three
	fmt.Fprintf(&b, "\naccuracies and losses: %s\n", withCommas(text, why))
	b.WriteString("all: mean ± sample standard deviation over the complete seeds\n")
	if settings := c.Settings(); len(settings) > 0 {
		b.WriteString("\nsettings\n")
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			fmt.Fprintf(&b, "  %-22s %v\n", name, settings[name])
		}
	}
	if command := c.Command(); command != "" {
		fmt.Fprintf(&b, "\ncommand\n  %s\n\n", command)
	}
	for i := range c.Runs {
		fmt.Fprintf(&b, "%s\n", c.Runs[i].Dir)
		if info := c.Runs[i].Info; info != nil && info.Error != "" {
			fmt.Fprintf(&b, "  %s\n", files.OneLine(info.Error))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

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
	text := files.Count(len(statuses), "run")
	if len(statuses) > 0 {
		text += ": " + results.CommonStatus(statuses)
	}
	if len(processes) > 0 {
		text += "; at work: " + strings.Join(files.SortedSet(processes), ", ")
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
