package track

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"rollcall/results/stats"
)

// rankP is the exact two-sided probability of the Mann-Whitney U test (Mann and Whitney 1947) that nights before and
// after a split differ so much by chance. It assumes nothing of how speeds are distributed.
//
// The test has no exact probabilities with ties, so there are none: a value that is on both sides counts as if it had
// not shifted, which can only make the probability larger, and the order of equal values on one side has no say.
func rankP(before, after []float64) float64 {
	up := stats.Median(after).Value > stats.Median(before).Value
	b, a := untied(before, after, up)
	thresholds := benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(b, &thresholds), benchmath.NewSample(a, &thresholds)).P
}

// untied returns the ranks of both sides. Of equal values those after the split are on the side they did not shift to.
func untied(before, after []float64, up bool) (b, a []float64) {
	type value struct {
		x     float64
		after bool
	}
	var all []value
	for i, x := range slices.Concat(before, after) {
		all = append(all, value{x, i >= len(before)})
	}
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

// leastP is what rankP returns for n and k values that are all apart: 2 / (n+k choose k).
func leastP(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + k + 1))
	b, _ := math.Lgamma(float64(n + 1))
	c, _ := math.Lgamma(float64(k + 1))
	return min(1, 2*math.Exp(b+c-a))
}
