package papers

import (
	"fmt"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

var cafedI2 = Figure{
	ID: "cafed-i2", Title: "CA-Fed, INFOCOM, Figure 2: importance of the clients",
	Measure: Curves{Decisions: true}, Runs: runs(infocom("binary"), infocomMethods...), Seeds: infocomSeeds[:1],
	Rounds: infocomRounds,
	Draw: stating("all but Unbiased depart from the target; CA-Fed favours the more available clients", nil,
		drawn(ofEveryLine(CAFedImportanceRows), CAFedShareFigure)),
}

// ofEveryLine makes rows of every line, one after the other.
func ofEveryLine[T any](
	rowsOf func(method string, seeds [][]results.DecisionRow) ([]T, error),
) func(m Measured) ([]T, error) {
	return func(m Measured) (rows []T, err error) {
		for _, line := range m.Lines {
			more, err := rowsOf(line.Method, line.Decisions)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
		return rows, nil
	}
}

// CAFedImportanceRow is what one method gave one client in the course of a run, averaged over the seeds (INFOCOM,
// figure 2; ToN, figure 1d).
type CAFedImportanceRow struct {
	Method string  `csv:"method"`
	Client int     `csv:"client"`
	Place  int     `csv:"place"` // as in [CAFedActivityRow], by the first seed
	Group  string  `csv:"group"` // see [clientGroup], by the first seed
	Pi     float64 `csv:"pi"`
	Lambda float64 `csv:"lambda"`
	Target float64 `csv:"alpha"`  // α, the target importance
	Weight float64 `csv:"weight"` // mean of q over the rounds, see [Importance]
	Share  float64 `csv:"share"`  // of the weights of all clients
	N      int     `csv:"n"`      // seeds
	Taken  float64 `csv:"taken"`  // fraction of the rounds with the client there in which it was taken; 1: it never was
	Rounds int     `csv:"rounds"` // of each seed
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
				rows[i] = CAFedImportanceRow{
					Method: method, Client: i, Place: place, Group: clientGroup(d.Pi, d.Lambda), Pi: d.Pi, Lambda: d.Lambda,
					N: len(seeds), Rounds: len(decisions) / n,
				}
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

// CAFedShareFigure draws each client's share, the clients in the order of their availability, a line for each method
// and one for the target.
func CAFedShareFigure(title string, rows []CAFedImportanceRow) plot.Figure {
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b CAFedImportanceRow) int { return a.Place - b.Place })
	add := func(share func(r CAFedImportanceRow) float64) func(s *plot.Series, r CAFedImportanceRow) {
		return func(s *plot.Series, r CAFedImportanceRow) {
			s.X, s.Y, s.Step = append(s.X, float64(r.Place)), append(s.Y, 100*share(r)), true
		}
	}
	series := lines(rows, func(CAFedImportanceRow) bool { return true },
		func(r CAFedImportanceRow) string { return r.Method }, add(func(r CAFedImportanceRow) float64 { return r.Share }))
	series = append(series, lines(rows, func(r CAFedImportanceRow) bool { return r.Method == rows[0].Method },
		func(CAFedImportanceRow) string { return "target α" },
		add(func(r CAFedImportanceRow) float64 { return r.Target }))...)
	for i := range series {
		series[i] = series[i].LastStepDrawn()
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{plot.LineChart{
		Title: "from the most to the least available client", XLabel: "client",
		YLabel: "importance (%)", YMin: files.Some(0), Series: series,
	}}}}
}
