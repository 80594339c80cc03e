package results

import (
	"fmt"

	"rollcall/results/files"
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
