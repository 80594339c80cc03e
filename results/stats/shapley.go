package stats

import (
	"fmt"
	"math/bits"
)

// Shapley returns the exact Shapley value of each of n players (L. S. Shapley, 1953): the gain when the player joins
// the players before it, averaged over all orders of the players.
//
// values [2^n] holds the worth of every coalition; player i is in coalition s if bit i of s is set. The Shapley values
// sum to values[2^n − 1] − values[0].
func Shapley(values []float64) ([]float64, error) {
	n := 0
	for len(values) > 1<<n {
		n++
	}
	if len(values) != 1<<n || n == 0 || n > 20 {
		return nil, fmt.Errorf("results: shapley: %d coalitions, want 2^n of n = 1 … 20 players", len(values))
	}
	// weight[k] = k! (n−1−k)! / n! is the weight of a coalition of k other players
	weight := make([]float64, n)
	weight[0] = 1 / float64(n)
	for k := 1; k < n; k++ {
		weight[k] = weight[k-1] * float64(k) / float64(n-k)
	}
	phi := make([]float64, n)
	for s, v := range values {
		size := bits.OnesCount(uint(s))
		for i := range n {
			if s>>i&1 == 0 {
				phi[i] += weight[size] * (values[s|1<<i] - v)
			}
		}
	}
	return phi, nil
}
