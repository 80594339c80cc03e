// Package plot draws line charts, histograms, bars, rasters, heat maps and bubbles as SVG and PNG, with gonum/plot.
//
//	line := plot.Series{Name: "fedawe"}
//	line.Point(10, 0.61, files.Some(0.02), 100) // round, mean and spread, in percent
//	chart := plot.LineChart{XLabel: "round", YLabel: "test accuracy (%)", Series: []plot.Series{line}}
//	err := plot.WriteFigure("curve.svg", plot.Figure{Title: "SVHN", Panels: [][]plot.Chart{{chart}}})
package plot
