package stats

import (
	"cmp"
	"slices"
)

// Holm returns the p-values of a family of tests, adjusted so that the probability of one false rejection or more in
// the whole family is at most the level at which they are read (Holm, Scandinavian Journal of Statistics 1979). The
// k-th smallest of m, counted from 0, becomes the largest of (m − j)·p_j over j ≤ k, and at most 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for k, i := range order {
		largest = max(largest, min(1, float64(len(p)-k)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}
