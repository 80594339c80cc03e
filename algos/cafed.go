package algos

import (
	"cmp"
	"context"
	"math"
	"slices"

	"rollcall/nets"
)

// caFed excludes clients as far as that makes a bound on the error smaller:
//
//	the active clients report their losses F_i at w                     (line 3; the server learns no other losses)
//	F̂_i ← (1−β) F̂_i + β F_i for i∈A; F̂*_i ← min(F̂*_i, F̂_i); Γ̂′ = max_i (F̂_i − F̂*_i)   (line 4, (17)–(19))
//	q = α/π̂; q_i = 0 for some i by |λ̂| descending, then for some by π̂ ascending        (lines 5–7; see [exclusion])
//	w += η_g Σ_{i∈A} q_i Δ_i over the i∈A with q_i > 0                  (lines 8–12)
//
// In the first round with an active client, F̂_i of the inactive clients starts at the mean loss of the active ones.
// Nobody is excluded while Γ̂′ = 0: in the first round all gaps are 0, and with τ = 0 ties would exclude everybody
// [inferred].
type caFed struct {
	weighted
	bias    float64   // the factor of d_TV²·Γ̂′
	beta    float64   // β, the weight of a new loss in F̂_i
	tau     float64   // τ, the least decrease of ε for which a client is excluded
	fstar   string    // what F̂* is: one of the FStar constants
	losses  string    // which samples the reported losses are computed on: one of the Losses constants
	heldOut *HeldOut  // for LossesHeldOut
	loss    []float64 // [N] F̂
	best    []float64 // [N] F̂*
	begun   bool      // whether a client has reported a loss so far
}

var cafedKappa = &Param{
	Name: "kappa", Kind: Number, Default: "1", Range: AtLeast(0),
	Help:      "ca-fed: κ̄²",
	Only:      []Condition{{Other: cafedBias, None: true, Text: "--bias-const none"}},
	Overrides: []Setting{{"bias-const", none}},
}

// The factor is 1 in the released code and in INFOCOM, 4κ̄² in ToN.
var cafedBias = &Param{
	Name: "bias-const", Kind: Number, None: true, Default: "1", Paper: none, Range: AtLeast(0),
	Help: "ca-fed: factor of the bias in place of 4κ̄², or none (default: the preset's)",
}

// β is the weight of the new loss, (16) in INFOCOM and (17) in ToN. INFOCOM prints β = 0.2. The released code has the
// weight s of the old estimate in its place, F̂ ← sF̂ + (1−s)F, so that β = 1−s. ToN prints β = 0, which would never
// change F̂, and which its own (17) excludes. It is taken for s, so that β = 1 [inferred].
var cafedBeta = &Param{
	Name: "ca-fed-beta", Kind: Number, Default: "1", Range: AboveUpTo(0, 1),
	Help: "ca-fed: weight of a new loss",
}

var cafedTau = &Param{
	Name: "ca-fed-tau", Kind: Number, Default: "0", Range: AtLeast(0),
	Help: "ca-fed: gain below which a client stays",
}

// The values of parameter fstar: what F̂* is.
const (
	FStarMin = "min" // the smallest F̂_i since client i, or for a start any client, reported a loss
	// 0: as in the released code for MNIST and CIFAR-10, and as in the papers' min over s ∈ [0, t] of F̂_i^(s) if
	// F̂_i^(0) is 0, as the code starts it
	FStarZero   = "zero"
	FStarSolved = "solved" // [Options.Solved], as in the released code for tabular data
)

var cafedFStar = &Param{
	Name: "fstar", Kind: Word, Default: FStarZero, Words: []string{FStarMin, FStarZero, FStarSolved},
	Help: "ca-fed: a client's smallest loss is the least so far, zero, or solved for before the first round " +
		"(linear nets): min, zero, solved",
}

// The values of parameter losses: which samples the active clients compute their losses on.
const (
	LossesBatch   = "batch"    // the batch of the client's first step in the round, not augmented, as in the papers
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
	Name:  "ca-fed",
	Brief: "unbiased without clients whose absence makes an error bound smaller",
	Idea: "Excludes clients that are rarely active, or stay inactive for long, as far as that makes a bound on the " +
		"error smaller: less variance for a little bias. ε(q) is the bound, and π̂_i the availability as far as it " +
		"is known.",
	Formula:  "w += η_g · Σ_{i∈A} q_i Δ_i, q_i = α_i/π̂_i, or 0 where that lowers ε(q) by τ or more",
	Paper:    paperCAFed + ", Algorithm 1",
	Revision: 1, Is: FedAvg | Chooses | UsesPi | UsesImportance,
	Params: slices.Concat(weightedParams,
		[]*Param{cafedKappa, cafedBias, cafedBeta, cafedTau, cafedFStar, cafedLosses}),
	start: newCAFed,
}

