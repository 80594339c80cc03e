package stats

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Component is an estimate of a variance, with a confidence interval.
type Component struct {
	Variance  float64 // unbiased; of a factor it is negative where the factor makes less than the rest would by chance
	Low, High float64 // the interval, of variances of 0 or more
	DF        float64 // degrees of freedom of the mean square behind it; of the sum, Satterthwaite's
}

// Components are the parts of the variance of the values of a crossed design.
type Components struct {
	Factors []Component // in the order of the factors
	Rest    Component   // interactions of factors, and noise
	Sum     Component   // of all parts: the variance of a value whose factors have fresh levels
}

// CrossedComponents splits the variance of y into the parts of crossed random factors. level[f][i] is the level of
// factor f, 0 … L_f − 1, in the experiment that gave y[i]. There are two factors or more, and any two levels of two of
// them must have met in exactly one experiment, which is not checked here. Then every interaction has other values in
// all experiments, as noise has, so that the analysis of variance is exact with all interactions in the rest:
//
//	E MS_f = J_f σ_f² + σ²,  E MS = σ²,  J_f experiments at each level
//	σ̂_f² = (MS_f − MS)/J_f
//
// confidence is the probability of each interval, if all effects are normal: exact for the rest, for the factors
// Williams's (Biometrika 1962), which covers at least 1 − 2(1 − confidence) and in practice confidence, and
// Satterthwaite's for the sum.
func CrossedComponents(y []float64, level [][]int, confidence float64) (c Components, err error) {
	if !Finite(y...) {
		return c, fmt.Errorf("stats: components: %v, want finite numbers", y)
	}
	n, mean := float64(len(y)), Mean(y).Value
	rest, df := 0.0, n-1 // sum of squares and degrees of freedom that the factors leave
	for _, v := range y {
		rest += (v - mean) * (v - mean)
	}
	squares, levels := make([]float64, len(level)), make([]int, len(level)) // MS_f and L_f
	for f, of := range level {
		levels[f] = slices.Max(of) + 1
		means := make([]float64, levels[f])
		per := n / float64(levels[f])
		for i, l := range of {
			means[l] += y[i] / per
		}
		sum := 0.0
		for _, m := range means {
			sum += per * (m - mean) * (m - mean)
		}
		free := float64(levels[f] - 1)
		squares[f], rest, df = sum/free, rest-sum, df-free
	}
	if df < 1 {
		return c, fmt.Errorf("stats: components: %d factors in %d experiments, want fewer factors: nothing is left "+
			"for the rest", len(level), len(y))
	}
	noise := max(rest, 0) / df // rounding can make the rest negative
	tail := (1 - confidence) / 2
	c.Rest = chiSquaredInterval(noise, df, tail)
	// Σ c_i MS_i, the coefficient of the rest's MS, and Satterthwaite's Σ (c_i MS_i)²/df_i
	sum, own, spread := 0.0, 1.0, 0.0
	for f, square := range squares {
		free, per := float64(levels[f]-1), n/float64(levels[f])
		c.Factors = append(c.Factors, williams(square, free, noise, df, per, tail))
		sum, own, spread = sum+square/per, own-1/per, spread+square*square/(per*per*free)
	}
	sum, spread = sum+own*noise, spread+own*own*noise*noise/df
	free := 1.0
	if spread > 0 {
		free = sum * sum / spread
	}
	c.Sum = chiSquaredInterval(sum, free, tail)
	return c, nil
}

// chiSquaredInterval returns a variance with its interval: df·variance/σ² is χ² with df degrees of freedom.
func chiSquaredInterval(variance, df, tail float64) Component {
	chi := distuv.ChiSquared{K: df}
	return Component{variance, df * variance / chi.Quantile(1-tail), df * variance / chi.Quantile(tail), df}
}

// williams returns the component of a factor with its interval: from the F distribution of both mean squares, and the
// χ² distribution of the factor's.
func williams(square, free, noise, df, per, tail float64) Component {
	f, chi := distuv.F{D1: free, D2: df}, distuv.ChiSquared{K: free}
	end := func(p float64) float64 {
		return max(0, free*(square-f.Quantile(p)*noise)/(per*chi.Quantile(p)))
	}
	return Component{(square - noise) / per, end(1 - tail), end(tail), free}
}
