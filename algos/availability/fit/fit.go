package fit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"rollcall/algos/availability"
)

// Options are the settings of [Fit].
type Options struct {
	Seed uint64 // of the samples of clients and the simulated records
}

// Client is what is fitted to one client.
type Client struct {
	Chain

	// Order is P of the test that the chain has no longer memory, see [Tests], by the distribution χ². It is NaN if all
	// tables have an expected count below 5 (W. G. Cochran: Some Methods for Strengthening the Common χ² Tests,
	// Biometrics 10, 1954).
	Order float64
	// P is p_i of the sine, at most 1, so that π_i = p_i(1−γ); π_i itself if there is no cycle.
	P float64
}

// Result is all that is fitted to a record.
type Result struct {
	Rounds  int
	Active  []float64 // [T] number of active clients
	Clients []Client  // [N]
	Cycle   Cycle
	Groups  Groups
	Tests   Tests
}

// Fit fits the models to a record, and tests them. It returns an error if there is no client or no round. What a record
// is too short for is NaN.
func Fit(r availability.Record, o Options) (*Result, error) {
	if len(r.Rows) == 0 || r.Rounds < 1 {
		return nil, fmt.Errorf("availability: fit: %d clients in %d rounds, want at least 1 in at least 1",
			len(r.Rows), r.Rounds)
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	result := &Result{Rounds: r.Rounds, Active: r.PerRound(), Clients: make([]Client, len(r.Rows))}
	for i, row := range r.Rows {
		c := count(row, r.Rounds)
		client := Client{Chain: chainOf(&c), Order: math.NaN()}
		if chi2, df := orderOf(&c, 5); df > 0 {
			client.Order = survival(chi2, float64(df))
		}
		result.Clients[i] = client
	}
	result.Cycle = cycleOf(result.Active, shapeOf(result.Clients))
	for i := range result.Clients {
		c := &result.Clients[i]
		c.P = c.Pi.Value
		if result.Cycle.Found() {
			c.P = min(1, c.P/(1-result.Cycle.Gamma.Value))
		}
	}
	result.Groups = groupsOf(random, r, result.Clients)
	result.Tests = testsOf(random, result.Groups.oneOfEach(r, result.Clients), r.Rounds)
	return result, nil
}

// Mean returns the mean number of active clients.
func (r *Result) Mean() (mean float64) {
	for i := range r.Clients {
		mean += r.Clients[i].Pi.Value
	}
	return mean
}
