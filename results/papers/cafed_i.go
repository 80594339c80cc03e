package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// cafedI1 shows which clients CA-Fed excludes, in one run on the binary set.
var cafedI1 = Figure{
	ID: "cafed-i1", Title: "CA-Fed, INFOCOM, Figure 1: activity of the clients and who is left out",
	Measure: Curves{Decisions: true}, Runs: runs(infocom("binary"), "ca-fed"), Seeds: tonSeeds,
	Rounds: infocomRounds,
	Draw:   drawActivity,
	Says: []Sentence[Measured]{{
		"excluded clients tend to be those with low average availability or high correlation", infocomResults,
		leavesOutTheWorse,
	}},
}

// infocomResults is where INFOCOM speaks of its figures.
const infocomResults = "V-B"

// drawActivity draws which clients were active and which were excluded in the first run.
var drawActivity = drawn(func(m Measured) ([]CAFedActivityRow, error) {
	if len(m.Lines[0].Decisions) == 0 {
		return nil, fmt.Errorf("results: %s: no decisions, want those of one run", m.Figure.ID)
	}
	return CAFedActivityRows(m.Lines[0].Decisions[0]), nil
}, CAFedActivityFigure)

// CAFedActivityRow is one client in one round, with its place in the figure (INFOCOM, figure 1; ToN, figures 5a–c).
type CAFedActivityRow struct {
	Round    int     `csv:"round"`
	Client   int     `csv:"client"`
	Place    int     `csv:"place"` // from the top of the figure; see [byAvailability]
	Pi       float64 `csv:"pi"`
	Lambda   float64 `csv:"lambda"`
	Active   int     `csv:"active"`
	Included int     `csv:"included"`
}

// CAFedActivityRows returns the decisions of a run with the places of the clients in the figure. The places follow from
// the server's π and λ in the first round.
func CAFedActivityRows(decisions []results.DecisionRow) []CAFedActivityRow {
	place := map[int]int{}
	for k, i := range byAvailability(decisions) {
		place[i] = k
	}
	var rows []CAFedActivityRow
	for _, d := range decisions {
		rows = append(rows, CAFedActivityRow{d.Round, d.Client, place[d.Client], d.Pi, d.Lambda, d.Active, d.Included})
	}
	return rows
}

// byAvailability returns the clients with the most available first: by descending π, then by ascending |λ|, then by
// number.
func byAvailability(decisions []results.DecisionRow) []int {
	first := slices.Clone(decisions[:results.ClientsOf(decisions)])
	slices.SortStableFunc(first, func(a, b results.DecisionRow) int {
		return cmp.Or(cmp.Compare(b.Pi, a.Pi), cmp.Compare(math.Abs(a.Lambda), math.Abs(b.Lambda)))
	})
	order := make([]int, len(first))
	for k, d := range first {
		order[k] = d.Client
	}
	return order
}

// CAFedActivityFigure draws a bar of rounds for each client. A round is dark if the client is active and included, red
// if it is active but excluded, light if it is absent, and pale red if it is absent and excluded.
func CAFedActivityFigure(title string, rows []CAFedActivityRow) plot.Figure {
	n := 0
	for _, r := range rows {
		n = max(n, r.Place+1)
	}
	raster := plot.Raster{
		Title:  "dark: there and taken; red: there and left out; pale red: absent and left out",
		XLabel: "round", YLabel: "client", Rows: make([]plot.RasterRow, n),
	}
	for _, r := range rows {
		line := &raster.Rows[r.Place]
		line.On = append(line.On, r.Active == 1)
		line.Out = append(line.Out, r.Included == 0)
		if n <= 30 || r.Place%10 == 0 {
			line.Name = fmt.Sprint(r.Client)
		}
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{raster}}, PanelHeight: max(plot.PanelHeight, 5*n)}
}

