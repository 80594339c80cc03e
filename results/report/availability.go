package report

import (
	"slices"

	"rollcall/results/papers"
)

// availability adds how often clients are there, and when (FedAWE, figures 5 and 6).
func (b *builder) availability() {
	if len(b.Base) > 0 {
		b.add(figure{
			id: "availability-base", section: "availability", title: "How often clients are there",
			drawn: papers.FedAWEF5Figure(b.Base), csv: csvWriter(b.Base),
			caption: "The clients' base availabilities p_i, as in FedAWE's figure 5. " + b.BaseOf,
		})
	}
	var processes []string
	for _, r := range b.Paths {
		if !slices.Contains(processes, r.Availability) {
			processes = append(processes, r.Availability)
		}
	}
	for _, process := range processes {
		rows := slices.DeleteFunc(slices.Clone(b.Paths), func(r papers.FedAWEF6Row) bool { return r.Availability != process })
		drawn := papers.FedAWEF6Figure(rows)
		drawn.PanelHeight = 240
		b.add(figure{
			id: "availability-" + process, section: "availability", title: "When clients are there: " + process,
			availability: process, drawn: drawn, csv: csvWriter(rows),
			caption: "Left the probability p_i^t of three kinds of clients, right who is there in a draw of it, " +
				"as in FedAWE's figure 6. " + b.PathsOf,
		})
	}
}
