package nightly

import (
	"fmt"

	"rollcall/bench/run/conditions"
	"rollcall/internal/files"
	"rollcall/results/stats"
	"rollcall/results/track"
)

// Warnings returns a line for each reason not to trust a night of a machine: load before it, other users of the card,
// and wall times that differ too much.
func Warnings(m track.Machine, n track.Night) (lines []string) {
	add := func(line string) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	add(conditions.LoadWarning(n.Load, m.Threads))
	add(conditions.CardWarning(n.CardUsers))
	var worst string
	var p10, p90 files.Optional
	wide := 0 // metrics that differ too much
	for _, v := range n.Values {
		low, high := stats.Quantile(v.Wall, 0.1), stats.Quantile(v.Wall, 0.9)
		if conditions.SpreadWarning(v.Metric, low, high) == "" {
			continue
		}
		if wide++; wide == 1 || high.Value/low.Value > p90.Value/p10.Value {
			worst, p10, p90 = v.Metric, low, high
		}
	}
	what := "the wall times of " + worst
	if wide > 1 {
		what += fmt.Sprintf(", the worst of %d metrics,", wide)
	}
	add(conditions.SpreadWarning(what, p10, p90))
	return lines
}
