package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rollcall/results/protocol"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
)

// ListRow is one cell of a list of runs.
type ListRow struct {
	Table string `csv:"table"`
	results.CellKey
	Seeds  string `csv:"seeds"`  // separated by blanks
	Rounds int    `csv:"rounds"` // done, of the seed with the fewest
	Most   int    `csv:"rounds_most"`
	Status string `csv:"status"`
	Mark   string `csv:"mark"`   // what sets its runs apart from others of the cell
	Folder string `csv:"folder"` // of the cell
}

// ListRuns makes a row of every cell of every table.
func ListRuns(runs []results.Run) (rows []ListRow) {
	tables, byTable := results.ByTable(runs)
	for _, table := range tables {
		for _, c := range results.Cells(byTable[table], false) {
			row := ListRow{
				Table: table, CellKey: c.CellKey, Status: c.Status(), Mark: c.Mark, Folder: cellFolder(c.Runs[0].Dir),
				Rounds: c.Runs[0].Rounds(),
			}
			var seeds []string
			for i := range c.Runs {
				seeds = append(seeds, fmt.Sprint(c.Runs[i].Seed))
				row.Rounds, row.Most = min(row.Rounds, c.Runs[i].Rounds()), max(row.Most, c.Runs[i].Rounds())
			}
			row.Seeds = strings.Join(seeds, " ")
			rows = append(rows, row)
		}
	}
	return rows
}

// cellFolder is the folder above that of a seed.
func cellFolder(dir string) string {
	if i := strings.LastIndexAny(dir, `/\`); i > 0 {
		return dir[:i]
	}
	return dir
}

// WriteList writes a line for each row.
func WriteList(w io.Writer, rows []ListRow) error {
	common := results.CommonParams(rows, func(r ListRow) results.Params { return r.Params })
	presets := slices.ContainsFunc(rows, func(r ListRow) bool { return r.Preset != rows[0].Preset })
	clients := slices.ContainsFunc(rows, func(r ListRow) bool { return r.Clients != rows[0].Clients })
	alphas := slices.ContainsFunc(rows, func(r ListRow) bool { return r.Alpha != rows[0].Alpha })
	table := newTable("lllllrrl", "table", "method", "data", "availability", "settings", "seeds", "rounds", "status")
	for _, r := range rows {
		var set []string
		if presets {
			set = append(set, r.Preset)
		}
		if clients {
			set = append(set, fmt.Sprintf("clients=%d", r.Clients))
		}
		if alphas && r.Alpha.Valid {
			set = append(set, "alpha="+r.Alpha.String())
		}
		if own := r.Params.Minus(common); own != "" {
			set = append(set, own.Words(" "))
		}
		if r.Mark != "" {
			set = append(set, r.Mark)
		}
		rounds := fmt.Sprint(r.Rounds)
		if r.Most > r.Rounds {
			rounds += fmt.Sprintf(" … %d", r.Most)
		}
		table.Lines = append(table.Lines,
			[]string{r.Table, r.Method, r.Data, r.Availability, strings.Join(set, " "), r.Seeds, rounds, r.Status})
	}
	var b strings.Builder
	table.Text(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCell writes what there is to know of one cell: its settings, and what each seed reached.
func WriteCell(w io.Writer, c results.RunCell) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(c.String()+" "+c.Mark))
	fmt.Fprintf(&b, "tables: %s; status: %s\n\n", strings.Join(c.Tables, ", "), c.Status())
	table := newTable("rrlrrrrrlll", "seed", "rounds", "status", "test acc %", "train acc %", "test loss", "train loss",
		"seconds", "engine", "device", "version")
	measured := []metrics.Metric{metrics.TestAcc, metrics.TrainAcc, metrics.TestLoss, metrics.TrainLoss}
	for i := range c.Runs {
		r := &c.Runs[i]
		line := []string{fmt.Sprint(r.Seed), fmt.Sprint(r.Rounds()), string(r.Status())}
		for _, m := range measured {
			line = append(line, m.Words(protocol.LastRounds(r.Curve, results.ProtocolRounds, m), files.Optional{}, 1))
		}
		last := r.Curve[len(r.Curve)-1]
		table.Lines = append(table.Lines,
			append(line, fmt.Sprintf("%.1f", last.ElapsedSec), last.Engine+" "+last.Precision, r.Device(), last.Version))
	}
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
	fmt.Fprintf(&b, "\nmeans over the evaluated rounds among the last %d; ", results.ProtocolRounds)
	b.WriteString("all: mean ± sample standard deviation over the complete seeds\n")
	if settings := c.Settings(); len(settings) > 0 {
		b.WriteString("\nsettings\n")
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			fmt.Fprintf(&b, "  %-22s %v\n", name, settings[name])
		}
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
