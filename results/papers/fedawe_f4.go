package papers

import (
	"fmt"

	"rollcall/results/plot"
)

// fedaweF4 shows the classes of 20 clients as circles. The paper names neither data set nor α; CIFAR-10 and the α of
// its tables, 0.1, are taken [inferred].
var fedaweF4 = Figure{
	ID: "fedawe-f4", Title: "FedAWE, Figure 4: classes of 20 clients",
	Measure: ClassShares{Method: "fedawe", Data: "cifar10", Clients: 20}, Seeds: fedaweSeeds[:1], OneSeed: true,
	Draw: func(m Measured) (Drawing, error) {
		return drawing(fedaweF4Rows(m.Classes), fedaweF4Figure(m.Classes)), nil
	},
}

// fedaweF4Row is one class of one client (FedAWE, Figure 4).
type fedaweF4Row struct {
	Client int     `csv:"client"`
	Class  int     `csv:"class"`
	Share  float64 `csv:"share"` // of the client's training images that are of the class; 0 for a client without images
	N      int     `csv:"n"`     // the client's training images of the class
}

// fedaweF4Rows returns the rows of all clients, class by class.
func fedaweF4Rows(counts [][]int) (rows []fedaweF4Row) {
	shares := classShares(counts)
	for i, classes := range counts {
		for c, n := range classes {
			rows = append(rows, fedaweF4Row{Client: i, Class: c, Share: shares[i][c], N: n})
		}
	}
	return rows
}

// classShares divides the counts [clients][classes] by the images of each client.
func classShares(counts [][]int) [][]float64 {
	shares := make([][]float64, len(counts))
	for i, classes := range counts {
		shares[i] = make([]float64, len(classes))
		total := 0
		for _, n := range classes {
			total += n
		}
		for c, n := range classes {
			shares[i][c] = float64(n) / float64(max(1, total))
		}
	}
	return shares
}

// fedaweF4Figure draws a circle for every class of every client; its area is the share of the client's images.
func fedaweF4Figure(counts [][]int) plot.Figure {
	return plot.Figure{
		Title: fmt.Sprintf("Classes of %d clients", len(counts)), PanelHeight: 400,
		Panels: [][]plot.Chart{{plot.Bubbles{
			XLabel: "client", YLabel: "class", KeyLabel: "share of images", Shares: classShares(counts),
		}}},
	}
}
