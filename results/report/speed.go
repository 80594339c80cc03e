package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/plot"
)

// speedRow is a [results.BenchRow] with its place in the figure.
type speedRow struct {
	Days   float64 `csv:"days"`   // since the first measurement
	Series string  `csv:"series"` // its line: the workload and the engine
	results.BenchRow
}

// speed adds a figure of the speed measurements over time.
func (b *builder) speed() {
	if len(b.Bench) == 0 {
		return
	}
	rows := slices.SortedStableFunc(slices.Values(b.Bench), func(x, y results.BenchRow) int {
		return x.Time.Compare(y.Time)
	})
	lines := plot.LineChart{
		XLabel: "days since " + rows[0].Time.Format("2006-01-02"), YLabel: "client-steps per second",
		YMin: files.Some(0),
	}
	var out []speedRow
	var devices []string
	for _, r := range rows {
		days := r.Time.Sub(rows[0].Time).Hours() / 24
		name := fmt.Sprintf("%s %s, %s %s, %s", r.Data, r.Net, r.Engine, r.Precision, files.Count(r.Threads, "thread"))
		out = append(out, speedRow{days, name, r})
		devices = append(devices, r.Device)
	}
	// Only measurements of the same workload, engine and threads are joined by a line.
	names, groups := results.Grouped(out, func(r speedRow) string { return r.Series })
	for _, name := range names {
		line := plot.Series{Name: name}
		for _, r := range groups[name] {
			line.X, line.Y = append(line.X, r.Days), append(line.Y, r.ClientStepsPerSec)
		}
		lines.Series = append(lines.Series, line)
	}
	b.add(figure{
		ID: "speed", section: "speed", Title: "Speed of this suite over time",
		drawn: plot.Figure{Title: "Speed", Panels: [][]plot.Chart{{lines}}}, csv: csvWriter(out),
		Caption: fmt.Sprintf(
			"%d measurements by rollcall bench, as they are in %s; lines are of one workload and engine. %s.",
			len(rows), results.BenchFile, strings.Join(files.Unique(devices), "; ")),
	})
}
