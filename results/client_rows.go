package results

import (
	"fmt"
	"math"
	"slices"

	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// ClientsFile is the name of what a run's last model is worth to each client, beside the curve.
const ClientsFile = "clients.csv"

// ClientRow is one client of a run after its last round (FedAR, Table 3 and Figure 3).
type ClientRow struct {
	Round    int     `csv:"round"`
	Client   int     `csv:"client"`
	Pi       float64 `csv:"pi"`       // its availability, the mean over the rounds
	N        int     `csv:"n"`        // test samples of its own classes
	Accuracy float64 `csv:"accuracy"` // on them, a fraction
	Loss     float64 `csv:"loss"`     // mean per sample
}

// ReadClients reads the file of one run.
func ReadClients(path string) ([]ClientRow, error) {
	rows, err := files.ReadCSVFile[ClientRow](path)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.Client != i {
			return nil, fmt.Errorf("results: %s: row %d: client %d, want %d", path, i+1, r.Client, i)
		}
	}
	return rows, nil
}

// clientStatistic returns one of [metrics.OfClients] of the clients of one run. Spreads are over all clients there are,
// with n in the denominator: the paper prints 18.1 and 325, 13.6 and 182.5, 20.7 and 432.5, 18.0 and 321.6. A tenth is
// rounded, but one client at least.
func clientStatistic(rows []ClientRow, m metrics.Metric) (float64, error) {
	if len(rows) == 0 {
		return 0, fmt.Errorf("results: %s: no clients, want one at least", m)
	}
	x := make([]float64, len(rows))
	for i, r := range rows {
		x[i] = r.Accuracy
	}
	slices.Sort(x)
	tenth := max(1, int(math.Round(float64(len(x))/10)))
	switch m {
	case metrics.ClientAccWorst10, metrics.ClientAccWorst10Std:
		x = x[:tenth]
	case metrics.ClientAccBest10, metrics.ClientAccBest10Std:
		x = x[len(x)-tenth:]
	}
	mean, variance := stats.Mean(x).Value, 0.0
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	switch m {
	case metrics.ClientAccMean, metrics.ClientAccWorst10, metrics.ClientAccBest10:
		return mean, nil
	case metrics.ClientAccStd, metrics.ClientAccWorst10Std, metrics.ClientAccBest10Std:
		return math.Sqrt(variance), nil
	}
	return variance, nil // ClientAccVar
}

// ClientsOverSeeds returns mean and standard deviation over runs of [clientStatistic].
func ClientsOverSeeds(runs [][]ClientRow, m metrics.Metric) (stats.Estimate, error) {
	return overRuns(runs, m, func(_ int, rows []ClientRow) (float64, error) { return clientStatistic(rows, m) })
}
