package results

import (
	"fmt"
	"slices"

	"rollcall/internal/files"
)

// DecisionsFile is the name of the file in a run's folder that says how the method treated its clients.
const DecisionsFile = "decisions.csv"

// DecisionRow is one client in one round of a method that weighs clients (CA-Fed's papers). Rows are sorted by Round,
// then by Client, and every client has a row in every round.
type DecisionRow struct {
	Round    int `csv:"round"` // from 1
	Client   int `csv:"client"`
	Active   int `csv:"active"`   // 1: the client is available
	Included int `csv:"included"` // 1: the method uses the client whenever it is available
	// factor of the client's update in the model, without the server's learning rate; 0 if absent or excluded
	Weight float64 `csv:"q"`
	Pi     float64 `csv:"pi"`     // the server's estimate of its availability; with the oracle, the truth
	Lambda float64 `csv:"lambda"` // likewise of the second eigenvalue of its Markov chain
	Target float64 `csv:"alpha"`  // α, the target importance
}

// ReadDecisions reads the decisions of one run. Rows that are missing or out of order are an error.
func ReadDecisions(path string) ([]DecisionRow, error) {
	rows, err := files.ReadCSVFile[DecisionRow](path)
	if err != nil {
		return nil, err
	}
	n := ClientsOf(rows)
	for i, r := range rows {
		if n == 0 || r.Round != i/n+1 || r.Client != i%n || len(rows)%n != 0 {
			return nil, fmt.Errorf("results: %s: row %d: round %d client %d, want every client of every round in order",
				path, i+1, r.Round, r.Client)
		}
	}
	return rows, nil
}

// ClientsOf returns the number of clients in the rows of one run, N: the number of rows of round 1.
func ClientsOf(rows []DecisionRow) int {
	n := slices.IndexFunc(rows, func(r DecisionRow) bool { return r.Round != 1 })
	if n < 0 {
		return len(rows)
	}
	return n
}
