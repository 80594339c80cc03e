package papers

import (
	"fmt"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// fedarF1 trains five clients, with client 0 away in the last 0 to 6 rounds, and shows the Shapley value of each
// client.
var fedarF1 = Figure{
	ID: "fedar-f1", Title: "FedAR, Figure 1: contribution of a client whose update is stale, CIFAR-10",
	Measure: Coalitions{MostStale: 6}, Runs: runs(fiveClients(), "mifa"), Preset: "paper", Seeds: fedarSeeds, Rounds: 9,
	Draw: func(m Measured) (Drawing, error) {
		rows, err := fedarShapleyRows(m)
		if err != nil {
			return Drawing{}, err
		}
		d := drawing(rows, fedarShapleyFigure(m.Figure.Title, rows))
		d.Words = fmt.Sprintf("share of client 0: %s\n", strings.Join(shapleyWords(rows), ", "))
		return d, nil
	},
	Says: []Sentence[Measured]{
		{"the contribution of client 0 falls with every round that it is away", fedarMotivation, staleFalls},
		{"a stale update still contributes at stale 1 … 5", fedarMotivation, shapleyIs(Holds, 1, 5)},
		{"the contribution of client 0 is negative at stale 6", fedarMotivation, shapleyIs(Fails, 6, 6)},
	},
}

// fedarMotivation is where FedAR speaks of figure 1.
const fedarMotivation = "3.2"

// staleValues returns the Shapley values of client 0 by staleness [stale][seeds], those of a fresh update first.
func staleValues(m Measured) (values [][]float64) {
	rows, err := fedarShapleyRows(m)
	if err != nil {
		return nil
	}
	for _, l := range shapleyLevels(rows) {
		values = append(values, l.own)
	}
	return values
}

// staleFalls asks whether the Shapley value of client 0 is smaller at every further round of staleness.
func staleFalls(m Measured) (Answer, string) {
	values := staleValues(m)
	return fall(values), valueWords(values, 0)
}

// shapleyIs returns a question: is the Shapley value of client 0 above 0 (if want is [Holds]) or below 0 (if it is
// [Fails]) at every staleness of these?
func shapleyIs(want Answer, from, to int) func(m Measured) (Answer, string) {
	return func(m Measured) (Answer, string) {
		values := staleValues(m)
		if len(values) <= to {
			return Untold, ""
		}
		var parts []Answer
		for _, own := range values[from : to+1] {
			d := stats.EstimateOf(own)
			if want == Fails {
				d.Mean = -d.Mean
			}
			parts = append(parts, isAhead(d))
		}
		return allOf(parts), valueWords(values[from:to+1], from)
	}
}

// valueWords returns the mean Shapley values, the first of which is at the staleness from.
func valueWords(values [][]float64, from int) string {
	var words []string
	for i, own := range values {
		d := stats.EstimateOf(own)
		d.Mean *= 100
		d.Std.Value *= 100
		words = append(words, fmt.Sprintf("stale %d: %s points", from+i, pointsOf(d)))
	}
	return strings.Join(words, ", ")
}

// fiveClients returns the column of section 3.2's experiment with five clients. The paper prints neither split nor
// local steps. Here each client has two classes, so that the five clients have all ten, and a round is one epoch
// [inferred].
func fiveClients() Column {
	c := fedar("cifar10")
	c.Base = c.Base.And("clients=5", "p-min=1", "local-epochs=1")
	return c
}

// fedarShapleyRow is the contribution of one client at one level of staleness, for one seed (FedAR, figure 1).
type fedarShapleyRow struct {
	Stale   int            `csv:"stale"` // number of last rounds in which client 0 is away; 0: its update is fresh
	Seed    uint32         `csv:"seed"`
	Client  int            `csv:"client"`
	Shapley float64        `csv:"shapley"`       // Shapley value of the test accuracy, a fraction
	Share   files.Optional `csv:"share"`         // of the sum over the clients; missing if that is 0
	Without float64        `csv:"test_acc_none"` // test accuracy of the model of no client, a fraction
	With    float64        `csv:"test_acc_all"`  // test accuracy of the model of all clients, a fraction
}

// fedarShapleyRows returns the rows of every level of staleness and seed, client by client.
func fedarShapleyRows(m Measured) (rows []fedarShapleyRow, err error) {
	for _, c := range m.Coalitions {
		phi, err := stats.Shapley(c.Accuracies)
		if err != nil {
			return nil, err
		}
		none, all := c.Accuracies[0], c.Accuracies[len(c.Accuracies)-1]
		for i, v := range phi {
			row := fedarShapleyRow{Stale: c.Stale, Seed: c.Seed, Client: i, Shapley: v, Without: none, With: all}
			if sum := all - none; sum != 0 {
				row.Share = files.Some(v / sum)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// fedarShapleyFigure draws two charts against the staleness: the Shapley value of client 0 beside the mean of the other
// clients, in percentage points of test accuracy with a band over the seeds, and the share of client 0. The share is
// computed from the means over the seeds, because the share of one seed means little if its clients add almost nothing.
func fedarShapleyFigure(title string, rows []fedarShapleyRow) plot.Figure {
	values := plot.LineChart{XLabel: "rounds client 0 is away", YLabel: "Shapley value (points of test accuracy)"}
	shares := plot.LineChart{XLabel: "rounds client 0 is away", YLabel: "share of all clients' (%)"}
	stale, others := plot.Series{Name: "client 0"}, plot.Series{Name: "mean of the others"}
	share := plot.Series{Name: "client 0"}
	for _, l := range shapleyLevels(rows) {
		mean := stats.Mean(l.own)
		stale.AddPoint(l.stale, mean, stats.SampleStd(l.own), 100)
		others.AddPoint(l.stale, stats.Mean(l.rest), files.Optional{}, 100)
		if l.total != 0 {
			share.AddPoint(l.stale, files.Some(mean.Value*float64(len(l.own))/l.total), files.Optional{}, 100)
		}
	}
	values.Series, shares.Series = []plot.Series{stale, others}, []plot.Series{share}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{values, shares}}}
}

// shapleyLevel has the Shapley values of all seeds at one level of staleness.
type shapleyLevel struct {
	stale     int
	own, rest []float64 // of client 0, and of the other clients
	total     float64   // the sum of all
}

// shapleyLevels groups the rows by level of staleness.
func shapleyLevels(rows []fedarShapleyRow) (levels []shapleyLevel) {
	stales, groups := results.Grouped(rows, func(r fedarShapleyRow) int { return r.Stale })
	for _, stale := range stales {
		l := shapleyLevel{stale: stale}
		for _, r := range groups[stale] {
			if r.Client == 0 {
				l.own = append(l.own, r.Shapley)
			} else {
				l.rest = append(l.rest, r.Shapley)
			}
			l.total += r.Shapley
		}
		levels = append(levels, l)
	}
	return levels
}

// shapleyWords returns the share of client 0 at each level, over all seeds: "stale 3: 12.1 %".
func shapleyWords(rows []fedarShapleyRow) (words []string) {
	for _, l := range shapleyLevels(rows) {
		name := fmt.Sprintf("stale %d", l.stale)
		if l.stale == 0 {
			name = "fresh"
		}
		words = append(words, fmt.Sprintf("%s: %.1f %%", name, 100*stats.Mean(l.own).Value*float64(len(l.own))/l.total))
	}
	return words
}
