package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// dirichlet cuts the samples by draws from the symmetric Dirichlet(alpha·1), and returns the samples of each client,
// or of each cluster, class by class in file order. The samples of class c, in file order, are cut at
// round(n_c · Σ_{j≤i} ν_jc / Σ_j ν_jc), halves to even. Every sample goes to exactly one client; sizes differ, and a
// client may get none.
//
// For SplitClients ν_i is client i's draw over the classes, as FedAWE has it. Else ν_jc is the share of j in class c's
// draw over the clients or clusters, as CA-Fed has it (ToN, section V-A, after Yurochkin et al. 2019, with alpha =
// 0.5).
//
// With o.NumPy, ν is drawn as FedAWE's released code draws it, the split that code has after numpy.random.seed. An
// alpha so small that NumPy's draws vanish is an error.
func dirichlet(train *plan.Samples, o SplitOptions, key rng.Key) ([][]int32, error) {
	byClass, err := samplesByClass(train, 1)
	switch {
	case err != nil:
		return nil, err
	case !(o.Alpha >= 1e-300) || math.IsInf(o.Alpha, 1):
		return nil, fmt.Errorf("datasets: split: alpha %g, want a finite positive number (1e-300 or more)", o.Alpha)
	}
	logNu := o.logShares(train.Classes, key)
	for i, nu := range logNu {
		if slices.ContainsFunc(nu, math.IsNaN) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, client %d's shares all vanish", o.Alpha, i)
		}
	}

	parts := make([][]int32, len(logNu))
	share := make([]float64, len(logNu))
	for c, own := range byClass {
		for i := range share {
			share[i] = logNu[i][c]
		}
		total := expScaled(share)
		if math.IsNaN(total) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, nobody's share of class %d is left", o.Alpha,
				c)
		}
		from, sum := 0, 0.0
		for i := range parts {
			sum += share[i]
			to := int(math.RoundToEven(float64(len(own)) * min(sum/total, 1)))
			if i == len(parts)-1 {
				to = len(own)
			}
			parts[i] = append(parts[i], own[from:to]...)
			from = to
		}
	}
	return parts, nil
}

// logShares returns log ν [clients or clusters][classes] of the Dirichlet draws of [dirichlet]: a logarithm, since with
// a small alpha most shares are too small for a float64, and a class that nobody has a visible share of must still go
// to whoever has the most of it.
//
// Client i's draw is stream (0, i, 0) of rng.Split; class c's is stream (0, c, 3).
func (o *SplitOptions) logShares(classes int, key rng.Key) [][]float64 {
	receivers := o.Clients
	if o.Kind == SplitClusters {
		receivers = o.Clusters
	}
	draws, width, step := classes, receivers, rng.SplitStepClasses
	if o.Kind == SplitClients {
		draws, width, step = receivers, classes, rng.SplitStepClients
	}
	shares := make([][]float64, draws)
	for d := range shares {
		if o.NumPy == nil {
			shares[d] = logDirichlet(key.Stream(0, d, step), o.Alpha, width)
			continue
		}
		shares[d] = make([]float64, width)
		o.NumPy.Dirichlet(o.Alpha, shares[d])
		for c, p := range shares[d] {
			shares[d][c] = math.Log(p)
		}
	}
	if o.Kind == SplitClients {
		return shares
	}
	return transposed(shares)
}

// logDirichlet returns the logarithms of a draw from the symmetric Dirichlet distribution of n shares.
func logDirichlet(s *rng.Stream, alpha float64, n int) []float64 {
	p := make([]float64, n)
	for c := range p {
		p[c] = s.LogGamma(alpha)
	}
	top, sum := slices.Max(p), expScaled(slices.Clone(p))
	for c := range p {
		p[c] -= top
		p[c] -= math.Log(sum)
	}
	return p
}

// expScaled replaces logarithms by numbers in their proportion, the largest of which is 1, and returns their sum.
func expScaled(x []float64) float64 {
	top, sum := slices.Max(x), 0.0
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	return sum
}

// transposed returns y with y[j][i] = x[i][j]; x has a row or more.
func transposed(x [][]float64) [][]float64 {
	y := make([][]float64, len(x[0]))
	for _, row := range x {
		for j, v := range row {
			y[j] = append(y[j], v)
		}
	}
	return y
}
