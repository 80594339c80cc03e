package stats

import (
	"fmt"
	"math/bits"
)

// Shapley returns the Shapley value of each of n players, exactly: the mean over all orders in which they come together
// of what a player adds to those before it. values holds what every coalition is worth [2^n], player i being in
// coalition s where bit i of s is set. The Shapley values sum to values[2^n − 1] − values[0].
func Shapley(values []float64) ([]float64, error) {
	n := 0
	for len(values) > 1<<n {
		n++
	}
	if len(values) != 1<<n || n == 0 || n > 20 {
		return nil, fmt.Errorf("results: shapley: %d coalitions, want 2^n of n = 1 … 20 players", len(values))
	}
	// weight[k] = k! (n−1−k)! / n!, of a coalition of k without the player
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
