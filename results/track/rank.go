package track

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"rollcall/results/stats"
)

// rankP returns the probability that the nights before and after a split differ as much as they do, or more, by chance.
// It is the exact two-sided p-value of the Mann-Whitney U test (Mann and Whitney 1947), which assumes nothing about the
// distribution of speeds.
//
// The test has no exact probabilities with ties, so rankP breaks ties first. Of equal values on both sides, the later
// one is ranked as if it had moved against the shift, which can only make the probability larger. The order of equal
// values on one side makes no difference.
func rankP(before, after []float64) float64 {
	up := stats.Median(after).Value > stats.Median(before).Value
	b, a := untied(before, after, up)
	thresholds := benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(b, &thresholds), benchmath.NewSample(a, &thresholds)).P
}

// untied returns the ranks of the values before and after the split; up says that the values went up. Of equal values,
// the one after the split gets the rank that is farther from the shift: the lower rank if the values went up.
func untied(before, after []float64, up bool) (b, a []float64) {
	type value struct {
		x     float64
		after bool
	}
	var all []value
	for i, x := range slices.Concat(before, after) {
		all = append(all, value{x, i >= len(before)})
	}
	// The sort is stable, so equal values of one side keep their order, which the test ignores.
	slices.SortStableFunc(all, func(v, w value) int {
		if c := cmp.Compare(v.x, w.x); c != 0 || v.after == w.after {
			return c
		}
		if v.after == up {
			return -1
		}
		return 1
	})
	for i, v := range all {
		if v.after {
			a = append(a, float64(i))
		} else {
			b = append(b, float64(i))
		}
	}
	return b, a
}

// leastP returns the smallest probability that [rankP] can return for n and k values: 2 / (n+k choose k).
func leastP(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + k + 1))
	b, _ := math.Lgamma(float64(n + 1))
	c, _ := math.Lgamma(float64(k + 1))
	return min(1, 2*math.Exp(b+c-a))
}
