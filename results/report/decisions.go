package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"rollcall/results"
	"rollcall/results/papers"
)

// mapRounds is the largest number of rounds in an inclusion map; more would not be readable.
const mapRounds = 200

// decisions adds the importance of clients (CA-Fed) for runs with decisions, and an inclusion map for each method that
// excluded an active client.
func (b *builder) decisions() {
	for _, f := range families(withFile(results.Cells(b.Runs, b.Mixed), results.DecisionsFile)) {
		slices.SortStableFunc(f.cells, func(x, y results.Cell) int { return b.place(x.Method) - b.place(y.Method) })
		title := f.title()
		var (
			used   []*results.Run
			shares []papers.CAFedImportanceRow
			groups []papers.CAFedGroupRow
		)
		for _, c := range f.cells {
			runs, _ := drawable(c)
			// Read the decisions of every run; a bad file is reported and left out, and the other runs are drawn.
			var seeds [][]results.DecisionRow
			var read []*results.Run
			for _, r := range runs {
				rows, err := results.ReadDecisions(filepath.Join(r.Dir, results.DecisionsFile))
				if err != nil {
					b.bad = append(b.bad, err)
					continue
				}
				if len(rows) > 0 {
					seeds, read = append(seeds, rows), append(read, r)
				}
			}
			if len(seeds) == 0 {
				continue
			}
			name := f.name(c)
			// One seed is enough for an inclusion map, and only methods that exclude clients need one.
			excluded := func(d results.DecisionRow) bool { return d.Active == 1 && d.Included == 0 }
			if slices.ContainsFunc(seeds[0], excluded) {
				b.inclusionMap(name, read[0], seeds[0])
			}
			s, errS := papers.CAFedImportanceRows(name, seeds)
			g, errG := papers.CAFedGroupRows(name, seeds)
			if err := cmp.Or(errS, errG); err != nil {
				b.bad = append(b.bad, err)
				continue
			}
			shares, groups, used = append(shares, s...), append(groups, g...), append(used, read...)
		}
		if len(used) == 0 {
			continue
		}
		about := f.made(used)
		b.add(figure{
			ID: "importance-" + title, section: "decisions", Title: "Importance by group of clients: " + title,
			drawn: papers.CAFedGroupFigure("Cumulative importance, "+title, groups), csv: csvWriter(groups), runs: used,
			Caption: "The weights with which a group's updates entered the model, summed over its clients, " +
				"mean over rounds and seeds. " + about,
		})
		b.add(figure{
			ID: "shares-" + title, section: "decisions", Title: "Importance of each client: " + title,
			drawn: papers.CAFedShareFigure("Importance of each client, "+title, shares), csv: csvWriter(shares),
			runs:    used,
			Caption: "Each client's share of all weights, and its target. " + about,
		})
	}
}

// inclusionMap adds a figure that shows which clients were active and which were included in the first rounds of a run.
func (b *builder) inclusionMap(name string, r *results.Run, decisions []results.DecisionRow) {
	rows := papers.CAFedActivityRows(decisions)
	note := ""
	drawn := slices.DeleteFunc(slices.Clone(rows), func(r papers.CAFedActivityRow) bool { return r.Round > mapRounds })
	if len(drawn) < len(rows) {
		note = fmt.Sprintf(" The first %d rounds; the CSV has all.", mapRounds)
	}
	title := fmt.Sprintf("%s, %s, %s", name, r.Data, r.Availability)
	b.add(figure{
		ID: "inclusion-" + title, section: "decisions", Title: "Available and included clients: " + title,
		drawn: papers.CAFedActivityFigure(title, drawn), csv: csvWriter(rows), runs: []*results.Run{r},
		Caption: "A line for each client, the most available on top." + note + " " + made([]*results.Run{r}),
	})
}

// withFile returns the cells with only those runs that have a file of this name.
func withFile(cells []results.Cell, name string) (left []results.Cell) {
	for _, c := range cells {
		c.Runs = slices.DeleteFunc(slices.Clone(c.Runs), func(r results.Run) bool {
			return !slices.Contains(r.Extra, name)
		})
		if len(c.Runs) > 0 {
			left = append(left, c)
		}
	}
	return left
}
