package algos

import "context"

// mifaWait is MIFA that steps only once every client was active: until then the active clients only update their y_i.
//
// It does not wait for clients with π_i = 0, which are never active and would stop the run for ever [inferred]: clients
// without samples, and those that interleaved-sine cuts off in all rounds.
type mifaWait struct{ mifa }

var mifaWaitMethod = Definition{
	Name:  "mifa-wait",
	Brief: "mifa that waits until every client was active once",
	Idea: "MIFA under the assumption of its analysis, that every client is active in the first round: the model " +
		"stays as it is until every client that ever is available was active once. y_i is the latest update.",
	Formula:  "w += η_g · mean_N(y) once all were seen, y_i ← Δ_i for i∈A",
	Paper:    paperMIFA + "",
	Revision: 3, Is: Linear | FedAvg | Remembers | MovesWhenEmpty | UsesPi,
	Params: []*Param{memoryParam}, Later: serverParams,
	LR: 0.05, ServerLR: 1,
	start: startOn(newSummed, func(base summed, _ Options) method { return &mifaWait{mifa{base}} }),
}

func (m *mifaWait) Round(ctx context.Context, r Round) ([]float32, error) {
	updates, loss, err := m.train(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.remember(r, updates); err != nil || m.waits() {
		return loss, err
	}
	return loss, m.advance(r, updates)
}

func (m *mifaWait) waits() bool {
	for i, seen := range m.seen {
		if !seen && m.Pi[i] > 0 {
			return true
		}
	}
	return false
}
