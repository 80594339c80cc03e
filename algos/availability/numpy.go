package availability

import "rollcall/datasets/rng/numpy"

// BaseNumPy is [Base] with φ drawn as in FedAWE's released code: one number of r per class, where r is the generator
// that has drawn the split before.
func BaseNumPy(shares [][]float64, r *numpy.Random) []float64 { return base(shares, r.Float64) }

// NumPy returns a model with the probabilities of p whose activity is drawn as in FedAWE's released code: client by
// client, round by round, from the generator r, which [BaseNumPy] has used before. Nobody else may use r afterwards.
// [Model.Active] draws all rounds up to the one asked for, and keeps them, so that it depends on the round alone.
func NumPy(p Model, clients int, r *numpy.Random) Model {
	return &numPy{Model: p, r: r, p: make([]float64, clients)}
}

// numPy is the model that [NumPy] returns.
type numPy struct {
	Model
	r     *numpy.Random
	p     []float64 // [N] scratch
	drawn [][]int   // the active clients of every round drawn so far
}

// Active implements [Model].
func (n *numPy) Active(t int) []int {
	for round := len(n.drawn); round <= t; round++ {
		n.Probabilities(round, n.p)
		n.drawn = append(n.drawn, clientsWho(len(n.p), func(i int) bool { return n.r.Bernoulli(n.p[i]) }))
	}
	return n.drawn[t]
}
