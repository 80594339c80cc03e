// Package stats computes statistics of values given as []float64: means, quantiles, tests, ranks and Shapley values.
package stats
