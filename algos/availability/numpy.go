package availability

import "rollcall/datasets/rng"

// BaseNumPy is [Base] with φ drawn as FedAWE's released code draws it, from where r is after the split: one number for
// each class.
func BaseNumPy(shares [][]float64, r *rng.NumPy) []float64 { return base(shares, r.Float64) }

// NumPy returns a process whose activity is drawn as FedAWE's released code draws it: client by client, round by round,
// from where r is after [BaseNumPy]. Probabilities are those of p. It draws ahead as rounds are asked for, so
// [Process.Active] is a function of the round all the same. It takes r over.
func NumPy(p Process, clients int, r *rng.NumPy) Process {
	return &numPy{Process: p, r: r, p: make([]float64, clients)}
}

type numPy struct {
	Process
	r     *rng.NumPy
	p     []float64 // [N] scratch
	drawn [][]int   // active clients of the rounds so far
}

// Active implements [Process].
func (n *numPy) Active(t int) []int {
	for round := len(n.drawn); round <= t; round++ {
		n.Probabilities(round, n.p)
		n.drawn = append(n.drawn, clientsWho(len(n.p), func(i int) bool { return n.r.Bernoulli(n.p[i]) }))
	}
	return n.drawn[t]
}
