package papers

import (
	"fmt"
	"math"
	"strings"

	"rollcall/results"
	"rollcall/results/plot"
)

// cafedS1 is the quadratic example of the slides that CA-Fed's authors showed: where FedAvg goes if clients are
// missing. The slides have contours and no numbers, so that clients, steps and start are ours [inferred]; so is what
// "missing" is: a client that is never there, which is the end of all heterogeneous availability.
var cafedS1 = Figure{
	ID:      "cafed-s1",
	Title:   "CA-Fed, slides, Quadratic example: FedAvg on four quadratic losses with 0 to 3 clients missing",
	Measure: Nothing{},
	Draw: func(m Measured) (Drawing, error) {
		rows := quadraticRows()
		d := drawing(rows, quadraticFigure(m.Figure.Title, rows))
		d.Words = quadraticWords(rows)
		return d, nil
	},
}

// quadratic is a client with the loss F_k(w) = Σ_d h_d (w_d − u_d)²/2 in two dimensions d.
type quadratic struct {
	h [2]float64 // curvatures, above 0
	u [2]float64 // the client's own optimum
}

// The example. Client 0 goes missing first, then 1, then 2. All clients have the same importance.
var (
	quadraticClients = []quadratic{
		{h: [2]float64{1, 2}, u: [2]float64{-3, -2}},
		{h: [2]float64{2, 1}, u: [2]float64{3, -2}},
		{h: [2]float64{1, 1}, u: [2]float64{-2, 3}},
		{h: [2]float64{2, 2}, u: [2]float64{3, 3}},
	}
	quadraticStart = [2]float64{-4, 4}
)

// FedAvg's steps in the example: local steps with full gradients, and the server takes the mean.
const (
	quadraticRate   = 0.05
	quadraticSteps  = 5
	quadraticRounds = 40
)

// optimumOf returns the minimum of the sum of the losses: the mean of the u_k, weighted by the h_k.
func optimumOf(clients []quadratic) (w [2]float64) {
	for d := range w {
		sum, total := 0.0, 0.0
		for _, k := range clients {
			sum, total = sum+k.h[d]*k.u[d], total+k.h[d]
		}
		w[d] = sum / total
	}
	return w
}

// fedAvgRound returns the mean of the clients' models, each after its local steps from w.
func fedAvgRound(clients []quadratic, w [2]float64) (mean [2]float64) {
	for _, k := range clients {
		local := w
		for range quadraticSteps {
			for d := range local {
				local[d] -= quadraticRate * k.h[d] * (local[d] - k.u[d])
			}
		}
		for d := range mean {
			mean[d] += local[d] / float64(len(clients))
		}
	}
	return mean
}

// fedAvgLimit returns where FedAvg ends. E local steps take a client the share a_k = 1 − (1 − η h_k)^E of its way to
// u_k, so that w stays where Σ_k a_k (u_k − w) = 0: at the mean of the u_k, weighted by the a_k. For small η E that is
// [optimumOf].
func fedAvgLimit(clients []quadratic) (w [2]float64) {
	for d := range w {
		sum, total := 0.0, 0.0
		for _, k := range clients {
			a := 1 - math.Pow(1-quadraticRate*k.h[d], quadraticSteps)
			sum, total = sum+a*k.u[d], total+a
		}
		w[d] = sum / total
	}
	return w
}

// quadraticRow is one round of FedAvg in the quadratic example. Distances are to w*, the minimum of the sum of all
// losses, whoever is missing.
type quadraticRow struct {
	Missing       int     `csv:"missing"` // clients that are never there: 0, 1, …
	Round         int     `csv:"round"`   // 0: the start
	X             float64 `csv:"x"`       // the model
	Y             float64 `csv:"y"`
	Distance      float64 `csv:"distance"`
	LimitX        float64 `csv:"limit_x"` // where the model ends
	LimitY        float64 `csv:"limit_y"`
	LimitDistance float64 `csv:"limit_distance"`
}

// quadraticRows returns the paths of FedAvg, round by round, without the first 0, 1, 2 and 3 clients.
func quadraticRows() (rows []quadraticRow) {
	best := optimumOf(quadraticClients)
	away := func(w [2]float64) float64 { return math.Hypot(w[0]-best[0], w[1]-best[1]) }
	for missing := range quadraticClients {
		there := quadraticClients[missing:]
		limit, w := fedAvgLimit(there), quadraticStart
		for round := range quadraticRounds + 1 {
			rows = append(rows, quadraticRow{missing, round, w[0], w[1], away(w), limit[0], limit[1], away(limit)})
			w = fedAvgRound(there, w)
		}
	}
	return rows
}

// quadraticFigure draws a chart for each number of missing clients: level sets of the loss of all clients and of those
// who are there, the path, and both ends as crosses.
func quadraticFigure(title string, rows []quadraticRow) plot.Figure {
	var charts []plot.Chart
	best := optimumOf(quadraticClients)
	missings, paths := results.Grouped(rows, func(r quadraticRow) int { return r.Missing })
	for _, missing := range missings {
		path := plot.Series{Name: "path of FedAvg"}
		for _, r := range paths[missing] {
			path.X, path.Y = append(path.X, r.X), append(path.Y, r.Y)
		}
		end := paths[missing][0]
		chart := plot.LineChart{
			Title: missingTitle(missing), XLabel: "x", YLabel: "y",
			Series: []plot.Series{
				levelSets("loss of all clients", quadraticClients), path,
				levelSets("loss of those who are there", quadraticClients[missing:]),
				cross("optimum", best[0], best[1]), cross("limit of FedAvg", end.LimitX, end.LimitY),
			},
		}
		charts = append(charts, chart)
	}
	return plot.Figure{Title: title, Panels: plot.InPairs(charts)}
}

// missingTitle says how many of the clients are missing.
func missingTitle(missing int) string {
	if missing == 0 {
		return "all clients there"
	}
	return fmt.Sprintf("%d of %d missing", missing, len(quadraticClients))
}

// levelSets returns the ellipses on which the mean loss of the clients is 1, 2, 4 and 8 above its minimum.
func levelSets(name string, clients []quadratic) plot.Series {
	s, middle := plot.Series{Name: name}, optimumOf(clients)
	var h [2]float64 // mean curvatures
	for _, k := range clients {
		for d := range h {
			h[d] += k.h[d] / float64(len(clients))
		}
	}
	const corners = 72
	for _, above := range []float64{1, 2, 4, 8} {
		for i := range corners + 1 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
			s.X = append(s.X, middle[0]+math.Sqrt(2*above/h[0])*cos)
			s.Y = append(s.Y, middle[1]+math.Sqrt(2*above/h[1])*sin)
		}
		s.X, s.Y = append(s.X, math.NaN()), append(s.Y, math.NaN()) // a gap before the next one
	}
	return s
}

// cross returns two short lines that cross in a point.
func cross(name string, x, y float64) plot.Series {
	const half = 0.25
	nan := math.NaN()
	return plot.Series{
		Name: name, X: []float64{x - half, x + half, nan, x - half, x + half},
		Y: []float64{y - half, y + half, nan, y + half, y - half},
	}
}

// quadraticWords says where FedAvg ends.
func quadraticWords(rows []quadraticRow) string {
	var b strings.Builder
	missings, paths := results.Grouped(rows, func(r quadraticRow) int { return r.Missing })
	for _, missing := range missings {
		r := paths[missing][0]
		fmt.Fprintf(&b, "%s: FedAvg ends at (%.2f, %.2f), %.2f from the optimum\n",
			missingTitle(missing), r.LimitX, r.LimitY, r.LimitDistance)
	}
	return b.String()
}
