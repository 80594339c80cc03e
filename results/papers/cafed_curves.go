package papers

import (
	"fmt"
	"slices"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/plot"
)

// CAFedRun is one line of a figure of CA-Fed's papers: one method on one data set.
type CAFedRun struct {
	Data, Method string
	Series       string               // its name in the legend
	X            float64              // its place, where a series is made of several runs
	Curves       [][]results.CurveRow // of each seed, in the order of the seeds
}

// CAFedCurveRow is one evaluated round of a run, over its seeds (INFOCOM, figure 3; ToN, figures 1a–c, 2a and 5d).
type CAFedCurveRow struct {
	Data       string         `csv:"data"`
	Series     string         `csv:"series"`
	Method     string         `csv:"method"`
	Round      int            `csv:"round"`
	N          int            `csv:"n"`        // seeds
	TestAcc    float64        `csv:"test_acc"` // fraction, mean over the seeds
	TestAccStd files.Optional `csv:"test_acc_std"`
}

// CAFedCurveRows returns the rounds in which every seed has an accuracy, run by run.
func CAFedCurveRows(runs []CAFedRun) ([]CAFedCurveRow, error) {
	var rows []CAFedCurveRow
	for _, run := range runs {
		means, err := results.MeanCurve(run.Curves, results.TestAcc)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", run.Series, run.Data, err)
		}
		for _, m := range means {
			rows = append(rows, CAFedCurveRow{run.Data, run.Series, run.Method, m.Round, m.N, m.Mean, m.Std})
		}
	}
	return rows, nil
}

// CAFedCurveFigure draws a panel for each data set and a line for each series, with a band of one standard deviation over the
// seeds where there are several. what says what is averaged: "test accuracy".
func CAFedCurveFigure(title, what string, rows []CAFedCurveRow) plot.Figure {
	var panels []plot.Chart
	for _, data := range inOrder(rows, func(r CAFedCurveRow) string { return r.Data }) {
		chart := plot.LineChart{Title: data, XLabel: "round", YLabel: what + " (%)"}
		for _, name := range inOrder(rows, func(r CAFedCurveRow) string { return r.Series }) {
			s := plot.Series{Name: name}
			for _, r := range rows {
				if r.Data == data && r.Series == name {
					s.Point(r.Round, r.TestAcc, r.TestAccStd, 100)
				}
			}
			chart.Series = append(chart.Series, s)
		}
		panels = append(panels, chart)
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{panels}}
}

// inOrder returns the different keys of rows, in order of appearance.
func inOrder[T any, K comparable](rows []T, key func(T) K) (keys []K) {
	for _, r := range rows {
		if k := key(r); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}
