package protocol

import (
	"fmt"
	"math"
	"slices"

	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// clientStatistic returns one of [metrics.OfClients] for the clients of one run (FedAR, Table 3). The variance divides
// by n and the standard deviations by n−1, as the paper's numbers do: of 100 clients it prints 18.1 and 325, 13.6 and
// 182.5, 18.0 and 321.6, where √(325·100/99) = 18.12 and √325 = 18.03; 20.7 and 432.5 fit neither. That the deviations
// of the tenths divide by n−1 too is inferred. A tenth of the clients is rounded, and at least one client. A single
// client has the deviation 0.
func clientStatistic(rows []results.ClientRow, m metrics.Metric) (float64, error) {
	if len(rows) == 0 {
		return 0, fmt.Errorf("results: %s: no clients, want one at least", m)
	}
	x := make([]float64, len(rows))
	for i, r := range rows {
		x[i] = r.Accuracy
	}
	// Sorted, the worst tenth of the clients comes first and the best tenth last.
	slices.Sort(x)
	tenth := max(1, int(math.Round(float64(len(x))/10)))
	switch m {
	case metrics.ClientAccWorst10, metrics.ClientAccWorst10Std:
		x = x[:tenth]
	case metrics.ClientAccBest10, metrics.ClientAccBest10Std:
		x = x[len(x)-tenth:]
	}
	switch m {
	case metrics.ClientAccMean, metrics.ClientAccWorst10, metrics.ClientAccBest10:
		return stats.Mean(x).Value, nil
	case metrics.ClientAccStd, metrics.ClientAccWorst10Std, metrics.ClientAccBest10Std:
		return stats.SampleStd(x).Or(0), nil
	}
	mean, variance := stats.Mean(x).Value, 0.0 // ClientAccVar
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return variance, nil
}

// ClientsOverSeeds returns mean and standard deviation, over the runs of one cell, of one of [metrics.OfClients].
func ClientsOverSeeds(runs [][]results.ClientRow, m metrics.Metric) (stats.Estimate, error) {
	return overRuns(runs, m, func(_ int, rows []results.ClientRow) (float64, error) { return clientStatistic(rows, m) })
}
