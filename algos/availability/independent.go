package availability

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/rng/numpy"
)

// independent is a model whose clients are active independently of each other and of other rounds. Such a model is
// fully described by the probabilities p_i^t.
type independent struct {
	Options
	at func(t int) func(p float64) float64 // p_i^t of a client with p_i = p, before it is clipped to [0, 1]
}

func (m *independent) Probabilities(t int, p []float64) {
	at := m.at(t)
	for i, base := range m.Base {
		p[i] = min(1, max(0, at(base)))
	}
}

// Stationary returns the mean of p_i^t over a cycle of P rounds, and λ = 0.
func (m *independent) Stationary() (pi, lambda []float64) {
	return mean(m, len(m.Base), m.Period), make([]float64, len(m.Base))
}

func (m *independent) Active(t int) []int {
	p := make([]float64, len(m.Base))
	m.Probabilities(t, p)
	return Draw(p, m.Seed, t)
}

func stationary(o Options) (Model, error) {
	o.Period = 1
	return &independent{Options: o, at: func(int) func(float64) float64 { return times(1) }}, nil
}

// staircase: if P is odd, the middle round belongs to the first half of the cycle.
func staircase(o Options) (Model, error) {
	return &independent{Options: o, at: func(t int) func(float64) float64 {
		if 2*(t%o.Period) < o.Period {
			return times(1)
		}
		return times(o.Low)
	}}, nil
}

// sine: with γ ≥ 0.5 the probability falls to 0 once per cycle.
func sine(o Options) (Model, error) {
	return &independent{Options: o, at: func(t int) func(float64) float64 { return times(o.wave(t)) }}, nil
}

// interleavedSine: a client with p_i < δ_0 is never active.
func interleavedSine(o Options) (Model, error) {
	return &independent{Options: o, at: func(t int) func(float64) float64 {
		wave := o.wave(t)
		return func(p float64) float64 {
			if v := p * wave; v >= o.Cutoff {
				return v
			}
			return 0
		}
	}}, nil
}

// times returns the function that multiplies by a factor.
func times(factor float64) func(p float64) float64 {
	return func(p float64) float64 { return p * factor }
}

// uniform: the p_i are evenly spaced, from p_min for client 0 to 1 for the last client, and rounds are independent
// (FedAR, section 5). The paper prints the two ends; even spacing is inferred. A single client has p_min.
func uniform(o Options) (Model, error) {
	if !(o.PMin > 0 && o.PMin <= 1) {
		return nil, fmt.Errorf("smallest probability %g, want above 0 and at most 1", o.PMin)
	}
	for i := range o.Base {
		o.Base[i] = o.PMin + (1-o.PMin)*float64(i)/float64(max(1, len(o.Base)-1))
	}
	return stationary(o)
}

// logNormal: the p_i are exp(σ·z_i), divided by the largest. z_i is the first normal number of stream (0, i, 5) of
// [rng.Availability].
func logNormal(o Options) (Model, error) {
	if err := o.drawLogNormal(); err != nil {
		return nil, err
	}
	return stationary(o)
}

// logNormalSine: p_i as in logNormal, so that π_i = p_i/2.
func logNormalSine(o Options) (Model, error) {
	if err := o.drawLogNormal(); err != nil {
		return nil, err
	}
	return &independent{Options: o, at: func(t int) func(float64) float64 { return times(0.4*o.sin(t) + 0.5) }}, nil
}

func (o *Options) drawLogNormal() error {
	if !(o.Sigma >= 0 && o.Sigma < 100) { // exp(-100·z) is 0 for all but one client
		return fmt.Errorf("sigma %g, want at least 0 and below 100", o.Sigma)
	}
	key := drawsOf(o.Seed)
	for i := range o.Base {
		o.Base[i] = o.Sigma * key.Stream(0, i, 5).Normal()
	}
	most := slices.Max(o.Base)
	for i := range o.Base {
		o.Base[i] = math.Exp(o.Base[i] - most)
	}
	return nil
}

