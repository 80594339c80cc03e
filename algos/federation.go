package algos

import (
	"fmt"
	"math"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// Federation is what a method is given: the engine, the clients, and how they train. It is the same for every method
// and is not changed by any, so that one Federation can serve one run after the other.
type Federation struct {
	Engine      nets.Engine
	N           int
	Seed        uint32        // names the random streams of dropout
	Planner     *plan.Planner // the clients' samples, E and B
	Importance  []float64     // [N] α_i, not negative, sums to 1
	P           []float64     // [N] p_i, or π_i of a process with a memory, in [0, 1]; 0: a client that is never there
	Lambda      []float64     // [N] λ_i, in [−1, 1]; nil: 0 for all, independent rounds
	WeightDecay float64       // of the local steps
	Momentum    float64       // of the local steps, in [0, 1); each client's momentum persists across rounds
	Clip        *float64      // largest norm of a local gradient; nil: none
}

// Validate reports the first setting no method can work with.
func (f *Federation) Validate() error {
	switch {
	case f.Engine == nil || f.Planner == nil:
		return fmt.Errorf("algos: federation: no engine or no planner, want both")
	case f.N < 1:
		return fmt.Errorf("algos: federation: %d clients, want at least 1", f.N)
	case len(f.Importance) != f.N || len(f.P) != f.N || len(f.Planner.Parts) != f.N:
		return fmt.Errorf("algos: federation: importance of %d, probabilities of %d, samples of %d clients, want %d of each",
			len(f.Importance), len(f.P), len(f.Planner.Parts), f.N)
	case f.Lambda != nil && len(f.Lambda) != f.N:
		return fmt.Errorf("algos: federation: lambda of %d clients, want %d", len(f.Lambda), f.N)
	case !isNotNegative(f.WeightDecay):
		return fmt.Errorf("algos: federation: weight decay %g, want 0 or more", f.WeightDecay)
	case !(f.Momentum >= 0 && f.Momentum < 1):
		return fmt.Errorf("algos: federation: momentum %g, want at least 0 and below 1", f.Momentum)
	case f.Clip != nil && !isPositive(*f.Clip):
		return fmt.Errorf("algos: federation: clip at norm %g, want positive", *f.Clip)
	}
	sum := 0.0
	for i, a := range f.Importance {
		if !(a >= 0) {
			return fmt.Errorf("algos: federation: client %d: importance %g, want 0 or more", i, a)
		}
		if p := f.P[i]; !(p >= 0 && p <= 1) {
			return fmt.Errorf("algos: federation: client %d: probability %g, want 0 … 1", i, p)
		}
		sum += a
	}
	for i, l := range f.Lambda {
		if !(l >= -1 && l <= 1) {
			return fmt.Errorf("algos: federation: client %d: lambda %g, want −1 … 1", i, l)
		}
	}
	if !(math.Abs(sum-1) <= 1e-6) {
		return fmt.Errorf("algos: federation: importance sums to %g, want 1", sum)
	}
	return f.Planner.Validate()
}

// Equal returns the importance α_i = 1/N of every client, FedAWE's objective.
func Equal(n int) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = 1 / float64(n)
	}
	return a
}
