// Package plot draws line charts, histograms, bars, rasters, heat maps and bubbles as SVG and PNG, with gonum/plot.
//
// A [Figure] (figure.go) is a grid of charts with one title and one legend. The charts are [LineChart], [Histogram],
// [KeyedBars], [Raster], [HeatMap] and [Bubbles], each in a file of its own. style.go has the colours, dashes and
// fonts, and ticks.go the labels of axes. axis.go gives titles, axes and names to package report, which draws the same
// charts for its page.
package plot