// cafedI2 shows the importance that each method gives each client, in one run on the binary set.
var cafedI2 = Figure{
	ID: "cafed-i2", Title: "CA-Fed, INFOCOM, Figure 2: importance of the clients",
	Measure: Curves{Decisions: true}, Runs: runs(infocom("binary"), infocomMethods...),
	Seeds: tonSeeds, Rounds: infocomRounds,
	Draw: drawn(ofEveryLine(ofFirstSeed(CAFedImportanceRows)), CAFedShareFigure),
	Says: []Sentence[Measured]{
		{"all but Unbiased depart from the target (taken as: farther from it than Unbiased)", infocomResults, departs},
		{"CA-Fed favours the more available clients", infocomResults, favoursAvailable},
	},
}

// importanceOf returns the rows of a method's clients in the run of one seed; nil without it.
func importanceOf(m Measured, method string, seed int) []CAFedImportanceRow {
	for _, line := range m.Lines {
		if line.Method == method && seed < len(line.Decisions) {
			if rows, err := CAFedImportanceRows(method, line.Decisions[seed:seed+1]); err == nil {
				return rows
			}
		}
	}
	return nil
}

// departs asks every seed whether the shares of every other method are farther from the target than those of Unbiased:
// half the sum of the distances, which is 0 … 1.
func departs(m Measured) Answer {
	var seeds []bool
	distances := make([][]float64, len(infocomMethods)) // Unbiased is the first
	for k := range m.Figure.Seeds {
		farther := true
		for i, method := range infocomMethods {
			rows := importanceOf(m, method, k)
			if rows == nil {
				return Answer{Verdict: judge.Untold}
			}
			distance := 0.0
			for _, r := range rows {
				distance += math.Abs(r.Share-r.Target) / 2
			}
			distances[i] = append(distances[i], distance)
			farther = farther && (i == 0 || distance > distances[0][k])
		}
		seeds = append(seeds, farther)
	}
	words := make([]string, len(infocomMethods))
	for i, method := range infocomMethods {
		words[i] = fmt.Sprintf("%s: %.3f", method, stats.Mean(distances[i]).Value)
	}
	return share(seeds, strings.Join(words, ", ")+" from the target on average")
}

// favoursAvailable asks every seed whether CA-Fed gives the more available clients a larger share than the target.
func favoursAvailable(m Measured) Answer {
	var seeds []bool
	var shares, targets []float64
	for k := range m.Figure.Seeds {
		rows := importanceOf(m, "ca-fed", k)
		if rows == nil {
			return Answer{Verdict: judge.Untold}
		}
		share, target := 0.0, 0.0
		for _, r := range rows {
			if r.Group == moreAvailable {
				share, target = share+r.Share, target+r.Target
			}
		}
		seeds, shares, targets = append(seeds, share > target), append(shares, share), append(targets, target)
	}
	return share(seeds, fmt.Sprintf("share %.3f, target %.3f on average", stats.Mean(shares).Value,
		stats.Mean(targets).Value))
}

// ofFirstSeed returns a function for the decisions of all seeds that reads those of the first, as the paper shows one
// run.
func ofFirstSeed[T any](
	rowsOf func(method string, seeds [][]results.DecisionRow) ([]T, error),
) func(method string, seeds [][]results.DecisionRow) ([]T, error) {
	return func(method string, seeds [][]results.DecisionRow) ([]T, error) {
		return rowsOf(method, seeds[:min(1, len(seeds))])
	}
}

// ofEveryLine returns a function that calls rowsOf with the decisions of each line and joins the rows.
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

// CAFedImportanceRow is the weight that one method gave one client during a run, averaged over the seeds (INFOCOM,
// figure 2; ToN, figure 1d).
type CAFedImportanceRow struct {
	Method string  `csv:"method"`
	Client int     `csv:"client"`
	Place  int     `csv:"place"` // as in [CAFedActivityRow], from the first seed
	Group  string  `csv:"group"` // see [clientGroup], from the first seed
	Pi     float64 `csv:"pi"`
	Lambda float64 `csv:"lambda"`
	Target float64 `csv:"alpha"`  // α, the target importance
	Weight float64 `csv:"weight"` // mean of q over the rounds, see [protocol.Importance]
	Share  float64 `csv:"share"`  // of the sum of all clients' weights
	N      int     `csv:"n"`      // seeds
	// fraction of its active rounds in which the client was included; 1 without such rounds
	Taken  float64 `csv:"taken"`
	Rounds int     `csv:"rounds"` // of each seed
}

