package results

import (
	"fmt"

	"rollcall/internal/files"
)

// ClientsFile is the name of the file in a run's folder that says how good the last model is for each client.
const ClientsFile = "clients.csv"

// ClientRow is one client of a run, tested after the last round (FedAR, Table 3 and Figure 3).
type ClientRow struct {
	Round    int     `csv:"round"`
	Client   int     `csv:"client"`
	Pi       float64 `csv:"pi"`       // the client's availability, mean over the rounds
	N        int     `csv:"n"`        // test samples of the client's own classes
	Accuracy float64 `csv:"accuracy"` // on these test samples, a fraction
	Loss     float64 `csv:"loss"`     // mean per sample
}

// ReadClients reads the clients of one run. The rows must be in the order of the clients, from 0.
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