// dataSize: of the clients with samples. A client without samples has p_i = 0.
func dataSize(o Options) (Model, error) {
	if o.Sizes == nil {
		o.Sizes = slices.Repeat([]int{1}, len(o.Base))
	}
	if math.IsNaN(o.SizePower) || math.IsInf(o.SizePower, 0) {
		return nil, fmt.Errorf("power %g, want a finite number", o.SizePower)
	}
	if len(o.Sizes) != len(o.Base) {
		return nil, fmt.Errorf("sizes of %d clients, want %d", len(o.Sizes), len(o.Base))
	}
	least, most := math.MaxInt, 0
	for _, n := range o.Sizes {
		if n > 0 {
			least, most = min(least, n), max(most, n)
		}
	}
	for i, n := range o.Sizes {
		switch {
		case n <= 0:
			o.Base[i] = 0
		case o.SizePower >= 0:
			o.Base[i] = math.Pow(float64(n)/float64(most), o.SizePower)
		default:
			o.Base[i] = math.Pow(float64(least)/float64(n), -o.SizePower)
		}
	}
	return stationary(o)
}

// Draw returns the clients that are active in round t if client i is active with probability p[i], independently of the
// others. They are ascending; the slice is empty, not nil, if there are none. Client i is active if its uniform number
// is below p[i]. So a client with p 0 is never active and a client with p 1 always, and with the same seed a larger p
// only adds clients.
//
// The number is at counter (t+1, i, 0) of [rng.Availability]: round 0 of that purpose belongs to [Base].
func Draw(p []float64, seed uint32, t int) []int {
	key := drawsOf(seed)
	return clientsWho(len(p), func(i int) bool {
		return p[i] > 0 && (p[i] >= 1 || key.Stream(t+1, i, 0).Float64() < p[i]) // without a draw where it is certain
	})
}

// Base returns p_i = ⟨shares[i], φ⟩ [N], where shares[i][c] is the fraction of client i's samples that are of class c
// and φ_c is uniform in (0, 1) for the first half of the classes and in (0, 0.5) for the second (FedAWE, section 7).
// All clients share one φ, which depends on the seed. A client without samples has shares of 0, and so p_i = 0.
func Base(shares [][]float64, seed uint32) []float64 {
	return base(shares, drawsOf(seed).Stream(0, 0, 0).Float64)
}

// base returns ⟨shares[i], φ⟩ [N]. It draws φ class by class, from as many uniform numbers as there are classes.
func base(shares [][]float64, uniform func() float64) []float64 {
	var phi []float64 // φ, drawn at the first client
	p := make([]float64, len(shares))
	for i, share := range shares {
		for c := len(phi); c < len(share); c++ {
			phi = append(phi, uniform())
			if 2*c >= len(share) {
				phi[c] /= 2
			}
		}
		for c, s := range share {
			p[i] += s * phi[c]
		}
		p[i] = min(1, p[i]) // rounded shares may sum to a little more than 1
	}
	return p
}

// BaseNumPy is [Base] with φ drawn as in FedAWE's released code: one number of r per class, where r is the generator
// that has drawn the split before.
func BaseNumPy(shares [][]float64, r *numpy.Random) []float64 { return base(shares, r.Float64) }

// NumPy returns a model with the probabilities of p whose activity is drawn as in FedAWE's released code: client by
// client, round by round, from the generator r, which [BaseNumPy] has used before. Nobody else may use r afterwards.
// [Model.Active] draws all rounds up to the one asked for, and keeps them, so that it depends on the round alone.
func NumPy(p Model, clients int, r *numpy.Random) Model {
	return &numPy{Model: p, r: r, p: make([]float64, clients)}
}

type numPy struct {
	Model
	r     *numpy.Random
	p     []float64 // [N] scratch
	drawn [][]int   // the active clients of every round drawn so far
}

func (n *numPy) Active(t int) []int {
	for round := len(n.drawn); round <= t; round++ {
		n.Probabilities(round, n.p)
		n.drawn = append(n.drawn, clientsWho(len(n.p), func(i int) bool { return n.r.Bernoulli(n.p[i]) }))
	}
	return n.drawn[t]
}
