package papers

import (
	"fmt"
	"math"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// CAFedImportanceRow is what one method gave one client in the course of a run, averaged over the seeds (INFOCOM, figure 2; ToN,
// figure 1d).
type CAFedImportanceRow struct {
	Method string  `csv:"method"`
	Client int     `csv:"client"`
	Place  int     `csv:"place"` // as in [CAFedActivityRow], by the first seed
	Group  string  `csv:"group"` // see [ClientGroup], by the first seed
	Pi     float64 `csv:"pi"`
	Lambda float64 `csv:"lambda"`
	Target float64 `csv:"alpha"`  // α, the target importance
	Weight float64 `csv:"weight"` // mean of q over the rounds, see [Importance]
	Share  float64 `csv:"share"`  // of the weights of all clients
	N      int     `csv:"n"`      // seeds
	Taken  float64 `csv:"taken"`  // fraction of the rounds with the client there in which it was taken; 1 if it never was there
	Rounds int     `csv:"rounds"` // of each seed
}

// The groups of ToN's figure 1d.
const (
	MoreAvailable    = "more available"
	LessWeakly       = "less available, weakly correlated"
	LessCorrelated   = "less available, correlated"
	correlatedAbove  = 0.4 // λ between the weakly correlated clients' (some hundredths) and the others' (0.5 at least)
	availableAtLeast = 0.5
)

// ClientGroup returns a client's group.
func ClientGroup(pi, lambda float64) string {
	switch {
	case pi > availableAtLeast:
		return MoreAvailable
	case math.Abs(lambda) > correlatedAbove:
		return LessCorrelated
	}
	return LessWeakly
}

// CAFedImportanceRows returns a row for each client; seeds are the runs of one method.
func CAFedImportanceRows(method string, seeds [][]results.DecisionRow) ([]CAFedImportanceRow, error) {
	var rows []CAFedImportanceRow
	for k, decisions := range seeds {
		n := results.ClientsOf(decisions)
		if n == 0 {
			return nil, fmt.Errorf("results: importance: %s: no decisions, want some of every seed", method)
		}
		if k == 0 {
			rows = make([]CAFedImportanceRow, n)
			for place, i := range byAvailability(decisions) {
				d := decisions[i]
				rows[i] = CAFedImportanceRow{Method: method, Client: i, Place: place, Group: ClientGroup(d.Pi, d.Lambda), Pi: d.Pi, Lambda: d.Lambda, N: len(seeds), Rounds: len(decisions) / n}
			}
		}
		if n != len(rows) {
			return nil, fmt.Errorf("results: importance: %s: %d clients, want %d as in the first seed", method, n, len(rows))
		}
		weights, shares := results.Importance(decisions)
		there, taken := make([]int, n), make([]int, n)
		for _, d := range decisions {
			there[d.Client] += d.Active
			taken[d.Client] += d.Active * d.Included
		}
		for i := range rows {
			part := 1.0
			if there[i] > 0 {
				part = float64(taken[i]) / float64(there[i])
			}
			rows[i].Target += decisions[i].Target / float64(len(seeds))
			rows[i].Weight += weights[i] / float64(len(seeds))
			rows[i].Share += shares[i] / float64(len(seeds))
			rows[i].Taken += part / float64(len(seeds))
		}
	}
	return rows, nil
}

// CAFedShareFigure draws each client's share, the clients in the order of their availability, a line for each method and one
// for the target.
func CAFedShareFigure(title string, rows []CAFedImportanceRow) plot.Figure {
	target := plot.Series{Name: "target α", Step: true}
	chart := plot.LineChart{Title: "from the most to the least available client", XLabel: "client", YLabel: "importance (%)", YMin: files.Some(0)}
	for k, method := range inOrder(rows, func(r CAFedImportanceRow) string { return r.Method }) {
		s := plot.Series{Name: method, Step: true}
		for place := range len(rows) {
			for _, r := range rows {
				if r.Method != method || r.Place != place {
					continue
				}
				s.X, s.Y = append(s.X, float64(place)), append(s.Y, 100*r.Share)
				if k == 0 {
					target.X, target.Y = append(target.X, float64(place)), append(target.Y, 100*r.Target)
				}
			}
		}
		chart.Series = append(chart.Series, s.LastStepDrawn())
	}
	chart.Series = append(chart.Series, target.LastStepDrawn())
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{chart}}}
}

// CAFedGroupRow is what one method gave one group of clients (ToN, figure 1d), over the seeds.
type CAFedGroupRow struct {
	Method    string         `csv:"method"`
	Group     string         `csv:"group"`
	Clients   float64        `csv:"clients"` // mean number over the seeds
	N         int            `csv:"n"`       // seeds
	Weight    float64        `csv:"weight"`  // sum over the group's clients of the mean of q over the rounds
	WeightStd files.Optional `csv:"weight_std"`
	Target    float64        `csv:"alpha"` // sum of their α
}

// CAFedGroupRows sums [Importance] over the groups of clients; seeds are the runs of one method.
func CAFedGroupRows(method string, seeds [][]results.DecisionRow) ([]CAFedGroupRow, error) {
	var rows []CAFedGroupRow
	for _, group := range []string{MoreAvailable, LessWeakly, LessCorrelated} {
		row := CAFedGroupRow{Method: method, Group: group, N: len(seeds)}
		var sums []float64
		for _, decisions := range seeds {
			weights, _ := results.Importance(decisions)
			if weights == nil {
				return nil, fmt.Errorf("results: importance: %s: no decisions, want some of every seed", method)
			}
			sum := 0.0
			for i, w := range weights {
				if d := decisions[i]; ClientGroup(d.Pi, d.Lambda) == group {
					sum += w
					row.Clients += 1 / float64(len(seeds))
					row.Target += d.Target / float64(len(seeds))
				}
			}
			sums = append(sums, sum)
		}
		row.Weight, row.WeightStd = stats.Mean(sums).Value, stats.SampleStd(sums)
		rows = append(rows, row)
	}
	return rows, nil
}

// CAFedGroupFigure draws bars: a panel for each group, a bar for each method.
func CAFedGroupFigure(title string, rows []CAFedGroupRow) plot.Figure {
	var panels []plot.Chart
	for _, group := range inOrder(rows, func(r CAFedGroupRow) string { return r.Group }) {
		bars := plot.KeyedBars{Title: group, YLabel: "cumulative importance"}
		for _, r := range rows {
			if r.Group == group {
				bars.Bars = append(bars.Bars, plot.KeyedBar{Name: r.Method, Value: r.Weight})
			}
		}
		panels = append(panels, bars)
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{panels}}
}
