package papers

import (
	"fmt"

	"rollcall/results/plot"
)

// The paper does not say which data set it shows.
var fedaweF5 = Figure{
	ID: "fedawe-f5", Title: "FedAWE, Figure 5: availability of the clients",
	Measure: BaseAvailability{Method: "fedawe", Data: "cifar10"}, Seeds: fedaweSeeds[:1],
	Draw: func(m Measured) (Drawing, error) {
		rows, err := FedAWEF5Rows(m.Base)
		return drawing(rows, FedAWEF5Figure(rows)), err
	},
}

// fedaweF5Bins are the bars of FedAWE's Figure 5 over [0, 1]; the paper does not say how many it has [inferred].
const fedaweF5Bins = 25

// FedAWEF5Rows counts the clients' base availabilities p_i, each in [0, 1], in bins.
func FedAWEF5Rows(p []float64) ([]plot.Bin, error) { return plot.Bins(p, 0, 1, fedaweF5Bins) }

// FedAWEF5Figure draws the histogram of p_i.
func FedAWEF5Figure(bins []plot.Bin) plot.Figure {
	clients := 0
	for _, b := range bins {
		clients += b.Count
	}
	return plot.Figure{
		Title:  fmt.Sprintf("How often %d clients are available", clients),
		Panels: [][]plot.Chart{{plot.Histogram{XLabel: "availability p of a client", YLabel: "clients", Bins: bins}}},
	}
}
