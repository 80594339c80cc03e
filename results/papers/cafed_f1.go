package papers

import (
	"fmt"
	"math"

	"rollcall/results/protocol"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// ToN prints no T for figures 1b and 1c: as for 1d [inferred].
var (
	cafedF1a = aheadOfAdaFed("cafed-f1a", "Figure 1a: test accuracy, Synthetic", ton("leaf"), tonRounds, 1.56)
	cafedF1b = aheadOfAdaFed("cafed-f1b", "Figure 1b: test accuracy, MNIST", ton("mnist"), tonRounds, 0.94)
	cafedF1c = aheadOfAdaFed("cafed-f1c", "Figure 1c: test accuracy, CIFAR-10", everyFifth(ton("cifar10")), tonRounds,
		1.32)
	cafedF1d = Figure{
		ID: "cafed-f1d", Title: "CA-Fed, ToN, Figure 1d: cumulative importance of three groups of clients, Synthetic",
		Measure: Curves{Decisions: true}, Runs: runs(ton("leaf"), cafedMethods...), Preset: "paper", Seeds: tonSeeds,
		Rounds: tonRounds,
		Draw: stating("Unbiased equalizes; More available excludes the less available; AdaFed and CA-Fed favour "+
			"the more "+
			"available; F3AST favours the less available, correlated", nil,
			drawn(ofEveryLine(CAFedGroupRows), CAFedGroupFigure)),
	}
)

// everyFifth is a column that is evaluated every five rounds, which is no property of its curves.
func everyFifth(c Column) Column {
	c.Base = c.Base.And("eval-every=5")
	return c
}

// aheadOfAdaFed is a figure of ToN's with the test accuracy of all methods in a column, of which it says by how many
// percentage points CA-Fed is ahead of AdaFed.
func aheadOfAdaFed(id, title string, c Column, rounds int, points float64) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{}, Runs: runs(c, cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: rounds,
		Draw: stating("", []claim{{Data: c.Data, Ahead: []string{"ca-fed"}, Behind: "adafed", Points: points}},
			drawAccuracy),
	}
}

// drawAccuracy draws the test accuracy of every line.
var drawAccuracy = drawn(cafedCurveRows, cafedCurveFigure("test accuracy"))

// cafedCurveRow is one evaluated round of a run, over its seeds (INFOCOM, figure 3; ToN, figures 1a–c, 2a and 5d).
type cafedCurveRow struct {
	Data       string         `csv:"data"`
	Series     string         `csv:"series"`
	Method     string         `csv:"method"`
	Round      int            `csv:"round"`
	N          int            `csv:"n"`        // seeds
	TestAcc    float64        `csv:"test_acc"` // fraction, mean over the seeds
	TestAccStd files.Optional `csv:"test_acc_std"`
}

// cafedCurveRows returns the rounds in which every seed has an accuracy, line by line.
func cafedCurveRows(m Measured) (rows []cafedCurveRow, err error) {
	for _, line := range m.Lines {
		for _, x := range protocol.MeanCurve(line.Curves, metrics.TestAcc) {
			rows = append(rows, cafedCurveRow{line.Data, line.Series, line.Method, x.Round, x.N, x.Mean, x.Std})
		}
	}
	return rows, nil
}

// cafedCurveFigure draws a panel for each data set and a line for each series, with a band of one standard deviation
// over the seeds where there are several. what says what is averaged: "test accuracy".
func cafedCurveFigure(what string) func(title string, rows []cafedCurveRow) plot.Figure {
	return func(title string, rows []cafedCurveRow) plot.Figure {
		chart := func(data string, rows []cafedCurveRow) plot.Chart {
			return plot.LineChart{
				Title: data, XLabel: "round", YLabel: what + " (%)",
				Series: lines(rows, func(r cafedCurveRow) string { return r.Series },
					func(s *plot.Series, r cafedCurveRow) { s.Point(r.Round, r.TestAcc, r.TestAccStd, 100) }),
			}
		}
		return plot.Figure{Title: title, Panels: charts(rows, func(r cafedCurveRow) string { return r.Data }, chart)}
	}
}

// The groups of ToN's figure 1d.
const (
	moreAvailable    = "more available"
	lessWeakly       = "less available, weakly correlated"
	lessCorrelated   = "less available, correlated"
	correlatedAbove  = 0.4 // λ between the weakly correlated clients' (some hundredths) and the others' (0.5 at least)
	availableAtLeast = 0.5
)

// clientGroup returns a client's group.
func clientGroup(pi, lambda float64) string {
	switch {
	case pi > availableAtLeast:
		return moreAvailable
	case math.Abs(lambda) > correlatedAbove:
		return lessCorrelated
	}
	return lessWeakly
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
	for _, group := range []string{moreAvailable, lessWeakly, lessCorrelated} {
		row := CAFedGroupRow{Method: method, Group: group, N: len(seeds)}
		var sums []float64
		for _, decisions := range seeds {
			weights, _ := protocol.Importance(decisions)
			if weights == nil {
				return nil, fmt.Errorf("results: importance: %s: no decisions, want some of every seed", method)
			}
			sum := 0.0
			for i, w := range weights {
				if d := decisions[i]; clientGroup(d.Pi, d.Lambda) == group {
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
	bars := func(group string, rows []CAFedGroupRow) plot.Chart {
		chart := plot.KeyedBars{Title: group, YLabel: "cumulative importance"}
		for _, r := range rows {
			chart.Bars = append(chart.Bars, plot.KeyedBar{Name: r.Method, Value: r.Weight})
		}
		return chart
	}
	return plot.Figure{Title: title, Panels: charts(rows, func(r CAFedGroupRow) string { return r.Group }, bars)}
}
