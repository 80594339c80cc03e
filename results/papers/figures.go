package papers

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
)

// Figure is one figure of a paper.
type Figure struct {
	ID    string
	Title string
	Runs  []Run // that it plots; none: it is computed without training
	Seeds []uint32
	// Rounds of the runs, or shown where there are none.
	Rounds int
	Shows  Shows
	Axis   string // what the runs' X is
	Preset string // where none is asked for; empty: code
}

// Shows says what a figure makes of its runs.
type Shows int

// What figures show. FedAWE's are drawn one by one.
const (
	Special              Shows = iota
	Curves                     // test accuracy
	RunningMean                // test accuracy, averaged over the rounds so far
	Activity                   // who is there and who is left out, round by round
	ImportanceShare            // each client's share of the weights that entered the model
	CumulativeImportance       // mean weight of the groups of clients
	BestKappa                  // the best κ̄² after each round
	FinalAccuracy              // test accuracy after the last round, against X
	EstimatorError             // how far π̂ and λ̂ are from the truth, against X; nothing is trained
	StaleContribution          // Shapley values of a client that is away in the last rounds
	LossAndAccuracy            // training loss and test accuracy
	ClientDistribution         // how the accuracy is distributed over the clients
	FinalLossAndAccuracy       // training loss and test accuracy in the last rounds, against X
)

// Run is one learning curve of a figure.
type Run struct {
	Method string
	Column
	Series string  // its name in the legend; empty: not in one
	X      float64 // its place, where the figure has several for a series
}

// figures are the known ones.
var figures = append([]Figure{
	{ID: "fedawe-f2", Title: "FedAWE, Figure 2: where FedAvg ends with two clients of unequal availability"},
	{ID: "fedawe-f3", Title: "FedAWE, Figure 3: FedAvg under non-stationary availability, SVHN", Runs: fedaweF3(), Seeds: []uint32{3, 4, 6}, Rounds: 1000},
	{ID: "fedawe-f5", Title: "FedAWE, Figure 5: availability of the clients", Seeds: []uint32{3}},
	{ID: "fedawe-f6", Title: "FedAWE, Figure 6: trajectories and sampled activity", Seeds: []uint32{3}, Rounds: 80},
	{ID: "fedawe-f7", Title: "FedAWE, Figure 7: training curves, sine", Runs: fedaweF7(), Seeds: []uint32{3, 4, 6}, Rounds: 2000},
}, slices.Concat(cafedFigures, fedarFigures)...)

// Decides reports whether the figure needs what the methods made of every client in every round.
func (f *Figure) Decides() bool {
	return f.Shows == Activity || f.Shows == ImportanceShare || f.Shows == CumulativeImportance
}

// FedAWE's Figure 3: FedAvg over the active clients, all with the same p and γ.
func fedaweF3() (runs []Run) {
	for _, p := range []string{"0.1", "0.3", "0.5", "1"} {
		for _, gamma := range []string{"0.1", "0.2", "0.3", "0.5"} {
			runs = append(runs, Run{Method: "fedavg-active", Column: Column{Data: "svhn", Availability: "sine", Set: results.NewParams("p="+p, "gamma="+gamma)}})
		}
	}
	return runs
}

// FedAWE's Figure 7: three methods on its three data sets.
func fedaweF7() (runs []Run) {
	for _, data := range fedaweData {
		for _, method := range []string{"fedavg-active", "fedawe", "mifa"} {
			runs = append(runs, Run{Method: method, Column: Column{Data: data, Availability: "sine"}})
		}
	}
	return runs
}

// FigureNames returns the ids of the figures.
func FigureNames() []string {
	var names []string
	for _, f := range figures {
		names = append(names, f.ID)
	}
	return names
}

// FigureByID returns a figure.
func FigureByID(id string) (Figure, error) {
	for _, f := range figures {
		if f.ID == id {
			return f, nil
		}
	}
	return Figure{}, fmt.Errorf("spec: figure %q: unknown, want one of %s", id, strings.Join(FigureNames(), ", "))
}