// newCAFed starts at the model w0, with F̂* solved for beforehand if the options say so.
func newCAFed(s *server, w0 []float32, o Options) (method, error) {
	m := &caFed{
		bias: 4 * cafedKappa.Number(o), beta: cafedBeta.Number(o), tau: cafedTau.Number(o), fstar: cafedFStar.Text(o),
		losses: cafedLosses.Text(o), heldOut: o.HeldOut, loss: make([]float64, s.N), best: make([]float64, s.N),
	}
	if bias := cafedBias.Optional(o); bias != nil {
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

func (m *caFed) state(p *parts) {
	m.weighted.state(p)
	p.flags("begun", &m.begun)
	p.floats("loss", each(m.loss), -math.MaxFloat64, math.MaxFloat64)
	if m.fstar == FStarMin {
		p.floats("best", each(m.best), -math.MaxFloat64, math.MaxFloat64)
	}
}

// report computes the losses of the active clients at w, and updates F̂ and F̂* (lines 3 and 4). It skips clients
// without samples, which have no loss.
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

// samples returns the samples on which client i computes its loss in this round.
func (m *caFed) samples(i int) (nets.Part, []int32) {
	switch m.losses {
	case LossesBatch:
		return nets.Train, m.Planner.Batch(i, m.taken[i])
	case LossesHeldOut:
		return m.heldOut.Part, m.heldOut.Index[i]
	}
	return nets.Train, m.Planner.Parts[i]
}

// exclude sets q_i = 0 for the clients that are excluded (lines 6 and 7).
func (m *caFed) exclude(q []float64) {
	gap, in := make([]float64, m.N), make([]bool, m.N)
	for i := range gap {
		gap[i], in[i] = m.loss[i]-m.best[i], q[i] > 0
	}
	widest := slices.Max(gap) // Γ̂′
	if widest <= 0 {
		return
	}
	e := newExclusion(m.Importance, gap, in, m.bias*widest, m.tau)
	e.pass(byCorrelation(m.availability.Lambda))
	e.pass(byAvailability(m.availability.Pi))
	for i, stays := range in {
		if !stays {
			q[i] = 0
		}
	}
}

// exclusion is the function get of Algorithm 1 with its ε(q) (CA-Fed, ToN, (20)). For every client it tries, the
// algorithm adds over all N clients; here one addition per client is enough.
//
//	ε(q) = ⟨F̂−F̂*, π̂⊙̃q⟩ + bias · d_TV²(α, π̂⊙̃q),  bias = 4κ̄²·Γ̂′ or bias_const·Γ̂′
//
// q is α/π̂ for the clients that are in, and 0 for the others. So π̂⊙̃q is α restricted to the clients that are in,
// divided by S = Σ_in α. Hence
//
//	⟨F̂−F̂*, π̂⊙̃q⟩ = G/S with G = Σ_in α_i (F̂_i − F̂*_i)
//	d_TV = ½ (Σ_out α + Σ_in |α − α/S|) = ½ (Σα − S + |1 − S|)
//
// Without client i, which has importance α_i and gap f_i, ε is smaller by
//
//	α_i (f_i S − G)/(S (S − α_i)) + bias · (d_TV² − d_TV⁺²)
//
// where d_TV⁺ is the distance without client i. The sign of this expression is right even for clients of very small
// weight, for which the difference of two rounded ε would be lost in rounding errors.
type exclusion struct {
	alpha, gap []float64 // [N] α_i and F̂_i − F̂*_i
	bias, tau  float64
	in         []bool  // [N] the clients that are in: at the start, those with q_i > 0
	left       int     // how many clients are in
	costly     int     // how many of them have a gap other than 0; if none has, G is exactly 0
	total      float64 // Σα
	s, g       exactSum
}

// newExclusion starts with the clients in [N]. It keeps the slice, and pass changes it.
func newExclusion(alpha, gap []float64, in []bool, bias, tau float64) *exclusion {
	e := &exclusion{alpha: alpha, gap: gap, bias: bias, tau: tau, in: in}
	for i, here := range in {
		e.total += alpha[i]
		if here {
			e.move(i, 1)
		}
	}
	return e
}

// move takes client i in (1) or out (−1).
func (e *exclusion) move(i, sign int) {
	e.left += sign
	e.s.add(float64(sign) * e.alpha[i])
	if e.gap[i] != 0 {
		e.costly += sign
		e.g.add(float64(sign) * (e.alpha[i] * e.gap[i]))
	}
}

// gain returns ε(q) − ε(q⁺), the amount by which ε is smaller without client i.
func (e *exclusion) gain(i int) float64 {
	rest := e.s
	rest.add(-e.alpha[i])
	s, next, g := e.s.value(), rest.value(), 0.0
	if e.costly > 0 {
		g = e.g.value()
	}
	d, dNext := e.distance(s), e.distance(next)
	return e.alpha[i]*(e.gap[i]*s-g)/(s*next) + e.bias*(d-dNext)*(d+dNext)
}

// distance returns d_TV for Σ_in α = s.
func (e *exclusion) distance(s float64) float64 { return (e.total - s + math.Abs(1-s)) / 2 }

// pass tries the clients in the given order, and excludes a client if ε is then smaller by at least τ (lines 14–21). It
// keeps the last client, since ε of no clients is undefined.
func (e *exclusion) pass(order []int) {
	for _, i := range order {
		if e.left == 1 {
			return
		}
		if e.in[i] && e.gain(i) >= e.tau {
			e.in[i] = false
			e.move(i, -1)
		}
	}
}

// exactSum adds with twice the precision of float64 (Knuth's two-sum), so that subtracting thousands of terms again
// gives the same as a fresh sum over the others.
type exactSum struct{ high, low float64 }

// add adds v: high becomes the rounded sum, low collects the rounding errors.
func (s *exactSum) add(v float64) {
	sum := s.high + v
	part := sum - s.high
	s.low += (s.high - (sum - part)) + (v - part)
	s.high = sum
}

func (s *exactSum) value() float64 { return s.high + s.low }

// byCorrelation returns the clients by |λ̂|, descending; of equals, the client with the smaller number comes first.
func byCorrelation(lambda []float64) []int {
	return ordered(lambda, func(l float64) float64 { return -math.Abs(l) })
}

// byAvailability returns the clients by π̂, ascending; of equals, the client with the smaller number comes first.
func byAvailability(pi []float64) []int {
	return ordered(pi, func(p float64) float64 { return p })
}

// ordered returns the indices of x, sorted by the key of their elements, ascending and stable.
func ordered(x []float64, key func(float64) float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(x[i]), key(x[j])) })
	return order
}
