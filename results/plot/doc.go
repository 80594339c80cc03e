// Package plot draws line charts, histograms, bars and rasters as SVG and PNG.
package plot
