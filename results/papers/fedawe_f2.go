package papers

import (
	"math"

	"rollcall/results"
	"rollcall/results/plot"
)

// fedaweF2 shows the bias of FedAvg in Example 1, which has a closed form; so nothing is trained.
var fedaweF2 = Figure{
	ID: "fedawe-f2", Title: "FedAWE, Figure 2: where FedAvg ends with two clients of unequal availability",
	Measure: Nothing{},
	Draw: func(Measured) (Drawing, error) {
		rows := fedaweF2Rows()
		return drawing(rows, fedaweF2Figure(rows)), nil
	},
}

// The targets u_i of the two clients in Example 1, whose losses are F_i(x) = (x − u_i)²/2.
const (
	fedaweU1 = 0.0
	fedaweU2 = 100.0
)

// twoClientLimit returns the expected limit of FedAvg over active clients in FedAWE's Example 1. Two clients are active
// in each round with probabilities p_1 and p_2. Their losses are F_i(x) = (x − u_i)²/2 with u_1 = 0 and u_2 = 100; the
// sum of the losses has its minimum at 50.
//
// A client that trains moves x by a share a = 1 − (1 − η)^E of the way to u_i, in E steps of size η. If both clients
// are active, the server takes the mean of their models; if one is active, its model; if none is, x stays. So E[x'] − x
// is a times
//
//	p_1(1−p_2)(u_1 − x) + (1−p_1)p_2(u_2 − x) + p_1 p_2((u_1 + u_2)/2 − x).
//
// This is 0 at the mean of the targets with the weights p_1(1 − p_2/2) and p_2(1 − p_1/2), for every a. p_1 and p_2 are
// in [0, 1]; if both are 0, x never moves and the limit is NaN.
func twoClientLimit(p1, p2 float64) float64 {
	w1, w2 := p1*(1-p2/2), p2*(1-p1/2)
	return (w1*fedaweU1 + w2*fedaweU2) / (w1 + w2)
}

// fedaweOptimum is x*, the minimum of the sum of the losses in Example 1.
const fedaweOptimum = (fedaweU1 + fedaweU2) / 2

// fedaweF2Row is the limit at one point of the grid of probabilities (FedAWE, Figure 2).
type fedaweF2Row struct {
	P1       float64 `csv:"p1"`
	P2       float64 `csv:"p2"`
	Limit    float64 `csv:"limit"`    // x_output
	Distance float64 `csv:"distance"` // |x_output − x*|
}

// fedaweF2Grid is n, where each client has the probabilities 1/n, 2/n … 1.
const fedaweF2Grid = 20

// fedaweF2Rows returns the limit on the whole grid, sorted by p_1 and then by p_2.
func fedaweF2Rows() []fedaweF2Row {
	var rows []fedaweF2Row
	for i := range fedaweF2Grid {
		for j := range fedaweF2Grid {
			p1, p2 := float64(i+1)/fedaweF2Grid, float64(j+1)/fedaweF2Grid
			limit := twoClientLimit(p1, p2)
			rows = append(rows, fedaweF2Row{p1, p2, limit, math.Abs(limit - fedaweOptimum)})
		}
	}
	return rows
}

// fedaweF2Figure draws the distance of the limit from the minimum over (p_1, p_2).
func fedaweF2Figure(rows []fedaweF2Row) plot.Figure {
	chart := plot.HeatMap{
		XLabel: "p1, availability of the client with optimum 0", YLabel: "p2, of the client with optimum 100",
		ScaleLabel: "|x_output − x*|",
	}
	p1s, byP1 := results.Grouped(rows, func(r fedaweF2Row) float64 { return r.P1 })
	chart.X = p1s
	for i, p1 := range p1s {
		var column []float64
		for _, r := range byP1[p1] {
			if column = append(column, r.Distance); i == 0 {
				chart.Y = append(chart.Y, r.P2)
			}
		}
		chart.Z = append(chart.Z, column)
	}
	return plot.Figure{
		Title:  "How far from the optimum, 50, FedAvg ends with two clients with optima 0 and 100",
		Panels: [][]plot.Chart{{chart}}, PanelHeight: 560,
	}
}

// round3 rounds to three decimals, for names in the legend.
func round3(x float64) float64 { return math.Round(x*1000) / 1000 }
