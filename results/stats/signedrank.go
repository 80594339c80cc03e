package stats

import (
	"math"
	"slices"
)

// SignedRank returns the exact two-sided p-value of Wilcoxon's signed-rank test: the share of all choices of signs for
// the differences d that bring the sum of the signed ranks of |d| at least as far from 0 (Wilcoxon, Biometrics Bulletin
// 1945). If each difference is as likely to be −d as d, whatever its distribution, p ≤ x has a probability of at most
// x. Equal |d| share their mean rank. A difference of 0 has a rank and no sign (Pratt, Journal of the American
// Statistical Association 1959).
func SignedRank(d []float64) float64 {
	sum := 0
	ranks := doubledRanks(d)
	var signed []int // the ranks of the differences that are not 0
	for i, x := range d {
		if x == 0 {
			continue
		}
		signed = append(signed, ranks[i])
		if x > 0 {
			sum += ranks[i]
		}
	}
	// By symmetry both tails are as likely.
	total, tail := 0, 0.0
	for _, r := range signed {
		total += r
	}
	for _, p := range rankSums(signed)[:min(sum, total-sum)+1] {
		tail += p
	}
	return min(1, 2*tail)
}

// SignedRankInterval returns the Hodges-Lehmann estimate of the center of symmetry of values, the median of all means
// of two of them, and the interval of the centers that [SignedRank] does not reject at a level (Hodges and Lehmann,
// Annals of Mathematical Statistics 1963). Single values that are far off hardly move it. The interval is infinite if
// there are too few values for the level: six are enough for 5 %.
func SignedRankInterval(x []float64, level float64) (center, low, high float64) {
	var means []float64
	ranks := make([]int, len(x)) // as of values without ties
	for i := range x {
		ranks[i] = i + 1
		for _, y := range x[:i+1] {
			means = append(means, (x[i]+y)/2)
		}
	}
	slices.Sort(means)
	outside, tail := 0, 0.0 // so many means at each end are not in the interval
	for _, p := range rankSums(ranks) {
		if tail += p; tail > level/2 {
			break
		}
		outside++
	}
	low, high = math.Inf(-1), math.Inf(1)
	if outside > 0 {
		low, high = means[outside-1], means[len(means)-outside]
	}
	return Median(means).Value, low, high
}

// doubledRanks returns twice the rank of each |d|, the smallest being 1; equal ones share the mean of their ranks.
func doubledRanks(d []float64) []int {
	sorted := make([]float64, len(d))
	for i, x := range d {
		sorted[i] = math.Abs(x)
	}
	slices.Sort(sorted)
	ranks := make([]int, len(d))
	for i, x := range d {
		first, _ := slices.BinarySearch(sorted, math.Abs(x))
		next := first
		for next < len(sorted) && sorted[next] == math.Abs(x) {
			next++
		}
		ranks[i] = first + 1 + next
	}
	return ranks
}

// rankSums returns the probability of each sum, from 0 on, of the ranks that a fair coin chooses.
func rankSums(ranks []int) []float64 {
	p := []float64{1}
	for _, r := range ranks {
		more := make([]float64, len(p)+r)
		for sum, x := range p {
			more[sum] += x / 2
			more[sum+r] += x / 2
		}
		p = more
	}
	return p
}
