// Package plot draws line charts, histograms, bars and rasters as SVG and PNG.
//
// A [Figure] (figure.go) is a grid of charts with one title and one legend; the charts are [LineChart],
// [Histogram], [KeyedBars] and [Raster], each in a file of its own. style.go has the colours, dashes and letters,
// ticks.go the labels of axes, axis.go titles and axes for those who draw a chart themselves.
package plot
