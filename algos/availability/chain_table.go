package availability

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"rollcall/internal/files"
)

// ChainTable is a list of chains of two states, see [ReadChain].
type ChainTable struct {
	Pi, Lambda []float64 // [K] π and λ; λ is 0 where π is 0 or 1
}

// The columns of a file of chains.
var (
	chainColumns      = []string{"client", "pi", "lambda"}
	transitionColumns = []string{"client", "to_active", "to_inactive"}
)

// ReadChain reads the chains of clients from a CSV file with the columns client, pi and lambda, or client, to_active
// and to_inactive: the probabilities P(active | inactive) and P(inactive | active). The rows are those of client 0, 1
// …; or, if the clients of the file have these numbers, in any order. A client that is never active has π = 0, one that
// always is has π = 1, and both have λ = 0.
func ReadChain(r io.Reader) (*ChainTable, error) {
	file, header, err := files.OpenCSV(r)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("empty, want the columns client,pi,lambda or client,to_active,to_inactive")
	}
	if err != nil {
		return nil, err
	}
	transitions := slices.Equal(header, transitionColumns)
	if !transitions && !slices.Equal(header, chainColumns) {
		return nil, fmt.Errorf("line 1: columns %.80q, want client,pi,lambda or client,to_active,to_inactive", header)
	}
	var names []string
	lines := map[string]int{} // of each client
	table := &ChainTable{}
	for {
		record, err := file.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := file.FieldPos(0)
		var of [2]float64
		for k := range of {
			if of[k], err = files.ParseNumber(record[k+1], 64); err != nil || math.IsInf(of[k], 0) {
				return nil, fmt.Errorf("line %d: %s %q, want a number", line, header[k+1], record[k+1])
			}
		}
		name := string([]byte(record[0])) // the record is used again
		if before, is := lines[name]; is {
			return nil, fmt.Errorf("line %d: client %.80q again, as in line %d, want a row for each", line, name,
				before)
		}
		lines[name] = line
		pi, lambda := of[0], of[1]
		if transitions {
			if !isFraction(of[0]) || !isFraction(of[1]) || of[0]+of[1] == 0 {
				return nil, fmt.Errorf("line %d: client %.80q: to_active %g, to_inactive %g, want 0 … 1, one above 0",
					line, name, of[0], of[1])
			}
			pi, lambda = stationaryOf(of[0], of[1])
		}
		if err := possible(pi, lambda); err != nil {
			return nil, fmt.Errorf("line %d: client %.80q: %w", line, name, err)
		}
		names = append(names, name)
		table.Pi, table.Lambda = append(table.Pi, pi), append(table.Lambda, lambda)
	}
	if len(names) == 0 {
		return nil, errors.New("no client, want a row for each")
	}
	table.order(names)
	return table, nil
}

// possible returns an error if no client has (π, λ), one that never changes included.
func possible(pi, lambda float64) error {
	switch {
	case pi != 0 && pi != 1:
		return feasible(pi, lambda)
	case lambda != 0:
		return fmt.Errorf("lambda %g at pi %g, which never changes, want 0", lambda, pi)
	}
	return nil
}

// order sorts the chains by their clients' names, if these are the numbers from 0.
func (c *ChainTable) order(names []string) {
	sorted := ChainTable{make([]float64, len(names)), make([]float64, len(names))}
	for k, name := range names { // no two are the same
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(names) || strconv.Itoa(i) != name {
			return
		}
		sorted.Pi[i], sorted.Lambda[i] = c.Pi[k], c.Lambda[k]
	}
	*c = sorted
}

// chain: every client has the chain of its row; or, if o.Draw is set, that of a row which it draws, with stream (0, i,
// 10) of [rng.Availability].
func chain(o Options) (Model, error) {
	n := len(o.Base)
	switch {
	case o.Chain == nil:
		return nil, errors.New("no chains, want those of a file")
	case !o.Draw && len(o.Chain.Pi) != n:
		return nil, fmt.Errorf("chains of %d clients, want %d", len(o.Chain.Pi), n)
	}
	pi, lambda := o.Chain.Pi, o.Chain.Lambda
	if o.Draw {
		pi, lambda = make([]float64, n), make([]float64, n)
		for i := range pi {
			row := drawsOf(o.Seed).Stream(0, i, 10).IntN(len(o.Chain.Pi))
			pi[i], lambda[i] = o.Chain.Pi[row], o.Chain.Lambda[row]
		}
	}
	return follow(n, &chains{history: historyOf(n), key: drawsOf(o.Seed), pi: pi, lambda: lambda}), nil
}
