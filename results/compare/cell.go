package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
)

// WriteCell writes everything about one cell: its runs with their results, its settings and its folders.
func WriteCell(w io.Writer, c results.Cell) error {
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
