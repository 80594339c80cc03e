package papers

import (
	"fmt"
	"math"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

var fedaweF2 = Figure{
	ID: "fedawe-f2", Title: "FedAWE, Figure 2: where FedAvg ends with two clients of unequal availability",
	Measure: Nothing{},
	Draw: func(Measured) (Drawing, error) {
		rows := fedaweF2Rows()
		return drawing(rows, fedaweF2Figure(rows)), nil
	},
}

// Example 1's targets: F_i(x) = (x − u_i)²/2.
const (
	fedaweU1 = 0.0
	fedaweU2 = 100.0
)

// twoClientLimit returns where FedAvg over active clients ends on average in FedAWE's Example 1: two clients, each
// there with its own probability p_1 or p_2 in every round, with F_i(x) = (x − u_i)²/2, u_1 = 0 and u_2 = 100. Their
// sum has its minimum at 50.
//
// A client that trains moves x by a share a of its way to u_i, a being 1 − (1 − η)^E after E steps of size η. With both
// active the server takes the mean, with one that one, with none x stays. So E[x'] − x is a times
//
//	p_1(1−p_2)(u_1 − x) + (1−p_1)p_2(u_2 − x) + p_1 p_2((u_1 + u_2)/2 − x),
//
// and x is at rest where that is 0: at the mean of the targets under the weights p_1(1 − p_2/2) and p_2(1 − p_1/2),
// whatever a is. p_1 and p_2 are in [0, 1]; with both 0 nothing moves and the limit is NaN.
func twoClientLimit(p1, p2 float64) float64 {
	w1, w2 := p1*(1-p2/2), p2*(1-p1/2)
	return (w1*fedaweU1 + w2*fedaweU2) / (w1 + w2)
}

// fedaweF2Row is one point of the grid of FedAWE's Figure 2.
type fedaweF2Row struct {
	P1    float64 `csv:"p1"`
	P2    float64 `csv:"p2"`
	Limit float64 `csv:"limit"`
}

// fedaweF2Grid is how many probabilities 1/n, 2/n … 1 there are of each client, a multiple of fedaweF2Lines.
const (
	fedaweF2Grid  = 20
	fedaweF2Lines = 5
)

// fedaweF2Rows returns the limit on the grid, p_1 by p_1.
func fedaweF2Rows() []fedaweF2Row {
	var rows []fedaweF2Row
	for i := range fedaweF2Grid {
		for j := range fedaweF2Grid {
			p1, p2 := float64(i+1)/fedaweF2Grid, float64(j+1)/fedaweF2Grid
			rows = append(rows, fedaweF2Row{p1, p2, twoClientLimit(p1, p2)})
		}
	}
	return rows
}

// fedaweF2Figure draws the limit against p_1, a line for each of five p_2, spread over the grid, and one for the
// minimum.
func fedaweF2Figure(rows []fedaweF2Row) plot.Figure {
	p2s, groups := results.Grouped(rows, func(r fedaweF2Row) float64 { return r.P2 })
	const apart = fedaweF2Grid / fedaweF2Lines
	var series []plot.Series
	for k := apart - 1; k < fedaweF2Grid; k += apart {
		s := plot.Series{Name: fmt.Sprintf("p2 = %g", round3(p2s[k]))}
		for _, r := range groups[p2s[k]] {
			s.X, s.Y = append(s.X, r.P1), append(s.Y, r.Limit)
		}
		series = append(series, s)
	}
	const optimum = (fedaweU1 + fedaweU2) / 2
	series = append(series, plot.Series{
		Name: fmt.Sprintf("optimum, %g", optimum), X: []float64{p2s[0], 1}, Y: []float64{optimum, optimum},
	})
	return plot.Figure{
		Title: "FedAvg's limit for two clients with optima 0 and 100",
		Panels: [][]plot.Chart{{plot.LineChart{
			XLabel: "p1, availability of the client with optimum 0", YLabel: "limit of E[x]", Series: series,
			YMin: files.Some(fedaweU1), YMax: files.Some(fedaweU2),
		}}},
	}
}

// round3 rounds to three decimals, for names.
func round3(x float64) float64 { return math.Round(x*1000) / 1000 }
