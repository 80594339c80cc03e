package papers

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/plot"
)

// fedaweF5 shows CIFAR-10 by default; the paper does not say which data set it shows.
var fedaweF5 = Figure{
	ID: "fedawe-f5", Title: "FedAWE, Figure 5: availability of the clients",
	Measure: BaseAvailability{Method: "fedawe", Data: "cifar10"}, Seeds: fedaweSeeds[:1], OneSeed: true,
	Draw: func(m Measured) (Drawing, error) {
		rows, err := FedAWEF5Rows(m.Base)
		return drawing(rows, FedAWEF5Figure(rows)), err
	},
}

// fedaweF5Bins is the number of bins in FedAWE's Figure 5 over [0, 1]. The paper does not say it [inferred].
const fedaweF5Bins = 25

// FedAWEF5Rows counts the base availabilities p_i of the clients in bins; p [N] must be in [0, 1].
func FedAWEF5Rows(p []float64) ([]plot.Bin, error) { return plot.Bins(p, 0, 1, fedaweF5Bins) }

// FedAWEF5Figure draws the histogram of the base availabilities.
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

// fedaweF6 shows three clients under each process: their availability in every round, and a sample of it.
var fedaweF6 = Figure{
	ID: "fedawe-f6", Title: "FedAWE, Figure 6: trajectories and sampled activity",
	Measure: FedAWEPaths, Seeds: fedaweSeeds[:1], Rounds: 80, OneSeed: true,
	Draw: func(m Measured) (Drawing, error) { return drawing(m.Paths, FedAWEF6Figure(m.Paths)), nil },
}

// FedAWEPaths has the processes and the base availabilities of Figure 6.
var FedAWEPaths = Trajectories{Processes: fedaweProcesses, Base: []float64{0.1, 0.5, 0.9}}

// FedAWEF6Row is one client under one process in one round (FedAWE, Figure 6). The rounds of a client and a process
// ascend from 0.
type FedAWEF6Row struct {
	Availability string  `csv:"availability"` // stationary, staircase, sine, interleaved-sine
	P            float64 `csv:"p"`            // base availability p_i
	Round        int     `csv:"round"`
	Probability  float64 `csv:"probability"` // p_i^t
	Active       int     `csv:"active"`      // 1: the client is active
}

// FedAWEF6Figure draws two charts for each process: the trajectories p_i^t as steps, and the sampled activity.
func FedAWEF6Figure(rows []FedAWEF6Row) plot.Figure {
	f := plot.Figure{Title: "Availability of three kinds of clients", PanelHeight: 190}
	kinds, byKind := results.Grouped(rows, func(r FedAWEF6Row) string { return r.Availability })
	for i, kind := range kinds {
		ps, byP := results.Grouped(byKind[kind], func(r FedAWEF6Row) float64 { return r.P })
		if len(ps) != 3 {
			f.Title = "Availability of clients"
		}
		path := plot.LineChart{Title: kind, YLabel: "probability", YMin: files.Some(0), YMax: files.Some(1)}
		activity := plot.Raster{Title: kind + ", sampled (dark: active)", YLabel: "p"}
		if i == len(kinds)-1 {
			path.XLabel, activity.XLabel = "round", "round"
		}
		for _, p := range ps {
			s, on := plot.Series{Name: fmt.Sprintf("p = %g", round3(p)), Step: true}, []bool{}
			for _, r := range byP[p] {
				s.X, s.Y = append(s.X, float64(r.Round)), append(s.Y, r.Probability)
				on = append(on, r.Active != 0)
			}
			path.Series = append(path.Series, s.LastStepDrawn())
			activity.Rows = append(activity.Rows, plot.RasterRow{Name: fmt.Sprintf("%g", round3(p)), On: on})
		}
		f.Panels = append(f.Panels, []plot.Chart{path, activity})
	}
	return f
}