// CAFedImportanceRows returns a row for each client; seeds has the decisions of each run of a method.
func CAFedImportanceRows(method string, seeds [][]results.DecisionRow) ([]CAFedImportanceRow, error) {
	var rows []CAFedImportanceRow
	for k, decisions := range seeds {
		n := results.ClientsOf(decisions)
		if n == 0 {
			return nil, fmt.Errorf("results: importance: %s: no decisions, want some of every seed", method)
		}
		// The first seed decides the places and the groups; all seeds enter the means.
		if k == 0 {
			rows = make([]CAFedImportanceRow, n)
			for place, i := range byAvailability(decisions) {
				d := decisions[i]
				rows[i] = CAFedImportanceRow{
					Method: method, Client: i, Place: place, Group: clientGroup(d.Pi, d.Lambda), Pi: d.Pi,
					Lambda: d.Lambda, N: len(seeds), Rounds: len(decisions) / n,
				}
			}
		}
		if n != len(rows) {
			return nil, fmt.Errorf("results: importance: %s: %d clients, want %d as in the first seed",
				method, n, len(rows))
		}
		weights, shares := protocol.Importance(decisions)
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

// CAFedShareFigure draws the share of each client, with a line for each method and one for the target. The x axis has
// the clients with the most available first.
func CAFedShareFigure(title string, rows []CAFedImportanceRow) plot.Figure {
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b CAFedImportanceRow) int { return a.Place - b.Place })
	add := func(share func(r CAFedImportanceRow) float64) func(s *plot.Series, r CAFedImportanceRow) {
		return func(s *plot.Series, r CAFedImportanceRow) {
			s.X, s.Y, s.Step = append(s.X, float64(r.Place)), append(s.Y, 100*share(r)), true
		}
	}
	method := func(r CAFedImportanceRow) string { return r.Method }
	series := lines(rows, method, add(func(r CAFedImportanceRow) float64 { return r.Share }))
	for _, target := range lines(rows, method, add(func(r CAFedImportanceRow) float64 { return r.Target })) {
		target.Name = "target α" // it is the same for all methods
		series = append(series, target)
		break
	}
	for i := range series {
		series[i] = series[i].LastStepDrawn()
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{plot.LineChart{
		Title: "from the most to the least available client", XLabel: "client",
		YLabel: "importance (%)", YMin: files.Some(0), Series: series,
	}}}}
}

// cafedI3 shows how the time averages of Table I develop.
var cafedI3 = Figure{
	ID: "cafed-i3", Title: "CA-Fed, INFOCOM, Figure 3: test accuracy averaged over the rounds so far",
	Measure: Curves{}, Runs: runsIn(cafed1.Columns, infocomMethods...), Seeds: infocomSeeds, Rounds: infocomRounds,
	Draw: func(m Measured) (Drawing, error) {
		m.Lines = slices.Clone(m.Lines)
		for i := range m.Lines {
			m.Lines[i].Curves = runningMeans(m.Lines[i].Curves)
		}
		return drawn(cafedCurveRows, cafedCurveFigure("time-average test accuracy"))(m)
	},
	printed: []printedLead{
		{Data: "binary", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 0.89, Mean: true},
		{Data: "mnist", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 1.24, Mean: true},
	},
	Says: []Sentence[Measured]{{
		"CA-Fed has the highest time average on both data sets", infocomResults,
		isAhead("ca-fed", timeAverage),
	}},
}

// timeAverage returns the mean test accuracy over the rounds of a run.
func timeAverage(curve []results.CurveRow) files.Optional {
	return lastAccuracy(protocol.RunningMean(curve))
}

// runningMeans returns the [protocol.RunningMean] of every curve.
func runningMeans(curves [][]results.CurveRow) [][]results.CurveRow {
	means := make([][]results.CurveRow, len(curves))
	for k, curve := range curves {
		means[k] = protocol.RunningMean(curve)
	}
	return means
}
