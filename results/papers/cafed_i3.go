package papers

import (
	"slices"

	"rollcall/results"
)

// The numbers are those of table I, time average.
var cafedI3 = Figure{
	ID: "cafed-i3", Title: "CA-Fed, INFOCOM, Figure 3: test accuracy averaged over the rounds so far",
	Measure: Curves{}, Seeds: infocomSeeds, Rounds: infocomRounds,
	Runs: slices.Concat(runs(infocom("binary"), infocomMethods...), runs(infocom("mnist"), infocomMethods...)),
	Draw: ofRunningMeans(stating("", []claim{
		{Data: "binary", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 0.89},
		{Data: "mnist", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 1.24},
	}, drawn(cafedCurveRows, cafedCurveFigure("time-average test accuracy")))),
}

// ofRunningMeans draws lines whose test accuracies are averaged over the rounds so far.
func ofRunningMeans(draw func(m Measured) (Drawing, error)) func(m Measured) (Drawing, error) {
	return func(m Measured) (Drawing, error) {
		m.Lines = slices.Clone(m.Lines)
		for i := range m.Lines {
			curves := make([][]results.CurveRow, len(m.Lines[i].Curves))
			for k, curve := range m.Lines[i].Curves {
				curves[k] = results.RunningMean(curve)
			}
			m.Lines[i].Curves = curves
		}
		return draw(m)
	}
}
