package algos

import (
	"context"
	"math"
	"slices"

	"rollcall/nets"
)

// caFed leaves out clients that are rarely there or stay away for long, as far as a bound on the error gets smaller by
// it (Rodio et al., INFOCOM and ToN 2023, Algorithm 1):
//
//	the active clients report their losses F_i at w                     (line 3; the server knows no other's)
//	F̂_i ← (1−β) F̂_i + β F_i for i∈A; F̂*_i ← min(F̂*_i, F̂_i); Γ̂′ = max_i (F̂_i − F̂*_i)   (line 4, (17)–(19))
//	q = α/π̂; q_i = 0 for some i by |λ̂| descending, then for some by π̂ ascending        (lines 5–7; see [exclusion])
//	w += η_g Σ_{i∈A} q_i Δ_i over the i∈A with q_i > 0                  (lines 8–12)
//
// In the first round in which anybody is there, clients that are not start at the mean loss of those who are. Nobody is
// left out while Γ̂′ = 0 [inferred: in the first round all gaps are 0 and the ties of τ = 0 would remove everybody].
type caFed struct {
	weighted
	bias    float64   // what multiplies d_TV²·Γ̂′
	beta    float64   // β, the weight of a new loss in F̂_i
	tau     float64   // τ, by which ε has to get smaller for a client to be left out
	fstar   string    // what F̂* is
	losses  string    // what the reported losses are taken on
	heldOut *HeldOut  // for LossesHeldOut
	loss    []float64 // [N] F̂
	best    []float64 // [N] F̂*
	begun   bool      // somebody was there
}

var cafedKappa = &Param{
	Name: "kappa", Kind: Number, Default: "1", Range: AtLeast(0),
	Help:      "ca-fed: κ̄²",
	Only:      Condition{Other: cafedBias, None: true, Text: "--bias-const none"},
	Overrides: []Setting{{"bias-const", none}},
}

// The released code and INFOCOM have 1; ToN has 4κ̄².
var cafedBias = &Param{
	Name: "bias-const", Kind: Number, None: true, Default: "1", Paper: none, Range: AtLeast(0),
	Help: "ca-fed: factor of the bias in place of 4κ̄², or none (default: the preset's)",
}

// The printed β = 0 would freeze F̂. It is read as the code's s = 0
// in F̂ ← sF̂ + (1−s)F [inferred]; INFOCOM's 0.2 is 0.8 likewise.
var cafedBeta = &Param{
	Name: "ca-fed-beta", Kind: Number, Default: "1", Range: AboveUpTo(0, 1),
	Help: "ca-fed: weight of a new loss",
}

var cafedTau = &Param{
	Name: "ca-fed-tau", Kind: Number, Default: "0", Range: AtLeast(0),
	Help: "ca-fed: gain below which a client stays",
}

// What F̂* can be.
const (
	FStarMin    = "min"    // the smallest F̂_i so far, as the papers say
	FStarZero   = "zero"   // 0, as the released code has it for MNIST and CIFAR-10
	FStarSolved = "solved" // [Options.Solved], as the released code has it for tabular data
)

var cafedFStar = &Param{
	Name: "fstar", Kind: Word, Default: FStarZero, Paper: FStarMin, Words: []string{FStarMin, FStarZero, FStarSolved},
	Help: "ca-fed: a client's smallest loss is the least so far, zero, or solved for before the first round " +
		"(linear nets): min, zero, solved (default: the preset's)",
}

// What samples the active clients report their losses on.
const (
	LossesBatch   = "batch"    // the batch the client's first step of the round reads, not augmented, as the papers say
	LossesAll     = "all"      // all of the client's training samples
	LossesHeldOut = "held-out" // [Options.HeldOut], as in the released code
)

var cafedLosses = &Param{
	Name: "losses", Kind: Word, Default: LossesAll, Paper: LossesBatch,
	Words: []string{LossesBatch, LossesAll, LossesHeldOut},
	Help: "ca-fed: losses are of the first batch, of all the client's samples, or of those it does not train on: " +
		"batch, all, held-out (default: the preset's)",
}

var caFedMethod = Definition{
	"ca-fed", 1,
	slices.Concat(weightedParams, []*Param{cafedKappa, cafedBias, cafedBeta, cafedTau, cafedFStar, cafedLosses}),
	newCAFed,
}

func newCAFed(s *server, w0 []float32, o Options) (method, error) {
	m := &caFed{
		bias: 4 * cafedKappa.number(o), beta: cafedBeta.number(o), tau: cafedTau.number(o), fstar: cafedFStar.text(o),
		losses: cafedLosses.text(o), heldOut: o.HeldOut, loss: make([]float64, s.N), best: make([]float64, s.N),
	}
	if bias := cafedBias.optional(o); bias != nil {
		m.bias = *bias
	}
	if m.fstar == FStarSolved {
		copy(m.best, o.Solved)
	}
	var err error
	m.weighted, err = newWeighted(s, w0, o)
	return m, err
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

func (m *caFed) state(x *parts) {
	m.weighted.state(x)
	x.flags("begun", &m.begun)
	x.floats("loss", each(m.loss), -math.MaxFloat64, math.MaxFloat64)
	if m.fstar == FStarMin {
		x.floats("best", each(m.best), -math.MaxFloat64, math.MaxFloat64)
	}
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
	}
	for k, i := range clients {
		if m.begun {
			m.loss[i] += m.beta * (results[k].Loss - m.loss[i])
		} else {
			m.loss[i] = results[k].Loss
		}
	}
	for i, loss := range m.loss {
		if m.fstar == FStarMin && (!m.begun || loss < m.best[i]) {
			m.best[i] = loss
		}
	}
	m.begun = true
	return nil
}

// samples returns what client i's loss of the round is taken on.
func (m *caFed) samples(i int) (nets.Part, []int32) {
	switch m.losses {
	case LossesBatch:
		return nets.Train, m.Planner.Batch(i, m.taken[i])
	case LossesHeldOut:
		return m.heldOut.Part, m.heldOut.Index[i]
	}
	return nets.Train, m.Planner.Parts[i]
}

// exclude sets q_i = 0 for the clients that are left out: lines 6 and 7.
func (m *caFed) exclude(q []float64) {
	gap, in := make([]float64, m.N), make([]bool, m.N)
	for i := range gap {
		gap[i], in[i] = m.loss[i]-m.best[i], q[i] > 0
	}
	widest := slices.Max(gap) // Γ̂′
	if widest <= 0 {
		return
	}
	x := newExclusion(m.Importance, gap, in, m.bias*widest, m.tau)
	x.pass(byCorrelation(m.availability.Lambda))
	x.pass(byAvailability(m.availability.Pi))
	for i, stays := range in {
		if !stays {
			q[i] = 0
		}
	}
}
