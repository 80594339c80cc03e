package report

import (
	"rollcall/results"
	"rollcall/results/papers"
)

// availability adds the figures that show how often clients are available, and when (FedAWE, figures 5 and 6).
func (b *builder) availability() {
	if len(b.Base) > 0 {
		b.add(figure{
			ID: "availability-base", section: "availability", Title: "How often clients are available",
			drawn: papers.FedAWEF5Figure(b.Base), csv: csvWriter(b.Base),
			Caption: "The clients' base availabilities p_i, as in FedAWE's figure 5. " + b.BaseOf,
		})
	}
	processes, paths := results.Grouped(b.Paths, func(r papers.FedAWEF6Row) string { return r.Availability })
	for _, process := range processes {
		rows := paths[process]
		drawn := papers.FedAWEF6Figure(rows)
		drawn.PanelHeight = 240
		b.add(figure{
			ID: "availability-" + process, section: "availability", Title: "When clients are available: " + process,
			Availability: process, drawn: drawn, csv: csvWriter(rows),
			Caption: "Left the probability p_i^t of three kinds of clients, right the active clients " +
				"in a draw of it, " +
				"as in FedAWE's figure 6. " + b.PathsOf,
		})
	}
}
