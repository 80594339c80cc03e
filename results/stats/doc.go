// Package stats holds statistics over []float64.
package stats
