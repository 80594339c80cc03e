package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/plot"
)

var cafedI1 = Figure{
	ID: "cafed-i1", Title: "CA-Fed, INFOCOM, Figure 1: activity of the clients and who is left out",
	Measure: Curves{Decisions: true}, Runs: runs(infocom("binary"), "ca-fed"), Seeds: infocomSeeds[:1],
	Rounds: infocomRounds,
	Draw: stating("excluded clients tend to be those with low average availability or high correlation", nil,
		drawActivity),
}

// drawActivity draws who was there and who was left out in the first run.
var drawActivity = drawn(func(m Measured) ([]CAFedActivityRow, error) {
	return CAFedActivityRows(m.Lines[0].Decisions[0]), nil
}, CAFedActivityFigure)

// CAFedActivityRow is one client in one round (INFOCOM, figure 1; ToN, figures 5a–c).
type CAFedActivityRow struct {
	Round    int     `csv:"round"`
	Client   int     `csv:"client"`
	Place    int     `csv:"place"` // from the top of the figure: the most available first, of them the least correlated
	Pi       float64 `csv:"pi"`
	Lambda   float64 `csv:"lambda"`
	Active   int     `csv:"active"`
	Included int     `csv:"included"`
}

// CAFedActivityRows returns the rounds of a run, each client with its place in the figure. π and λ are those the server
// had in the first round.
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

// byAvailability returns the clients by π descending, then by |λ| ascending, then by number.
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

// CAFedActivityFigure draws a line of rounds for each client: dark where it is there and taken, red where it is there
// and left out, light where it is not there, pale red where it would be left out if it were.
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
