package algos

import (
	"context"
	"math"

	"rollcall/nets"
)

// caFed leaves out clients that are rarely there or stay away for long, as far as a bound on the error gets smaller by it
// (Rodio et al., INFOCOM and ToN 2023, Algorithm 1):
//
//	the active clients report their losses F_i at w                     (line 3; no other client's is known to the server)
//	F̂_i ← (1−β) F̂_i + β F_i for i∈A; F̂*_i ← min(F̂*_i, F̂_i); Γ̂′ = max_i (F̂_i − F̂*_i)   (line 4, (17)–(19))
//	q = α/π̂; q_i = 0 for some i by |λ̂| descending, then for some by π̂ ascending        (lines 5–7; see [exclusion])
//	w += η_g Σ_{i∈A} q_i Δ_i over the i∈A with q_i > 0                  (lines 8–12)
//
// In the first round in which anybody is there, clients that are not start at the mean loss of those who are. Nobody is left
// out while Γ̂′ = 0 [inferred: in the first round all gaps are 0 and the ties of τ = 0 would remove everybody].
type caFed struct {
	weighted
	settings CAFed
	loss     []float64 // [N] F̂
	best     []float64 // [N] F̂*
	begun    bool      // somebody was there
}

func newCAFed(s *server, w0 []float32, o Options) (Method, error) {
	settings := DefaultCAFed(Paper)
	if o.CAFed != nil {
		settings = *o.CAFed
	}
	if err := settings.validate(s.N); err != nil {
		return nil, err
	}
	base, err := newWeighted(s, w0, o)
	if err != nil {
		return nil, err
	}
	m := &caFed{weighted: base, settings: settings, loss: make([]float64, s.N), best: make([]float64, s.N)}
	if settings.FStar == FStarSolved {
		copy(m.best, settings.Solved)
	}
	return m, nil
}

func (m *caFed) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	q, err := m.unbiased(r.Active)
	if err != nil {
		return nil, err
	}
	if err := m.report(ctx, r); err != nil {
		return nil, err
	}
	m.exclude(q)
	return m.run(ctx, r, q)
}

// report asks the active clients for their losses, and updates F̂ and F̂* by them. A client without samples has none.
func (m *caFed) report(ctx context.Context, r Round) error {
	var jobs []nets.EvalJob
	var clients []int
	for _, i := range r.Active {
		if part, index := m.samples(i); len(index) > 0 {
			jobs, clients = append(jobs, nets.EvalJob{Row: m.w, Part: part, Index: index}), append(clients, i)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	results, err := m.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	mean := 0.0
	for k, i := range clients {
		loss := results[k].Loss
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return &nets.DivergedError{Round: r.T, Client: i, Loss: loss}
		}
		mean += loss / float64(len(clients))
	}
	if !m.begun {
		for i := range m.loss {
			m.loss[i] = mean
		}
		for k, i := range clients {
			m.loss[i] = results[k].Loss
		}
		if m.settings.FStar == FStarMin {
			copy(m.best, m.loss)
		}
		m.begun = true
		return nil
	}
	for k, i := range clients {
		m.loss[i] += m.settings.Beta * (results[k].Loss - m.loss[i])
		if m.settings.FStar == FStarMin {
			m.best[i] = min(m.best[i], m.loss[i])
		}
	}
	return nil
}

// samples returns what client i's loss of the round is taken on.
func (m *caFed) samples(i int) (nets.Part, []int32) {
	switch held := m.settings.HeldOut; {
	case m.settings.Losses == FirstBatch:
		return nets.Train, m.Planner.Batch(i, m.taken[i])
	case held != nil:
		return held.Part, held.Index[i]
	}
	return nets.Train, m.Planner.Parts[i]
}

// exclude sets q_i = 0 for the clients that are left out: lines 6 and 7.
func (m *caFed) exclude(q []float64) {
	gap, widest := make([]float64, m.N), 0.0 // widest: Γ̂′
	in := make([]bool, m.N)
	left := 0
	for i := range gap {
		gap[i] = m.loss[i] - m.best[i]
		widest = max(widest, gap[i])
		if in[i] = q[i] > 0; in[i] {
			left++
		}
	}
	if widest == 0 || left == 0 {
		return
	}
	x := newExclusion(m.Importance, gap, in, m.settings.biasFactor()*widest, m.settings.Tau)
	x.pass(byCorrelation(m.availability.Lambda()))
	x.pass(byAvailability(m.availability.Pi()))
	for i, stays := range in {
		if !stays {
			q[i] = 0
		}
	}
}
