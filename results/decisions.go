package results

import (
	"fmt"
	"slices"

	"rollcall/results/files"
)

// DecisionsFile is the name of what a run's method made of its clients, beside the curve.
const DecisionsFile = "decisions.csv"

// DecisionRow is one client in one round of a method that weighs clients (CA-Fed's papers). Rows are ascending in
// Round, and in Client within a round; every client has a row in every round.
type DecisionRow struct {
	Round    int `csv:"round"` // from 1
	Client   int `csv:"client"`
	Active   int `csv:"active"`   // 1: the client is there
	Included int `csv:"included"` // 1: the method takes it, if it is there
	// by which its update entered the model before the server's learning rate; 0 for the absent and the excluded
	Weight float64 `csv:"q"`
	Pi     float64 `csv:"pi"`     // what the server holds of its availability; the truth under the oracle
	Lambda float64 `csv:"lambda"` // likewise of its chain's second eigenvalue
	Target float64 `csv:"alpha"`  // α, the target importance
}

// ReadDecisions reads the file of one run, and checks that its rows are in order.
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

// ClientsOf returns N.
func ClientsOf(rows []DecisionRow) int {
	n := slices.IndexFunc(rows, func(r DecisionRow) bool { return r.Round != 1 })
	if n < 0 {
		return len(rows)
	}
	return n
}
