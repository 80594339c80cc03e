package algos

import (
	"context"
	"slices"

	"rollcall/nets"
)

// mifa steps along the mean of what it remembers, y. With --memory rate, y_i ← Δ_i/η_t and w += η_t η_g · mean_N(y), as
// in the code of MIFA's authors.
type mifa struct{ summed }

var mifaMethod = Definition{
	Name:  "mifa",
	Brief: "the mean of the latest updates of all clients",
	Idea: "Remembers the latest update of every client, and steps along the mean of all of them in every round, " +
		"also if nobody is active. A client that was never active counts as zero. y_i is the latest update.",
	Formula:  "w += η_g · mean_N(y), y_i ← Δ_i for i∈A",
	Paper:    paperMIFA + "",
	Revision: 3, Is: Linear | FedAvg | Remembers | MovesWhenEmpty,
	Params: []*Param{memoryParam}, Later: serverParams,
	start: startOn(newSummed, func(m summed, _ Options) method { return &mifa{m} }),
}

func (m *mifa) Round(ctx context.Context, r Round) ([]float32, error) {
	updates, loss, err := m.train(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.remember(r, updates); err != nil {
		return nil, err
	}
	return loss, m.advance(r, updates)
}

// advance moves w along the mean over all N clients: a client that was never active counts as 0. While no client was,
// there is no update.
func (m *mifa) advance(r Round, updates []nets.Row) error {
	if !slices.Contains(m.seen, true) {
		return nil
	}
	return m.move(r, 0, updates)
}
