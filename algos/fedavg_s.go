package algos

import (
	"context"
	"slices"

	"rollcall/datasets/rng"
)

// fedAvgS is FedAvg over a sample of the active clients ("at most half of available clients … given 100 clients, at
// most 50"): the first S after stream (t, 0, 0) of [rng.Sampling] has shuffled A.
type fedAvgS struct {
	global
	limit     int // S
	decisions Decisions
}

var fedAvgSLimit = &Param{
	Name: "fedavg-s-limit", Kind: Whole, None: true, Default: none, Range: AtLeast(1), AtMostClients: true,
	Help: "fedavg-s: S, at most so many of the active clients per round, or none: half of all clients",
}

var fedAvgSMethod = Definition{
	Name:     "fedavg-s",
	Brief:    "the mean over at most S of the active clients, drawn uniformly",
	Idea:     "FedAvg over at most S of the active clients, drawn uniformly; only these train.",
	Formula:  "w += η_g · mean_{i∈S} Δ_i, S at most --fedavg-s-limit clients of A",
	Paper:    paperFedAR + ", section 6.1",
	Revision: 1, Is: Linear | FedAvg | Chooses | UsesPi,
	Params: []*Param{fedAvgSLimit}, Later: serverParams,
	start: startOn(newGlobal, func(g global, o Options) method {
		limit := max(1, g.N/2)
		if given := fedAvgSLimit.OptionalWhole(o); given != nil {
			limit = *given
		}
		return &fedAvgS{g, limit, Decisions{make([]float64, g.N), make([]bool, g.N), g.Pi, g.Lambda}}
	}),
}

func (m *fedAvgS) Round(ctx context.Context, r Round) ([]float32, error) {
	for i, here := range present(r.Active, m.N) {
		m.decisions.Included[i] = !here
	}
	r.Active = m.sample(r)
	clear(m.decisions.Q)
	for _, i := range r.Active {
		m.decisions.Q[i], m.decisions.Included[i] = 1/float64(len(r.Active)), true
	}
	return m.average(ctx, r)
}

// sample returns S of the active clients, ascending, or all of them if there are at most S.
func (m *fedAvgS) sample(r Round) []int {
	if len(r.Active) <= m.limit {
		return r.Active
	}
	order := make([]int32, len(r.Active))
	for k, i := range r.Active {
		order[k] = int32(i)
	}
	rng.Key{Seed: m.Seed, Purpose: rng.Sampling}.Stream(r.T, 0, 0).Shuffle(order)
	sampled := make([]int, m.limit)
	for k, i := range order[:m.limit] {
		sampled[k] = int(i)
	}
	slices.Sort(sampled)
	return sampled
}

func (m *fedAvgS) Inspect() *Decisions { return &m.decisions }
